"""Import measurements: read timings, compare them with the wiring at their time, and store all files or none.

The limit of the wiring is stored with each measurement. It never changes, because the history before it does not.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, insert, select, update

from trninv.database.bulk_load import bulk_insert
from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES
from trninv.errors import InvalidArgumentError, TrninvError
from trninv.history.point_in_time import parse_time
from trninv.importers.bandwidth_table import read_transfers
from trninv.importers.ingestion import ImportFile
from trninv.importers.input_file import InputFile
from trninv.importers.json_value import MAX_NAME, ImportErrors
from trninv.importers.measured_run import RunDescription
from trninv.importers.nccom_test import parse_command, read_report, read_timings
from trninv.inventory.state.observation_lock import lock_observations
from trninv.routing.fleet import BaseFleet
from trninv.routing.measurement_limits import (
    MeasuredChips,
    MeasurementRow,
    collective_rows,
    resolve_run,
    transfer_rows,
)
from trninv.units import current_timestamp, format_timestamp

_MEASUREMENT, _OBSERVATION = TABLES["measurement"], TABLES["observation"]
_CHUNK_SIZE: Final = 1 << 20
RUN_KEYS: Final = ("hosts", "ranks", "cores_per_rank", "operation", "command", "measured_at")
"""What can be said of a run, by options or in a sidecar file."""


@dataclass(frozen=True, slots=True)
class MeasurementFile:
    """A file to import, and what is said of its run: values of RUN_KEYS; empty for a table of transfers."""

    file: ImportFile
    run: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MeasurementResult:
    """The result of importing one file.

    Attributes
    ----------
    is_duplicate
        Whether the same content was imported before, for the same run; then nothing is stored.
    impossible
        Number of measurements above the limit of the wiring.
    notes
        Why measurements have no limit.

    """

    name: str
    address: str
    measurements: int
    impossible: int
    is_duplicate: bool
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ParsedMeasurements:
    """The rows of a file that was read, not yet stored."""

    name: str
    digest: str
    measured_at: str
    servers: int
    rows: Sequence[MeasurementRow] = field(repr=False)
    notes: tuple[str, ...] = ()


Progress = Callable[[str], object]


def read_measurements(
    fleet: BaseFleet, kind: str, files: Iterable[MeasurementFile], progress: Progress = lambda _name: None
) -> list[ParsedMeasurements]:
    """Read files of a kind, nccom-test or bandwidth, and compare their timings with the wiring at their time.

    Raises
    ------
    InvalidFileError
        A file is invalid, contradicts what is said of its run, or names places that the wiring did not have at its
        time; the error lists the errors of all files.

    """
    errors, parsed = ImportErrors(), list[ParsedMeasurements]()
    limits: dict[tuple[str, RunDescription], MeasuredChips] = {}
    for entry in files:
        progress(entry.file.name)
        try:
            measured_at = _read_time(entry.run)
            past = fleet.at(measured_at)
            read = _read_collectives if kind == "nccom-test" else _read_transfers
            parsed.append(read(past, entry, measured_at, errors, limits))
        except TrninvError as error:
            if errors.bytes_left < 0:
                raise
            errors.add(entry.file.name, str(error))
    errors.raise_if_any()
    return parsed


def _read_time(run: Mapping[str, Any]) -> datetime:
    value = run.get("measured_at")
    if value is not None and not isinstance(value, str):
        raise InvalidArgumentError("measured_at is not text; write a time with its zone, such as 2026-11-22T02:00:00Z")
    return parse_time(value) if value else datetime.fromisoformat(current_timestamp())


def _read_collectives(
    fleet: BaseFleet,
    entry: MeasurementFile,
    time: datetime,
    errors: ImportErrors,
    limits: dict[tuple[str, RunDescription], MeasuredChips],
) -> ParsedMeasurements:
    digest, measured_at = _digest(entry.file), format_timestamp(time)
    report = read_report(InputFile(entry.file.content, entry.file.name, errors))
    command = entry.run.get("command") or report.command
    values = dict(parse_command(command)) if isinstance(command, str) else {}
    run = RunDescription.parse(values | {name: value for name, value in entry.run.items() if value})
    if (chips := limits.get((measured_at, run))) is None:
        chips = limits[measured_at, run] = resolve_run(fleet, run)
    identity = [chips.servers, run.ranks, run.cores_per_rank, run.operation, entry.run.get("measured_at")]
    digest.update(json.dumps(identity).encode())
    rows = collective_rows(fleet, chips, run, list(read_timings(report, run)), measured_at)
    notes = (chips.note,) if chips.note else ()
    return ParsedMeasurements(entry.file.name, digest.hexdigest(), measured_at, len(chips.servers), rows, notes)


def _read_transfers(
    fleet: BaseFleet, entry: MeasurementFile, time: datetime, errors: ImportErrors, _limits: object
) -> ParsedMeasurements:
    digest, measured_at = _digest(entry.file), format_timestamp(time)
    timings = list(read_transfers(InputFile(entry.file.content, entry.file.name, errors)))
    if not timings:
        errors.add(entry.file.name, "has no transfers")
    rows = transfer_rows(fleet, timings, measured_at, errors)
    digest.update(json.dumps(entry.run.get("measured_at")).encode())
    servers = {"/".join(address.split("/")[:3]) for row in rows for address in (row.address, row.peer or row.address)}
    return ParsedMeasurements(entry.file.name, digest.hexdigest(), measured_at, len(servers), rows)


def _digest(file: ImportFile) -> "hashlib._Hash":
    """Return the hash of a file's content, and go back to its beginning."""
    digest = hashlib.sha256()
    while chunk := file.content.read(_CHUNK_SIZE):
        digest.update(chunk)
    file.content.seek(0)
    return digest


def store_measurements(
    connection: Connection, kind: str, parsed: Iterable[ParsedMeasurements]
) -> list[MeasurementResult]:
    """Write measurements within the caller's transaction; files that were imported before add nothing."""
    lock_observations(connection)
    return list(_store_files(connection, kind, parsed))


def _store_files(
    connection: Connection, kind: str, parsed: Iterable[ParsedMeasurements]
) -> Iterator[MeasurementResult]:
    now = current_timestamp()
    for file in parsed:
        is_same = (_OBSERVATION.c.source == kind) & (_OBSERVATION.c.sha256 == file.digest)
        existing = connection.execute(select(_OBSERVATION.c.seen_at).where(is_same)).first()
        if existing:
            seen_at = max(existing.seen_at, file.measured_at)
            connection.execute(update(_OBSERVATION).where(is_same).values(seen_at=seen_at))
        else:
            _store_file(connection, kind, file, now)
        yield MeasurementResult(
            file.name,
            file.rows[0].address if file.rows else "",
            len(file.rows),
            sum(row.limit_bandwidth is not None and row.bus_bandwidth > row.limit_bandwidth for row in file.rows),
            is_duplicate=existing is not None,
            notes=file.notes,
        )


def _store_file(connection: Connection, kind: str, file: ParsedMeasurements, now: str) -> None:
    observation = next_id(connection, _OBSERVATION)
    times = dict.fromkeys(("taken_at", "seen_at"), file.measured_at)
    connection.execute(
        insert(_OBSERVATION).values(
            id=observation,
            at=now,
            source=kind,
            name=file.name[-MAX_NAME:],
            sha256=file.digest,
            is_whole=False,
            servers=file.servers,
            chips=max((row.chips for row in file.rows), default=0),
            is_cited=False,
            **times,
        )
    )
    first = next_id(connection, _MEASUREMENT)
    rows = [(key, observation, *row) for key, row in enumerate(file.rows, first)]
    bulk_insert(connection, _MEASUREMENT, rows)
