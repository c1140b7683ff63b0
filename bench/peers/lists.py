"""Compare pages of chips with GraphQL servers on the same PostgreSQL database."""

import json
import shutil
import statistics
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import psycopg

from bench.api import FLAT, NESTED
from bench.measure import Row
from bench.peers import environments
from bench.server import Request, Served, served

_HERE = Path(__file__).parent
_ROUNDS, _EACH = 7, 20
_MARK = 0.5
_SERVERS = {"PostGraphile": "postgraphile.mjs", "Mercurius with graphql-jit": "mercurius.mjs"}
_DOCUMENTS = {
    "100 chips nested": {
        "trninv": NESTED,
        "PostGraphile": "{ allChips(first: 100) { nodes { address ordinal state gibibytes serverByServerId { address "
        "state rackByRackId { address } } chipLinksByChipId { nodes { technology scope gigabytesPerSecond } } } } }",
        "Mercurius with graphql-jit": "{ chips(first: 100) { address ordinal state memory { gibibytes } server { "
        "address state rack { address } } links { technology scope nominal { gigabytesPerSecond } } } }",
    },
    "1,000 flat rows": {
        "trninv": FLAT,
        "PostGraphile": "{ allChips(first: 1000) { nodes { rowId address ordinal state gibibytes } } }",
        "Mercurius with graphql-jit": "{ chips(first: 1000) { id address ordinal state memory { gibibytes } } }",
    },
}


def list_rows(server: Served, url: str) -> Iterator[Row]:
    with ExitStack() as stack:
        note, peers = "", {}
        try:
            peers = _peers(stack, url)
        except environments.NotInstalledError as error:
            note = f"not installed: {error}"
        for name, documents in _DOCUMENTS.items():
            asked = {"trninv": server, **peers}
            _same_answers(name, asked)
            took = _medians([(one, Request("/graphql", {"query": documents[who]})) for who, one in asked.items()])
            taken = dict(zip(asked, took, strict=True))
            for who in _SERVERS:
                yield Row(f"{name}, PostgreSQL", taken["trninv"], taken.get(who), who, _MARK, note=note)


def _peers(stack: ExitStack, url: str) -> dict[str, Served]:
    place = environments.node()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((_HERE / "schema.sql").read_bytes())
    return {name: stack.enter_context(_started(place, name, url)) for name in _SERVERS}


def _started(place: Path, name: str, url: str) -> AbstractContextManager[Served]:
    script = shutil.copy(_HERE / _SERVERS[name], place)
    command = ["/usr/bin/env", "PORT={port}", str(environments.program(place)), str(script)]
    return served(command, **environments.node_environment(place), DATABASE_URL=url)


def _same_answers(name: str, asked: dict[str, Served]) -> None:
    found = {}
    for who, server in asked.items():
        (answer,) = server.answers([Request("/graphql", {"query": _DOCUMENTS[name][who]})])
        found[who] = same(json.loads(answer)["data"])
    assert all(answer == found["trninv"] for answer in found.values()), name


def same(data: dict[str, Any]) -> list[list[str]]:
    """Return the sorted values of each object, without field names and ids."""
    (listed,) = data.values()
    return [sorted(_values(one)) for one in (listed["nodes"] if isinstance(listed, dict) else listed)]


def _values(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, below in value.items():
            if name not in {"id", "rowId"}:
                yield from _values(below)
    elif isinstance(value, list):
        for below in value:
            yield from _values(below)
    else:
        yield str(float(value)) if isinstance(value, int | float) else str(value)


def _medians(asked: Sequence[tuple[Served, Request]]) -> list[float]:
    """Measure the median seconds per request of each server, in turn."""
    taken: list[list[float]] = [[] for _ in asked]
    for round_ in range(_ROUNDS + 1):
        for (server, request), times in zip(asked, taken, strict=True):
            some = server.each([request] * _EACH)
            times.extend(some if round_ else [])  # the first round warms up
    return [statistics.median(times) for times in taken]
