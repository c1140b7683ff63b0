"""A baseline for GraphQL: routes written by hand that return the benchmarks' answers with SQL, dicts and orjson."""

import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import Callable

FILE = "BENCH_FILE"
"""The environment variable that names the database, for `application`."""


def application() -> Starlette:
    """Create the application for a separate server; uvicorn calls this."""
    return routes(Path(os.environ[FILE]))


def routes(file: Path) -> Starlette:
    """Create an application that answers from an SQLite database."""
    connection = sqlite3.connect(file, check_same_thread=False)
    address = "cluster.slug || '/d' || domain.ordinal || '/s' || server.ordinal"
    chips = f"""SELECT chip.id, {address} || '/c' || chip.ordinal, chip.ordinal, upper(node.state), device_memory_bytes,
            {address}, upper(server.state), cluster.slug || '/r' || rack.ordinal
        FROM chip JOIN node ON node.id = chip.id JOIN server ON server.id = chip.server_id
        JOIN domain ON domain.id = server.domain_id JOIN cluster ON cluster.id = domain.cluster_id
        JOIN rack ON rack.id = server.rack_id JOIN chip_model ON chip_model.id = chip.chip_model_id
        ORDER BY chip.id LIMIT ?"""  # noqa: S608 # constants
    server_part = f"SELECT {address} || '%s' || part.ordinal FROM %s AS part JOIN server ON server.id = part.server_id"  # noqa: S608
    joined = "JOIN domain ON domain.id = server.domain_id JOIN cluster ON cluster.id = domain.cluster_id WHERE part.id"
    ends = {
        end: f"coalesce(({server_part % ('/c', 'chip')} {joined} = link.{end}_id), "
        f"({server_part % ('/efa', 'nic')} {joined} = link.{end}_id))"
        for end in "ab"
    }
    links = "SELECT link.a_id, link.b_id, %s, technology, upper(scope), bandwidth_bytes_per_s FROM link "
    links += "WHERE a_id IN (%s) OR b_id IN (%s) ORDER BY link.id"

    def chip_links(ids: list[int], *, with_address: bool) -> dict[int, list[dict[str, Any]]]:
        name = f"{ends['a']} || '--' || {ends['b']}" if with_address else "NULL"
        marks = ",".join("?" * len(ids))
        links_by_chip: dict[int, list[dict[str, Any]]] = {key: [] for key in ids}
        for a, b, address, technology, scope, rate in connection.execute(links % (name, marks, marks), [*ids, *ids]):
            link: dict[str, Any] = {"address": address} if with_address else {}
            link |= {"technology": technology} if with_address else {"technology": technology, "scope": scope}
            link["nominal"] = {"gigabytesPerSecond": rate / 10**9}
            for end in (a, b):
                if end in links_by_chip:
                    links_by_chip[end].append(link)
        return links_by_chip

    def nested(request: Request) -> Response:
        rows = connection.execute(chips, [100]).fetchall()
        lists = chip_links([row[0] for row in rows], with_address=request.url.path == "/named")
        nodes = [
            {
                "address": name,
                "ordinal": ordinal,
                "state": state,
                "memory": {"gibibytes": memory / 2**30},
                "server": {"address": server, "state": server_state, "rack": {"address": rack}},
                "links": {"nodes": lists[key]},
            }
            for key, name, ordinal, state, memory, server, server_state, rack in rows
        ]
        return Response(orjson.dumps({"chips": {"nodes": nodes}}), media_type="application/json")

    def flat(_request: Request) -> Response:
        nodes = [
            {
                "id": f"chip:{key}",
                "address": name,
                "ordinal": o,
                "state": state,
                "memory": {"gibibytes": memory / 2**30},
            }
            for key, name, o, state, memory, *_ in connection.execute(chips, [1000])
        ]
        return Response(orjson.dumps({"chips": {"nodes": nodes}}), media_type="application/json")

    def bare(_request: Request) -> Response:
        return Response(orjson.dumps({"status": "ok"}), media_type="application/json")

    routes: dict[str, Callable[[Request], Response]] = {
        "/nested": nested,
        "/named": nested,
        "/flat": flat,
        "/bare": bare,
    }
    return Starlette(routes=[Route(path, route, methods=["POST"]) for path, route in routes.items()])
