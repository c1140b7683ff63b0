"""A domain read as a blueprint and what differs has the wiring that its rows have, whatever was edited."""

import random
from collections.abc import Callable
from functools import partial

import pytest
from sqlalchemy import Connection, select, text
from sqlalchemy.exc import DBAPIError

import trninv
from conftest import BACKENDS, Databases, is_quick, seeds
from graphs import seed_clusters
from trninv.database.tables import TABLES
from trninv.errors import TrninvError
from trninv.inventory.address.expressions import node_addresses
from trninv.routing.evidence import has_observed_wiring, has_observed_wiring_in
from trninv.routing.fleet import BaseFleet
from trninv.routing.path_cache import PathCache
from trninv.routing.stored_domain import StoredBlueprint, read_domain_by_id
from trninv.routing.wiring import Wiring, load_wiring

pytestmark = pytest.mark.slow_on_postgresql

SYSTEMS = {"u-trn2x64": 2, "trn3-gen1": 2, "trn1": 3}
"""A torus of four servers, switches of servers and racks, and one server with NICs that chips share."""

EDITS = {
    "state of a node": "UPDATE node SET state = 'down' WHERE id = {node}",
    "state of a server": "UPDATE server SET state = 'maintenance' WHERE id = {server}",
    "degraded link": "UPDATE link SET state = 'degraded', factor_ppm = 300000 WHERE id = {link}",
    "degraded node": "UPDATE node SET state = 'degraded', factor_ppm = 500000 WHERE id = {node}",
    "degraded network node": "UPDATE node SET state = 'degraded', factor_ppm = 250000 WHERE id = {network_node}",
    "network node down": "UPDATE node SET state = 'down' WHERE id = {network_node}",
    "missing link": "DELETE FROM link WHERE id = {link}",
    "extra link": (
        "INSERT INTO link (id, a_id, b_id, domain_id, link_model_id, bandwidth_bytes_per_s, technology, scope) "
        "SELECT 900000000, {low}, {high}, domain_id, link_model_id, 7000000000, technology, scope "
        "FROM link WHERE id = {link}"
    ),
    "extra uplink": (
        "INSERT INTO link (id, a_id, b_id, domain_id, link_model_id, bandwidth_bytes_per_s, technology, scope) "
        "SELECT 900000001, {nic}, {network_node}, node.domain_id, link_model_id, 9000000000, technology, 'fabric' "
        "FROM link, node WHERE link.id = {link} AND node.id = {nic}"
    ),
    "uplink to a chip": "UPDATE link SET scope = 'fabric' WHERE id = {link}",
    "other bandwidth": "UPDATE link SET bandwidth_bytes_per_s = bandwidth_bytes_per_s / 3 WHERE id = {link}",
    "other technology": "UPDATE link SET technology = 'PCIe' WHERE id = {link}",
    "other model": "UPDATE link SET link_model_id = (SELECT max(id) FROM link_model) WHERE id = {link}",
    "other end": "UPDATE link SET b_id = {high} WHERE id = {link} AND a_id < {high}",
    "other network node": "UPDATE link SET b_id = {network_node} WHERE a_id = {nic} AND scope = 'fabric'",
    "link of another domain": "UPDATE link SET domain_id = {domain} WHERE id = {link}",
    "link of no domain": "UPDATE link SET domain_id = NULL WHERE id = {link}",
    "link between domains": "UPDATE link SET a_id = {low}, b_id = {high} WHERE id = {link}",
    "moved server": "UPDATE server SET domain_id = {domain}, ordinal = 50 WHERE id = {server}",
    "renumbered server": "UPDATE server SET ordinal = 40 WHERE id = {server}",
    "server in another rack": "UPDATE server SET rack_id = {rack} WHERE id = {server}",
    "chip in another server": "UPDATE chip SET server_id = {server}, ordinal = 60 WHERE id = {chip}",
    "renumbered chip": "UPDATE chip SET ordinal = 70 WHERE id = {chip}",
    "other chip": "UPDATE chip SET chip_model_id = (SELECT max(id) FROM chip_model) WHERE id = {chip}",
    "renumbered NIC": "UPDATE nic SET ordinal = 80 WHERE id = {nic}",
    "NIC in another server": "UPDATE nic SET server_id = {server}, ordinal = 81 WHERE id = {nic}",
    "switch in another rack": "UPDATE switch SET rack_id = {rack} WHERE id = {switch}",
    "switch of a server": "UPDATE switch SET server_id = {server} WHERE id = {switch}",
    "renumbered switch": "UPDATE switch SET ordinal = 90 WHERE id = {switch}",
    "node in another domain": "UPDATE node SET domain_id = {domain} WHERE id = {node}",
    "node in another cluster": "UPDATE node SET cluster_id = {cluster} WHERE id = {node}",
    "node of another kind": "UPDATE node SET kind = 'network_node' WHERE id = {node}",
    "network node that is a chip": "UPDATE node SET kind = 'chip' WHERE id = {network_node}",
    "renumbered domain": "UPDATE domain SET ordinal = 30 WHERE id = {domain}",
    "domain of another model": (
        "UPDATE domain SET domain_model_id = (SELECT max(id) FROM domain_model) WHERE id = {domain}"
    ),
    "renumbered rack": "UPDATE rack SET ordinal = 35 WHERE id = {rack}",
    "renamed cluster": "UPDATE cluster SET slug = 'other' WHERE id = {cluster}",
    "other memory": "UPDATE chip_model SET device_memory_bytes = 17 WHERE id = (SELECT max(id) FROM chip_model)",
    "renamed link model": "UPDATE link_model SET slug = 'other' WHERE id = (SELECT max(id) FROM link_model)",
    "other sides": "UPDATE domain_model SET sides = '2x2x16' WHERE wiring = 'torus' AND sides = '4x4x4'",
    "other latency": "UPDATE fact SET value = value * 2 WHERE attribute = 'latency'",
    "uplink with less": "UPDATE link SET bandwidth_bytes_per_s = 3 WHERE id = {uplink}",
    "uplink down": "UPDATE link SET state = 'down' WHERE id = {uplink}",
    "missing uplink": "DELETE FROM link WHERE id = {uplink}",
    "chips in another domain": (
        "UPDATE node SET domain_id = {domain} WHERE id IN (SELECT id FROM chip WHERE server_id = {server})"
    ),
}
"""Statements of SQL, with ids of random rows."""
_PLACES = {
    "node": "node WHERE domain_id IS NOT NULL",
    "low": "node WHERE kind = 'chip'",
    "high": "node WHERE kind = 'chip'",
    "uplink": "link WHERE domain_id IS NULL",
}
"""Rows to draw from, where they are not those of a whole table."""


def _seed(url: str) -> None:
    seed_clusters(url, SYSTEMS)


def _statement(connection: Connection, rng: random.Random, name: str) -> str:
    """Return an edit with ids of random rows."""
    ids = {}
    for key in (
        "node",
        "server",
        "link",
        "network_node",
        "nic",
        "chip",
        "switch",
        "domain",
        "cluster",
        "rack",
        *_PLACES,
    ):
        if f"{{{key}}}" in EDITS[name]:
            ids[key] = rng.choice(sorted(connection.scalars(text(f"SELECT id FROM {_PLACES.get(key, key)}"))))
    if "high" in ids and "low" in ids:
        ids["low"], ids["high"] = sorted((ids["low"], ids["high"]))
    return EDITS[name].format(**ids)


def _outcome(load: Callable[[], Wiring]) -> object:
    """Return everything in a wiring, in its order, which decides between equally good answers; or the error."""
    try:
        wiring = load()
    except TrninvError as error:
        return str(error)
    links = [(node, list(neighbors.items())) for node, neighbors in wiring.links.items()]
    return list(wiring.nodes.items()), links, wiring.failed


def _check(fleet: BaseFleet) -> list[StoredBlueprint]:
    """Compare every domain with its rows; return the blueprints of those that have one."""
    domain, cluster = TABLES["domain"], TABLES["cluster"]
    query = select(domain.c.id, cluster.c.slug, domain.c.ordinal).join(cluster, cluster.c.id == domain.c.cluster_id)
    with fleet.open_snapshot() as snapshot:
        connection = snapshot.connection
        stored = []
        for key, slug, ordinal in connection.execute(query).all():
            for fabric in (False, True):
                expected = _outcome(partial(load_wiring, connection, [key], fabric=fabric))
                assert _outcome(partial(snapshot.load, [key], fabric=fabric)) == expected
            assert has_observed_wiring_in(connection, key) == has_observed_wiring(connection, f"{slug}/d{ordinal}")
            stored.append(read_domain_by_id(connection, snapshot.models(), key))
        return [domain.blueprint for domain in stored if domain]


def _compare_paths(fleet: BaseFleet, rng: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare answers of cached domains with those of the whole graph."""
    with fleet.connect() as connection:
        rows = connection.execute(node_addresses().where(TABLES["node"].c.kind == "chip"))
        chips = [row.address for row in rows if row.address]  # a network node that is called a chip has none
    for _ in range(3):
        source = rng.choice(chips)
        target = rng.choice([chip for chip in chips if chip.partition("/")[0] == source.partition("/")[0]])
        ask = partial(fleet.path, source, target, rng.choice(["hops", "bandwidth"]))
        answer = _path(ask)
        with monkeypatch.context() as patch:
            patch.setattr(PathCache, "path", lambda *_: None)
            assert answer == _path(ask)


def _path(ask: Callable[[], object]) -> object:
    try:
        return ask()
    except TrninvError as error:
        return str(error)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("batch", seeds(4))
def test_after_any_edit_a_domain_is_its_rows(
    databases: Databases, backend: str, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nine edits of random rows, or five, one on top of the other, then the states before them."""
    url, rng = databases.copied(backend, _seed), random.Random(batch)
    names, made = random.Random(1).sample(sorted(EDITS), len(EDITS))[batch :: 9 if is_quick() else 5], 0
    with trninv.open(url) as fleet:
        blueprints = _check(fleet)
        assert len(blueprints) == sum(SYSTEMS.values())
        assert len(set(blueprints)) == len(SYSTEMS)
        for name in names:
            try:
                with fleet.engine.begin() as connection:
                    made += connection.execute(text(_statement(connection, rng, name))).rowcount > 0
            except DBAPIError:  # it would break a constraint
                continue
            _check(fleet)
            _compare_paths(fleet, rng, monkeypatch)
        assert made > len(names) // 2
        with fleet.connect() as connection:
            events = connection.scalars(select(TABLES["state_event"].c.id)).all()
        for event in (0, *events[:: max(len(events) // 2, 1)]):
            _check(fleet.at(event))
