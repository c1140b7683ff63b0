"""Benchmarks, each as a ratio to a baseline in the same run: ``./run bench [--domains N] [--only SECTION]``.

They measure a cluster of u-trn2x64 UltraServers; 6,250 of them are Project Rainier. Results are medians of several
runs: seconds are noisy on a shared machine, ratios less so.
"""

import argparse
import json
import resource
import tempfile
from dataclasses import asdict
from pathlib import Path

from tabulate import tabulate

from bench.api import api_rows
from bench.explorer import explorer_rows
from bench.fleet import fleet_rows
from bench.load import load_rows
from bench.routing import routing_rows
from bench.start import start_rows
from bench.web import web_rows

SECTIONS = {
    "start": start_rows,
    "fleet": fleet_rows,
    "routing": routing_rows,
    "api": api_rows,
    "web": web_rows,
    "load": load_rows,
    "explorer": explorer_rows,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domains", type=int, default=6_250, help="UltraServers; 40 or more (default: %(default)s)")
    parser.add_argument(
        "--only",
        choices=SECTIONS,
        help="start: commands and the service; fleet: loading, and questions about two places; routing: the others; "
        "api: GraphQL and export, and their routes by hand; web: what clients wait for; load: 64 clients while states "
        "change; explorer: a fleet in chromium",
    )
    given = parser.parse_args()
    for section in [given.only] if given.only else SECTIONS:
        with tempfile.TemporaryDirectory(prefix="b") as name:
            rows = list(SECTIONS[section](Path(name), given.domains))
            megabytes = (Path(name) / "ours.db").stat().st_size / 1e6
        shown = [
            [r.name, *(f"{x:.4g} {r.unit}" for x in (r.ours, r.baseline)), r.against, f"{r.ratio:.2g}", f"≤ {r.mark}"]
            for r in rows
        ]
        print(
            tabulate(shown, headers=["what", "trninv", "baseline", "which is", "ratio", "mark"]).replace("≤ None", "")
        )
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"database: {megabytes:,.0f} MB; this process with its baselines: {peak:,.0f} MB\n")
        Path(__file__).with_name(f"results-{section}-{given.domains}.json").write_text(
            json.dumps({"domains": given.domains, "rows": [asdict(r) | {"ratio": r.ratio} for r in rows]}, indent=2)
            + "\n"
        )


if __name__ == "__main__":
    main()
