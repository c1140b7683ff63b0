"""The sections of ``./run bench``, and how one is measured, shown, compared with recorded results and recorded."""

import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tabulate import tabulate

from bench import results
from bench.api import api_rows
from bench.commands import command_rows
from bench.damage.rows import damage_rows
from bench.day import day_rows
from bench.discovery import discovery_rows
from bench.explorer import explorer_rows
from bench.fleet import fleet_rows
from bench.history import history_rows
from bench.incidents import incident_rows
from bench.jobs import job_rows
from bench.live import live_rows
from bench.load import load_rows
from bench.measure import Row
from bench.peers.rows import recorded_rows
from bench.routing import routing_rows
from bench.scale import scale_rows
from bench.soak import soak_rows
from bench.start import start_rows
from bench.storm import storm_rows
from bench.upgrade import upgrade_rows
from bench.web import web_rows

SECTIONS: dict[str, Callable[[Path, int], Iterator[Row]]] = {
    "start": start_rows,
    "commands": command_rows,
    "fleet": fleet_rows,
    "routing": routing_rows,
    "damage": damage_rows,
    "api": api_rows,
    "web": web_rows,
    "load": load_rows,
    "storm": storm_rows,
    "soak": soak_rows,
    "upgrade": upgrade_rows,
    "live": live_rows,
    "discovery": discovery_rows,
    "history": history_rows,
    "incidents": incident_rows,
    "jobs": job_rows,
    "day": day_rows,
    "explorer": explorer_rows,
    "scale": scale_rows,
    "peers": recorded_rows,
}


def measure_section(section: str, measure: Callable[[Path, int], Iterator[Row]], domains: int) -> list[Row]:
    """Measure a section; show, compare and record its rows, and return them."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="b", ignore_cleanup_errors=True) as name:
        rows = list(measure(Path(name), domains))
        database = Path(name) / "fleet.db"
        megabytes = database.stat().st_size / 1e6 if database.exists() else 0
    print(f"{section}, {domains:,} domains, {time.monotonic() - start:.0f} s")
    print(tabulate(map(results.cells, rows), headers=results.COLUMNS, disable_numparse=True))
    file = results.file(section, domains)
    for line in results.regressions(rows, results.read(file)):
        print(line)
    if not all(row.recorded for row in rows):
        results.write(file, domains, rows)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"database: {megabytes:,.0f} MB; peak memory of this process with its baselines: {peak:,.0f} MB\n", flush=True
    )
    return rows
