"""Compare `rows_in` with an oracle that filters the addresses of all rows by prefix in Python."""

import random
from collections.abc import Iterator
from typing import Any

import pytest
from irregular import irregular, make
from measuring import MEASUREMENT_ROW, OBSERVATION_ROW
from sqlalchemy import Connection, insert, select, text

from conftest import BACKENDS, Databases, is_quick
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import NODE_KINDS, TABLES
from trninv.errors import WrongLevelError
from trninv.inventory.address.expressions import node_addresses
from trninv.inventory.address.lookup import Place, resolve
from trninv.inventory.address.rows_in import CONTAINERS, row_ids_in, rows_at, rows_in
from trninv.inventory.schema.thing import select_thing
from trninv.inventory.schema.things import THINGS
from trninv.inventory.state.bindings import ProposedBinding, bind
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.cordon import cordon
from trninv.placement.changes.reserve import reserve

MODELS = ("trn1.2xlarge", "trn1.32xlarge", "trn3-gen1")
PLACES = 4 if is_quick() else 12
"""How many places of a level are compared with the oracle."""
LEVELS = ("cluster", "rack", "domain", "server", "core", *NODE_KINDS, "link")


def _make(url: str) -> None:
    """Two clusters whose names LIKE takes for the same, whose slots have bindings, cordons, jobs and findings."""
    plans = {slug: irregular(dict.fromkeys(MODELS, 1), seed) for seed, slug in enumerate(("a.b", "a_b"))}
    make(url, plans)
    chance = random.Random(1)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        addresses = _addresses(connection)
        servers = addresses["server"]
        bind(
            connection,
            [ProposedBinding(key, name, f"i-{key:08x}", None, "pin", "certain") for key, name in servers.items()],
            who="t",
        )
        for number, name in enumerate(chance.sample(sorted(servers.values()), 6)):
            allocate(connection, f"job{number}", [name], until="1h", who="t")
            reserve(connection, f"r{number}", [name], from_="2126-01-01T00:00:00Z", until="1h", who="t")
        cordon(connection, chance.sample(sorted(servers.values()), len(servers) // 2), who="t", why="a test")
        named = [name for kind in ("server", "domain", *NODE_KINDS, "link") for name in addresses[kind].values()]
        connection.execute(
            insert(TABLES["finding"]),
            [
                {
                    "id": key,
                    "rule": "chip-missing",
                    "severity": "high",
                    "address": name,
                    "expected": "",
                    "observed": "",
                    "evidence": "",
                    "first_seen": "2026-01-01T00:00:00Z",
                    "last_seen": "2026-01-01T00:00:00Z",
                }
                for key, name in enumerate(chance.sample(sorted(set(named)), 60), 1)
            ],
        )
        connection.execute(insert(TABLES["observation"]), OBSERVATION_ROW)
        connection.execute(
            insert(TABLES["measurement"]),
            [
                MEASUREMENT_ROW | {"id": key, "address": name}
                for key, name in enumerate(chance.sample(sorted(set(named)), 60), 1)
            ],
        )


@pytest.fixture(scope="module", params=BACKENDS)
def connection(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Connection]:
    url = databases.copied(request.param, _make)
    with temporary_engine(url) as engine, read_transaction(engine) as opened:
        yield opened


def _addresses(connection: Connection) -> dict[str, dict[int, str]]:
    """The address of each thing, by kind and id."""
    kinds = ("cluster", "rack", "domain", "server", "core", *NODE_KINDS)
    found = {
        kind: {row["id"]: row["address"] for row in connection.execute(select_thing(THINGS[kind])).mappings()}
        for kind in kinds
        if kind != "cluster"
    }
    found["cluster"] = dict(connection.execute(select(TABLES["cluster"].c.id, TABLES["cluster"].c.slug)).all())
    found["node"] = {row.id: row.address for row in connection.execute(node_addresses())}
    link = TABLES["link"]
    found["link"] = {
        key: f"{found['node'][a]}--{found['node'][b]}"
        for key, a, b in connection.execute(select(link.c.id, link.c.a_id, link.c.b_id))
    }
    return found


class _Oracle:
    """Filters addresses by prefix; a rack has the addresses of its servers and switches."""

    def __init__(self, connection: Connection) -> None:
        self.addresses = _addresses(connection)
        tables = {
            name: TABLES[name]
            for name in (
                "server",
                "switch",
                "binding",
                "cordon",
                "allocation",
                "reserved_chip",
                "finding",
                "measurement",
            )
        }
        rows = {name: connection.execute(select(table)).mappings().all() for name, table in tables.items()}
        self.in_rack = [
            (row["rack_id"], self.addresses[kind][row["id"]]) for kind in ("server", "switch") for row in rows[kind]
        ]
        self.switches = [(row["server_id"], self.addresses["switch"][row["id"]]) for row in rows["switch"]]
        self.named = self.addresses | {
            "binding": {row["id"]: row["address"] for row in rows["binding"]},
            "cordon": {row["id"]: self.addresses["server"][row["server_id"]] for row in rows["cordon"]},
            "allocation": {row["id"]: self.addresses["node"][row["chip_id"]] for row in rows["allocation"]},
            "reserved_chip": {row["id"]: self.addresses["node"][row["chip_id"]] for row in rows["reserved_chip"]},
            "finding": {row["id"]: row["address"] for row in rows["finding"]},
            "measurement": {row["id"]: row["address"] for row in rows["measurement"]},
        }
        self.reservations = {row["id"]: row["reservation_id"] for row in rows["reserved_chip"]}
        self.jobs = {row["id"]: row["job_id"] for row in rows["allocation"]}

    def ids(self, place: Place, kind: str) -> set[int]:
        if kind == "job":  # all jobs run, and none was moved
            return {self.jobs[key] for key in self.ids(place, "allocation")}
        if kind == "reservation":
            return {self.reservations[key] for key in self.ids(place, "reserved_chip")}
        roots = {place.address.rsplit("/nc", 1)[0]}
        if place.level == "rack":
            roots |= {address for rack, address in self.in_rack if rack == place.id}
        if place.level == "server" and kind not in ("finding", "measurement"):
            roots |= {address for server, address in self.switches if server == place.id}
        return {key for key, name in self.named[kind].items() if any(_is_in(name, root) for root in roots)}


def _is_in(name: str, root: str) -> bool:
    return name == root or any(end == root or end.startswith(f"{root}/") for end in name.split("--"))


@pytest.fixture(scope="module")
def oracle(connection: Connection) -> _Oracle:
    return _Oracle(connection)


def _places(connection: Connection, oracle: _Oracle, level: str) -> list[Place]:
    names = sorted(oracle.addresses[level].values())
    return [resolve(connection, name) for name in random.Random(2).sample(names, min(len(names), PLACES))]


@pytest.mark.drawing
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", sorted(CONTAINERS))
def test_rows_in_a_place_are_those_whose_address_continues_its_own(
    connection: Connection, oracle: _Oracle, level: str, kind: str
) -> None:
    for place in _places(connection, oracle, level):
        if level not in CONTAINERS[kind]:
            with pytest.raises(WrongLevelError, match=f"{place.address} is a "):
                rows_in(place, kind)
            continue
        expected = oracle.ids(place, kind)
        table: Any = TABLES[kind]
        assert set(connection.scalars(select(table.c.id).where(rows_in(place, kind)))) == expected, place
        assert sorted(connection.scalars(row_ids_in(place, kind))) == sorted(expected), place
        if kind not in ("binding", "finding", "measurement"):
            assert set(connection.scalars(select(table.c.id).where(rows_at(level, place.id, kind)))) == expected


def test_every_kind_has_rows_in_some_place(connection: Connection, oracle: _Oracle) -> None:
    for kind in CONTAINERS:
        assert any(oracle.ids(place, kind) for place in _places(connection, oracle, "cluster"))


_SEARCHED = ("allocation", "binding", "chip", "cordon", "link", "nic", "node", "server", "switch")


@pytest.mark.parametrize(
    ("kind", "level"),
    [
        (kind, level)
        for kind in _SEARCHED
        for level in ("rack", "domain", "server", "chip")
        if level in CONTAINERS[kind]
    ],
)
def test_rows_in_a_place_are_searched_by_index(connection: Connection, oracle: _Oracle, kind: str, level: str) -> None:
    if connection.dialect.name != "sqlite":
        pytest.skip("PostgreSQL's plans depend on statistics")
    table: Any = TABLES[kind]
    query = select(table.c.id).where(rows_in(_places(connection, oracle, level)[0], kind))
    if kind in ("allocation", "cordon"):  # the index has the open ones only
        query = query.where(table.c.ended_at.is_(None))
    sql = query.compile(connection, compile_kwargs={"literal_binds": True})
    steps = [row.detail for row in connection.execute(text(f"EXPLAIN QUERY PLAN {sql}"))]
    assert not [step for step in steps if step.startswith("SCAN")], steps
