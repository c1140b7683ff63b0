"""Benchmarks, each as a ratio to a baseline in the same run: ``./run bench [--domains N] [--section NAME]…``.

They measure a cluster of u-trn2x64 UltraServers; 6,250 of them are Project Rainier. Results are medians of several
runs: seconds are noisy on a shared machine, ratios less so. They are recorded in bench/results-SECTION-DOMAINS.json.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tabulate import tabulate

from bench import page, results
from bench.api import api_rows
from bench.commands import command_rows
from bench.damage.rows import damage_rows
from bench.explorer import explorer_rows
from bench.fleet import fleet_rows
from bench.history import history_rows
from bench.incidents import incident_rows
from bench.jobs import job_rows
from bench.live import live_rows
from bench.load import load_rows
from bench.measure import RAINIER, Row
from bench.peers.rows import peer_rows, recorded_rows
from bench.routing import routing_rows
from bench.start import start_rows
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
    "live": live_rows,
    "history": history_rows,
    "incidents": incident_rows,
    "jobs": job_rows,
    "explorer": explorer_rows,
    "peers": recorded_rows,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="./run bench", description=__doc__)
    parser.add_argument("--domains", type=int, default=RAINIER, help="UltraServers; 40 or more (default: %(default)s)")
    parser.add_argument(
        "--section",
        action="append",
        choices=SECTIONS,
        help="only this one; may repeat. start: commands and the service; commands: whole commands, and questions "
        "about all of a fleet; fleet: loading, and questions about two places; routing: the others; damage: of random "
        "damage; api: GraphQL and export, and their routes by hand; web: what clients wait for; load: 64 clients while "
        "states change; live: imports of what a fleet reports, and drift; history: a fleet as it was; incidents: of "
        "4,000 parts; jobs: where the next one fits, plans, hold and release; explorer: a fleet in chromium; peers: "
        "others asked the same",
    )
    parser.add_argument(
        "--peers", action="store_true", help="install the peers and ask them; otherwise their rows are as recorded"
    )
    parser.add_argument("--write-docs", action="store_true", help=f"only write {page.PAGE.name} from the recorded")
    given = parser.parse_args()
    if given.write_docs:
        page.write()
        return
    sections = SECTIONS | ({"peers": peer_rows} if given.peers else {})
    rows = [row for name in given.section or sections for row in _measured(name, sections[name], given.domains)]
    print(results.summary(rows))


def _measured(section: str, measure: Callable[[Path, int], Iterator[Row]], domains: int) -> list[Row]:
    """Rows of a section, shown, compared and recorded."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="b", ignore_cleanup_errors=True) as name:
        rows = list(measure(Path(name), domains))
        database = Path(name) / "ours.db"
        megabytes = database.stat().st_size / 1e6 if database.exists() else 0
    print(f"{section}, {domains:,} domains, {time.monotonic() - start:.0f} s")
    print(tabulate(map(results.cells, rows), headers=results.COLUMNS, disable_numparse=True))
    file = results.file(section, domains)
    for line in results.worse(rows, results.read(file)):
        print(line)
    if not all(row.recorded for row in rows):
        results.write(file, domains, rows)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"database: {megabytes:,.0f} MB; this process with its baselines: {peak:,.0f} MB\n", flush=True)
    return rows


if __name__ == "__main__":
    main()
