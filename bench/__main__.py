"""Run benchmarks and compare each result with a baseline: ``./run bench [--domains N] [--section NAME]…``.

They measure a cluster of u-trn2x64 UltraServers, as many as Project Rainier has (6,250) by default. Results are medians
of several runs. Seconds are noisy on a shared machine, ratios to the baseline are less so; a mark is the highest ratio
that is accepted. Results are recorded in bench/results-SECTION-DOMAINS.json.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from bench import page, results
from bench.measure import RAINIER
from bench.peers.rows import peer_rows
from bench.sections import SECTIONS, measure_section


def main() -> None:
    parser = argparse.ArgumentParser(prog="./run bench", description=__doc__)
    parser.add_argument(
        "--domains", type=int, default=RAINIER, help="number of UltraServers, at least 50 (default: %(default)s)"
    )
    parser.add_argument(
        "--section",
        action="append",
        choices=SECTIONS,
        help="run only this section; repeatable. start: start-up of commands and the service; commands: whole "
        "commands, and questions about a whole fleet; fleet: loading, and questions about two places; routing: other "
        "routing questions; damage: answers after random damage; api: GraphQL and export, compared with hand-written "
        "routes; web: response times over HTTP; load: 64 clients while states change; storm: all machines report at "
        "once; soak: clients that come and go for half an hour; upgrade: two services behind nginx; live: imports and "
        "drift; discovery: pulls of trninv discover; history: a fleet at an earlier time; incidents: incidents of "
        "4,000 parts; jobs: placements, plans, "
        "allocate and release; day: placement policies over a day of jobs; explorer: a fleet in chromium; scale: ten "
        "clusters compared with one of them (--domains 62500: 4,000,000 chips); peers: other "
        "systems that get the same questions",
    )
    parser.add_argument(
        "--peers",
        action="store_true",
        help="install the other systems and measure them; without this, their recorded results are shown",
    )
    parser.add_argument(
        "--write-docs", action="store_true", help=f"only rewrite the tables of {page.PAGE.name} from recorded results"
    )
    arguments = parser.parse_args()
    if arguments.write_docs:
        page.write()
        return
    sections = SECTIONS | ({"peers": peer_rows} if arguments.peers else {})
    # one process per section, so that memory kept by one section is not counted in the next
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as pool:
        futures = (
            pool.submit(measure_section, name, sections[name], arguments.domains)
            for name in arguments.section or sections
        )
        print(results.summary([row for section in futures for row in section.result()]))


if __name__ == "__main__":
    main()
