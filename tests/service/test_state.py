"""One document reads one state of the database and says which, whatever is written meanwhile."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

import trninv
from trninv.graphql.api import Api, Request
from trninv.inventory.database import connect, writing
from trninv.inventory.state import Condition, set_state
from trninv.routing.fleet import Fleet
from trninv.routing.wiring import Wirings
from trninv.service.app import app
from trninv.settings import Settings

A, B = "u-trn2x64/d0/s0", "u-trn2x64/d0/s1"
CHIP = f"{A}/c3"
FLOWS = 6


def _toggle(engine: Engine, state: str) -> None:
    with writing(engine) as connection:
        set_state(connection, [CHIP], Condition(state), why="test", who="test")


@contextmanager
def toggling(url: str) -> Iterator[None]:
    """A chip goes down and comes up all the while."""
    done = Event()

    def run() -> None:
        with connect(url) as engine:
            while not done.is_set():
                for state in ("down", "up"):
                    _toggle(engine, state)

    thread = Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _answer(api: Api, document: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(asyncio.run(api.run(Request(document))).body)
    assert "errors" not in found, found
    return found


def test_a_flow_asked_for_many_times_in_one_document_is_always_the_same(seeded: str) -> None:
    """In both directions, beside what the compiled fields say of the chip; more than one state is seen."""
    ways = [(A, B), (B, A)] * (FLOWS // 2)
    fields = [f'f{n}: bandwidth(from: "{a}", to: "{b}") {{ maximumFlow {{ bytesPerSecond }} }}' for n, (a, b) in enumerate(ways)]
    fields.insert(2, f'chips(filter: {{address: {{eq: "{CHIP}"}}, state: {{eq: DOWN}}}}) {{ totalCount }}')
    seen = set()
    with trninv.open(seeded) as fleet, toggling(seeded):
        api = Api(fleet, Settings(database_url=seeded))
        for _ in range(15):
            data = _answer(api, "{" + " ".join(fields) + "}")["data"]
            flows = {data[f"f{n}"]["maximumFlow"]["bytesPerSecond"] for n in range(FLOWS)}
            assert len(flows) == 1
            seen.add((flows.pop(), data["chips"]["totalCount"]))
    assert len({flow for flow, _ in seen}) == len({down for _, down in seen}) == len(seen)
