"""Kill commands with -9 at random times and check what they leave: ``./run faults [--kills N] [--seed S]``.

Each command runs in its own process on a copy of a small fleet, on SQLite and on PostgreSQL, and is killed after a
random fraction of its usual time. Whatever it reported as done must be kept; everything else must be done completely
or not at all; the rest of the database must match the catalog; and running the command again must complete it. A kill
is not a power failure: data handed to the operating system survives.
"""

import argparse
import importlib
import pkgutil
import random
import secrets
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tabulate import tabulate

import trninv.cli
from bench.faults.killer import ALL, FAULTS, NOTHING, PART, REPORTED, Killer
from bench.faults.operations import OPERATIONS
from bench.faults.places import open_databases

_COLUMNS = (NOTHING, PART, ALL, REPORTED, *FAULTS)


def main() -> None:
    """Print a table; exit with 1 if anything is lost or half done."""
    parser = argparse.ArgumentParser(prog="./run faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=1_000, help="number of kills (default: %(default)s)")
    parser.add_argument(
        "--seed", type=int, default=secrets.randbelow(10**6), help="seed of the random times (default: random)"
    )
    arguments = parser.parse_args()
    print(f"{arguments.kills:,} kills, seed {arguments.seed}", flush=True)
    for module in pkgutil.iter_modules(trninv.cli.__path__, "trninv.cli."):
        importlib.import_module(module.name)  # so that no kill hits an import
    with tempfile.TemporaryDirectory(prefix="f") as name, open_databases() as kinds:
        total = _table(Killer(Path(name), kinds, random.Random(arguments.seed)), arguments.kills)
    sys.exit(1 if total.keys() & set(FAULTS) else 0)


def _table(killer: Killer, kills: int) -> Counter[str]:
    lines, total = [], Counter[str]()
    cases = [(operation, kind) for operation in OPERATIONS for kind in killer.kinds]
    for number, (operation, kind) in enumerate(cases):
        count = kills * (number + 1) // len(cases) - kills * number // len(cases)
        if count:
            results = Counter(killer.kill(operation, kind, count))
            lines.append([operation.name, kind, count, *(results[column] for column in _COLUMNS)])
            total += results
            print(f"{operation.name} on {kind}: {dict(results)}", file=sys.stderr)
    lines.append(["all", "", kills, *(total[column] for column in _COLUMNS)])
    print(tabulate(lines, headers=["command", "database", "kills", *_COLUMNS]))
    return total


if __name__ == "__main__":
    main()
