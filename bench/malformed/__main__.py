"""Send malformed inputs and check how they are rejected: ``./run malformed [--inputs N] [--seed S]``.

GraphQL, SQL and HTTP requests go as bytes to a service on SQLite and to one on PostgreSQL; arguments go to the command
line in this process. No input may cause a status of 5xx, an internal error, a traceback in a log or on a terminal, or
a hang. A request that exceeds the time limit gets TIME_LIMIT, which is not a fault.
"""

import argparse
import os
import random
import secrets
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import make_url
from tabulate import tabulate

import postgres
from bench.malformed import inputs
from bench.malformed.answers import (
    ANSWERED,
    CLOSED,
    FAULTS,
    HANGS,
    LIMITED,
    REFUSED,
    SECONDS,
    TRACEBACK,
    classify_command,
    classify_request,
)
from conftest import seed_everything
from serving import serving

_HEALTH = b"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
_PATIENCE = 0.3
"""Seconds to wait for a response to an incomplete request before closing the sending side."""
_COLUMNS = (ANSWERED, REFUSED, LIMITED, CLOSED, *FAULTS)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of input for one database: its share of all inputs, and how to make and send one."""

    name: str
    database: str
    share: float
    make: Callable[[random.Random], Any]
    answer: Callable[[Any], str]


def main() -> None:
    """Print a table; exit with 1 if anything broke."""
    parser = argparse.ArgumentParser(prog="./run malformed", description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000, help="number of inputs (default: %(default)s)")
    parser.add_argument(
        "--seed", type=int, default=secrets.randbelow(10**6), help="seed of the inputs (default: random)"
    )
    arguments = parser.parse_args()
    print(f"{arguments.inputs:,} inputs, seed {arguments.seed}", flush=True)
    os.environ["TRNINV_REQUEST_SECONDS"] = str(SECONDS)
    with tempfile.TemporaryDirectory(prefix="m") as name:
        os.chdir(name)  # commands may write files into the current directory
        with _databases(Path(name)) as urls:
            total = _table(urls, Path(name), arguments.inputs, arguments.seed)
    sys.exit(1 if total.keys() & set(FAULTS) else 0)


@contextmanager
def _databases(directory: Path) -> Iterator[dict[str, str]]:
    with ExitStack() as stack:
        postgres_directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="p", ignore_cleanup_errors=True))
        server = stack.enter_context(postgres.server(Path(postgres_directory))).format("postgres")
        login = make_url(server).set(username="malformed", password=secrets.token_hex(8))
        os.environ["TRNINV_SQL_URL"] = login.render_as_string(hide_password=False)
        urls = {"sqlite": f"sqlite:///{directory}/fleet.db", "postgresql": server}
        for url in urls.values():
            seed_everything(url)
            classify_command(url, ["migrate"])  # creates the login
        yield urls


def _table(urls: dict[str, str], directory: Path, number: int, seed: int) -> Counter[str]:
    lines, total = [], Counter[str]()
    for backend, url in urls.items():
        log = directory / f"{backend}.log"
        with log.open("wb") as file, serving(url, file) as service:
            for kind in _kinds(backend, url, service):
                results = _count_results(
                    kind, round(number * kind.share), random.Random(f"{seed} {kind.name} {backend}")
                )
                lines.append([kind.name, backend, results.total(), *(results[column] for column in _COLUMNS)])
                total += results
            if classify_request(service, _HEALTH) != ANSWERED:
                total[HANGS] += 1
        traces = [line for line in log.read_text(errors="replace").split("\n{") if "Traceback" in line]
        total[TRACEBACK] += len(traces)
        print(*traces, sep="\n", end="", file=sys.stderr)
    lines.append(["all", "and in logs", number, *(total[column] for column in _COLUMNS)])
    print(tabulate(lines, headers=["inputs", "database", "number", *_COLUMNS]))
    return +total


def _kinds(backend: str, url: str, service: str) -> Iterator[Kind]:
    ask = partial(classify_request, service)
    yield Kind("GraphQL", backend, 0.15, inputs.make_graphql, ask)
    yield Kind("SQL", backend, 0.1, inputs.make_sql, ask)
    yield Kind("HTTP", backend, 0.15, inputs.make_http, partial(classify_request, service, patience=_PATIENCE))
    yield Kind("command line", backend, 0.1, inputs.make_command, partial(classify_command, url))


def _count_results(kind: Kind, number: int, rng: random.Random) -> Counter[str]:
    results = Counter[str]()
    for _ in range(number):
        example = kind.make(rng)
        result = kind.answer(example)
        results[result] += 1
        if result in FAULTS:
            print(f"{result}: {kind.name} on {kind.database}: {example!r}", file=sys.stderr)
    return results


if __name__ == "__main__":
    main()
