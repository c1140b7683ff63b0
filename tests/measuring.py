"""Output of nccom-test and tables of transfers as tests measure them; sweeps are those of a public trn2.48xlarge."""

import io
import json
from collections.abc import Iterable, Sequence
from typing import Any

import trninv
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.importers.ingestion import ImportFile
from trninv.inventory.seeding import cluster_seeding
from trninv.routing.measurement_import import (
    MeasurementFile,
    MeasurementResult,
    read_measurements,
    store_measurements,
)

ALGORITHM_GB = {
    ("all-reduce", "fp32"): (20.23, 53.04, 137.08, 158.73),
    ("all-reduce", "bf16"): (18.9, 52.4, 139.2, 166.73),
    ("all-gather", "fp32"): (30.1, 101.7, 299.1, 347.4),
    ("all-gather", "bf16"): (29.7, 103.4, 310.2, 387.45),
    ("reduce-scatter", "fp32"): (27.2, 95.0, 240.1, 275.11),
    ("reduce-scatter", "bf16"): (26.8, 94.3, 241.9, 280.14),
}
"""GB/s at four sizes: the last is the best of the public sweep (nccom-test -r 64, LNC 2, 2026-03-17), the others are
made up in its shape."""
OBSERVATION_ROW = {
    "id": 1,
    "at": "2026-01-01T00:00:00Z",
    "source": "nccom-test",
    "name": "run.json",
    "sha256": "1",
    "taken_at": "2026-01-01T00:00:00Z",
    "seen_at": "2026-01-01T00:00:00Z",
    "is_whole": False,
    "servers": 1,
    "chips": 16,
}
MEASUREMENT_ROW = {
    "observation_id": 1,
    "operation": "all-gather",
    "machine": "i-0a",
    "measured_at": "2026-01-01T00:00:00Z",
    "event": 0,
    "chips": 16,
    "ranks": 64,
    "logical_cores": 2,
    "data_type": "bf16",
    "bytes": 2**30,
    "nanoseconds": 2_771_290,
    "algorithm_bandwidth": 387_451_989_506,
    "bus_bandwidth": 363_236_240_162,
    "limit_bandwidth": 512 * 10**9,
}
"""A measurement that was stored, without its id and address."""
SIZES = (2**20, 2**23, 2**27, 2**30)


def factor(operation: str, members: int) -> float:
    return (2 if operation == "all-reduce" else 1) * (members - 1) / members


def rows(operation: str, data_type: str, ranks: int, speeds: Iterable[tuple[int, float]]) -> list[dict[str, Any]]:
    """Rows of --report-to-json-file: sizes in bytes, algorithm bandwidths in GB/s."""
    return [
        {
            "size(B)": size,
            "count(elems)": size // 2,
            "type": data_type,
            "algbw(GB/s)": speed,
            "busbw(GB/s)": speed * factor(operation, ranks),
            "time:avg(us)": size / speed / 1000,
        }
        for size, speed in speeds
    ]


def report(operation: str, data_type: str, ranks: int, speeds: Iterable[tuple[int, float]]) -> bytes:
    return json.dumps({"results": rows(operation, data_type, ranks, speeds)}).encode()


def as_text(operation: str, data_type: str, ranks: int, speeds: Iterable[tuple[int, float]], unit: float = 1e9) -> str:
    """What nccom-test prints; older versions print times in whole µs and 2³⁰ bytes per second."""
    lines = ["       size(B)    count(elems)     type    time:avg(us)    algbw(GB/s)    busbw(GB/s)"]
    for row in rows(operation, data_type, ranks, speeds):
        speed = row["algbw(GB/s)"] * 1e9 / unit
        bus = speed * factor(operation, ranks)
        lines.append(
            f"{row['size(B)']:>14}{row['count(elems)']:>16}{data_type:>9}{row['time:avg(us)']:>16.2f}{speed:>15.2f}{bus:>15.2f}"
        )
    return "\n".join([*lines, "Avg bus bandwidth:\t181.11GB/s", ""])


def run(host: str, operation: str, ranks: int = 64, cores: int = 2, at: str = "") -> dict[str, Any]:
    described = {"hosts": (host,), "ranks": ranks, "cores_per_rank": cores, "operation": operation}
    return described | ({"measured_at": at} if at else {})


def measure(url: str, *files: tuple[bytes, dict[str, Any]], kind: str = "nccom-test") -> list[MeasurementResult]:
    """Import files with what is said of their runs."""
    entries = [
        MeasurementFile(ImportFile(f"{number}.json", io.BytesIO(content)), described)
        for number, (content, described) in enumerate(files)
    ]
    with trninv.open(url) as fleet:
        parsed = read_measurements(fleet, kind, entries)
        with write_transaction(fleet.engine) as connection:
            return store_measurements(connection, kind, parsed)


def seed(url: str, systems: Sequence[str] = ("trn2-16.48xlarge", "trn1.32xlarge", "u-trn2x64")) -> None:
    with temporary_engine(url) as engine:
        for system in systems:
            with write_transaction(engine) as connection:
                cluster_seeding.seed(connection, default_catalog(), default_systems().get(system))
