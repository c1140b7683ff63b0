"""Damage fleets at random and compare every answer with an oracle: ``./run damage [--answers N] [--seed S]``.

In clusters of two to eight domains of every system, up to four chips, four links and two NICs are down, and one link
has half its bandwidth. No answer may be outside the bounds that breadth-first search, flows, all splits or an integer
program give, and 99 in 100 bisections must be exact. Then the command line, GraphQL over HTTP, Python and SQL get the
same questions.
"""

import argparse
import secrets
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from tabulate import tabulate

import trninv
from bench.damage import states
from bench.damage.checks import Checked
from bench.damage.run import answers, differences

_EXACT = 0.99
_COLUMNS = (
    "question",
    "system",
    "answers",
    "outside",
    "exact",
    "oracle exact",
    "least tightness",
    "CPU s, median",
    "CPU s, most",
)


def main() -> None:
    """Print a table; exit with 1 if an answer is wrong, too few bisections are exact, or interfaces differ."""
    parser = argparse.ArgumentParser(prog="./run damage", description=__doc__)
    parser.add_argument("--answers", type=int, default=5_000, help="(default: %(default)s)")
    parser.add_argument("--interfaces", type=int, default=300, help="questions sent to every interface (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="seed of the damage (default: random)")
    given = parser.parse_args()
    print(f"{given.answers:,} answers, seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="d") as name:
        url = f"sqlite:///{Path(name) / 'fleet.db'}"
        states.seed(url)
        with trninv.open(url) as fleet:
            held = judged(list(answers(fleet, given.answers, given.seed)))
            unlike = list(differences(fleet, url, given.interfaces, given.seed))
    print(f"{given.interfaces} questions on all interfaces: {len(unlike)} differ", *unlike, sep="\n")
    sys.exit(0 if held and not unlike else 1)


def judged(found: Sequence[Checked]) -> bool:
    """Print a table of the answers, and return whether all are right and enough bisections are exact."""
    groups = defaultdict[tuple[str, str], list[Checked]](list)
    for each in found:
        groups[each.question, each.system].append(each)
        groups[each.question, "all"].append(each)
    print(tabulate([_row(*key, of) for key, of in sorted(groups.items())], headers=_COLUMNS))
    halves = [each.exact for each in found if each.question.startswith("bisection")]
    outside = sum(bool(each.fault) for each in found)
    print(f"{len(found):,} answers, {outside} outside of their bounds; of {len(halves)} bisections {sum(halves)} exact")
    return not outside and sum(halves) >= _EXACT * len(halves)


def _row(question: str, system: str, of: Sequence[Checked]) -> tuple[str | int | float, ...]:
    outside, exact, proven = (
        sum(map(bool, values)) for values in zip(*((each.fault, each.exact, each.proven) for each in of), strict=True)
    )
    took = [each.took for each in of]
    tightness = min(each.tightness for each in of)
    return (
        question,
        system,
        len(of),
        outside,
        exact,
        proven,
        f"{tightness:.3f}",
        f"{median(took):.2f}",
        f"{max(took):.2f}",
    )


if __name__ == "__main__":
    main()
