"""Benchmarks, each as a ratio to a baseline in the same run: ``./run bench [--domains N] [--section NAME]…``.

They measure a cluster of u-trn2x64 UltraServers; 6,250 of them are Project Rainier. Results are medians of several
runs: seconds are noisy on a shared machine, ratios less so. They are recorded in bench/results-SECTION-DOMAINS.json.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from bench import page, results
from bench.measure import RAINIER
from bench.peers.rows import peer_rows
from bench.sections import SECTIONS, measured


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
        "4,000 parts; jobs: where the next one fits, plans, hold and release; day: "
        "where policies put a day of jobs; explorer: a fleet in chromium; peers: "
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
    # a process each: what one section keeps in memory is not counted in the next
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as each:
        done = (each.submit(measured, name, sections[name], given.domains) for name in given.section or sections)
        print(results.summary([row for section in done for row in section.result()]))


if __name__ == "__main__":
    main()
