"""Damage clusters of two to eight domains of every system at random, for the checks of answers."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import networkx as nx
from sqlalchemy import select

from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database import migration
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.inventory.address.expressions import node_addresses
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.routing.fleet import BaseFleet

SYSTEMS = {
    "trn1.2xlarge": "a",
    "trn1": "b",
    "trn2": "c",
    "u-trn2x64": "d",
    "trn3-gen1": "e",
    "trn3-gen2": "f",
}
"""Systems, and the first letter of their clusters' names."""
SIZES = range(2, 9)
"""Numbers of domains of a cluster."""


@dataclass(frozen=True)
class State:
    """A cluster, its parts that are down, and its links with half their bandwidth.

    Attributes
    ----------
    working
        The graph of parts that are not down, by address: nodes with ``kind`` and ``memory``, links with ``capacity``.

    """

    system: str
    cluster: str
    domains: int
    down: tuple[str, ...]
    halved: tuple[str, ...]
    working: "nx.Graph[str]"

    @property
    def damage(self) -> str:
        """The damage as text for people."""
        return (
            f"{self.cluster} down: {', '.join(self.down) or 'nothing'}; halved: {', '.join(self.halved) or 'nothing'}"
        )

    def chips(self, scope: str) -> list[str]:
        """Return the healthy chips of a cluster or domain."""
        kind = nx.get_node_attributes(self.working, "kind")
        return [node for node in self.working if kind[node] == "chip" and node.startswith(f"{scope}/")]

    @contextmanager
    def apply_damage(self, fleet: BaseFleet) -> Iterator[BaseFleet]:
        """Apply the damage to a fleet's database until the context ends."""
        self._set(fleet, Condition.from_user("down", None), Condition.from_user("degraded", 0.5))
        try:
            yield fleet
        finally:
            self._set(fleet, Condition.from_user("up", None), Condition.from_user("up", None))

    def _set(self, fleet: BaseFleet, down: Condition, halved: Condition) -> None:
        with write_transaction(fleet.engine) as connection:
            for addresses, condition in ((self.down, down), (self.halved, halved)):
                if addresses:
                    set_state(connection, addresses, condition, why="random damage", who="bench")


def seed(url: str, sizes: range = SIZES) -> None:
    """Seed a cluster of each size for each system, such as c5: five domains of trn2."""
    with temporary_engine(url) as engine:
        migration.migrate(engine)
        for system, name in SYSTEMS.items():
            for size in sizes:
                with write_transaction(engine) as connection:
                    cluster_seeding.seed(
                        connection, default_catalog(), default_systems().get(system).resized(size), f"{name}{size}"
                    )


def read_clusters(fleet: BaseFleet) -> dict[str, "nx.Graph[str]"]:
    """Read the graphs of all clusters from the tables of an undamaged database."""
    clusters: dict[str, nx.Graph[str]] = {}
    link, node, chip, model = (TABLES[name] for name in ("link", "node", "chip", "chip_model"))
    with read_transaction(fleet.engine) as connection:
        memory = dict(
            connection.execute(
                select(chip.c.id, model.c.device_memory_bytes).join(model, model.c.id == chip.c.chip_model_id)
            ).all()
        )
        address_query = node_addresses().add_columns(node.c.kind)
        rows = {row.id: row for row in connection.execute(address_query)}
        for row in rows.values():
            graph = clusters.setdefault(row.address.partition("/")[0], nx.Graph())
            graph.add_node(row.address, kind=row.kind, memory=memory.get(row.id, 0))
        for row in connection.execute(select(link)):
            a, b = rows[row.a_id].address, rows[row.b_id].address
            graph = clusters[a.partition("/")[0]]
            graph.add_edge(a, b, capacity=row.bandwidth_bytes_per_s, address=f"{a}--{b}", scope=row.scope)
    return clusters


def draw_damage(clusters: "dict[str, nx.Graph[str]]", system: str, size: int, rng: random.Random) -> State:
    """Return a cluster with random damage, anywhere or in one domain.

    Up to four chips, four links and two NICs are down, and up to one link has half its bandwidth.
    """
    cluster = f"{SYSTEMS[system]}{size}"
    graph = clusters[cluster]
    scope = f"{cluster}/d{rng.randrange(size)}/" if rng.random() < 1 / 2 else f"{cluster}/d"
    kinds = {
        kind: [node for node, data in graph.nodes(data=True) if data["kind"] == kind and node.startswith(scope)]
        for kind in ("chip", "nic")
    }
    links = [data["address"] for a, b, data in graph.edges(data=True) if data["address"].startswith(scope)]
    chips, nics = (
        rng.sample(kinds[kind], min(rng.randint(0, limit), len(kinds[kind]) - 1))
        for kind, limit in (("chip", 4), ("nic", 2))
    )
    failed_links = rng.sample(links, min(rng.randint(0, 4), len(links)))
    halved = [link for link in rng.sample(links, rng.randint(0, 1)) if link not in failed_links]
    working = graph.copy()
    for a, b, data in graph.edges(data=True):
        if data["address"] in halved:
            working.edges[a, b]["capacity"] //= 2
        elif data["address"] in failed_links:
            working.remove_edge(a, b)
    working.remove_nodes_from([*chips, *nics])
    return State(system, cluster, size, (*chips, *nics, *failed_links), tuple(halved), working)
