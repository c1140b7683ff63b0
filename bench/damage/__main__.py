"""Damage fleets at random and compare every answer with an oracle: ``./run damage [--answers N] [--seed S]``.

In clusters of two to eight domains of every system, up to four chips, four links and two NICs are down, and one link
has half its bandwidth. No answer may be outside the bounds that breadth-first search, flows, all splits or an integer
program give, and 99 in 100 bisections must be exact. Then the command line, GraphQL over HTTP, Python and SQL get the
same questions, and their answers must agree.
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
from bench.damage.checks import CheckedAnswer
from bench.damage.run import answers, differences

_EXACT = 0.99
"""Share of the bisections that must be exact."""
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
    parser.add_argument("--answers", type=int, default=5_000, help="number of answers to check (default: %(default)s)")
    parser.add_argument(
        "--interfaces", type=int, default=300, help="questions sent to every interface (default: %(default)s)"
    )
    parser.add_argument(
        "--seed", type=int, default=secrets.randbelow(10**6), help="seed of the damage (default: random)"
    )
    arguments = parser.parse_args()
    print(f"{arguments.answers:,} answers, seed {arguments.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="d") as name:
        url = f"sqlite:///{Path(name) / 'fleet.db'}"
        states.seed(url)
        with trninv.open(url) as fleet:
            is_right = judge(list(answers(fleet, arguments.answers, arguments.seed)))
            different = list(differences(fleet, url, arguments.interfaces, arguments.seed))
    print(f"{arguments.interfaces} questions on all interfaces: {len(different)} differ", *different, sep="\n")
    sys.exit(0 if is_right and not different else 1)


def judge(checked_answers: Sequence[CheckedAnswer]) -> bool:
    """Print a table of the answers, and return whether all are right and enough bisections are exact."""
    groups = defaultdict[tuple[str, str], list[CheckedAnswer]](list)
    for answer in checked_answers:
        groups[answer.question, answer.system].append(answer)
        groups[answer.question, "all"].append(answer)
    print(tabulate([_row(*key, group) for key, group in sorted(groups.items())], headers=_COLUMNS))
    bisections = [answer.exact for answer in checked_answers if answer.question.startswith("bisection")]
    outside = sum(bool(answer.fault) for answer in checked_answers)
    exact = f"{sum(bisections)} of {len(bisections)} bisections exact"
    print(f"{len(checked_answers):,} answers, {outside} outside the bounds; {exact}")
    return not outside and sum(bisections) >= _EXACT * len(bisections)


def _row(question: str, system: str, group: Sequence[CheckedAnswer]) -> tuple[str | int | float, ...]:
    outside, exact, proven = (
        sum(map(bool, values))
        for values in zip(*((answer.fault, answer.exact, answer.proven) for answer in group), strict=True)
    )
    durations = [answer.seconds for answer in group]
    tightness = min(answer.tightness for answer in group)
    return (
        question,
        system,
        len(group),
        outside,
        exact,
        proven,
        f"{tightness:.3f}",
        f"{median(durations):.2f}",
        f"{max(durations):.2f}",
    )


if __name__ == "__main__":
    main()
