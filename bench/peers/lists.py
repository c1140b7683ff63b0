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
from bench.server import Request, Server, run_server

_HERE = Path(__file__).parent
_ROUNDS, _BATCH = 7, 20
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


def list_rows(server: Server, url: str) -> Iterator[Row]:
    with ExitStack() as stack:
        note, peers = "", {}
        try:
            peers = _start_peers(stack, url)
        except environments.NotInstalledError as error:
            note = f"not installed: {error}"
        for name, documents in _DOCUMENTS.items():
            servers = {"trninv": server, **peers}
            _check_same_answers(name, servers)
            medians = _medians(
                [(target, Request("/graphql", {"query": documents[system]})) for system, target in servers.items()]
            )
            seconds = dict(zip(servers, medians, strict=True))
            for system in _SERVERS:
                yield Row(f"{name}, PostgreSQL", seconds["trninv"], seconds.get(system), system, _MARK, note=note)


def _start_peers(stack: ExitStack, url: str) -> dict[str, Server]:
    place = environments.install_node()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((_HERE / "schema.sql").read_bytes())
    return {name: stack.enter_context(_start_peer(place, name, url)) for name in _SERVERS}


def _start_peer(place: Path, name: str, url: str) -> AbstractContextManager[Server]:
    script = shutil.copy(_HERE / _SERVERS[name], place)
    command = ["/usr/bin/env", "PORT={port}", str(environments.node_program(place)), str(script)]
    return run_server(command, **environments.node_variables(place), DATABASE_URL=url)


def _check_same_answers(name: str, servers: dict[str, Server]) -> None:
    values = {}
    for system, server in servers.items():
        (body,) = server.responses([Request("/graphql", {"query": _DOCUMENTS[name][system]})])
        values[system] = comparable_values(json.loads(body)["data"])
    assert all(body == values["trninv"] for body in values.values()), name


def comparable_values(data: dict[str, Any]) -> list[list[str]]:
    """Return the sorted values of each object, without field names and ids."""
    (nodes,) = data.values()
    return [sorted(_values(node)) for node in (nodes["nodes"] if isinstance(nodes, dict) else nodes)]


def _values(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, child in value.items():
            if name not in {"id", "rowId"}:
                yield from _values(child)
    elif isinstance(value, list):
        for child in value:
            yield from _values(child)
    else:
        yield str(float(value)) if isinstance(value, int | float) else str(value)


def _medians(targets: Sequence[tuple[Server, Request]]) -> list[float]:
    """Measure the median seconds per request of each server, in turn."""
    samples: list[list[float]] = [[] for _ in targets]
    for round_ in range(_ROUNDS + 1):
        for (server, request), durations in zip(targets, samples, strict=True):
            batch = server.response_seconds([request] * _BATCH)
            durations.extend(batch if round_ else [])  # the first round warms up
    return [statistics.median(durations) for durations in samples]
