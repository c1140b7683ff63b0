"""Read a domain as the blueprint that it shares with other domains, and what differs from domain to domain.

The database encodes the rows of a domain's nodes, and those of its links, as one JSON text each. Ids in it count from
the first ones of the domain, addresses lack the domain's part, and states are left out. Domains with equal texts
therefore have equal rows, and share one parsed `StoredBlueprint`, in any revision of any database. What differs follows
separately: first ids, unhealthy parts, and the network nodes above the domain.

Texts are read anew for each domain and revision. No mark of changed rows is kept, so none can be wrong
(docs/decisions/stored-blueprints.md).
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from trninv.database.tables import TABLES
from trninv.inventory.state.condition import UP, Condition, carried_bandwidth, condition_from_row
from trninv.routing.domain_queries import domain_links_query, domain_nodes_query, domain_query, network_queries
from trninv.routing.wiring import Attributes, Wiring, link_latency
from trninv.topology.blueprint import BlueprintNode
from trninv.topology.registry import get_pattern, parse_sides

_MAX_BLUEPRINTS = 64
"""Most blueprints that are kept; each takes some 200 KB."""
_ADDRESSES = {"chip": "/s{}/c{}", "switch": "/sw{1}", "nic": "/s{}/efa{}"}
"""The address of a node within its domain, by kind, from the ordinals of its server and of the node."""
_NO_ATTRIBUTES: Attributes = dict.fromkeys(
    ("rack", "server", "memory", "model", "domain", "domain_id", "position", "ordinal", "wiring", "vendor_id")
) | {"sides": ()}
"""The attributes that a node of a wiring has, without values."""
Conditions = dict[int, Condition]
"""The conditions of parts by id; those of healthy parts may be left out."""


class StoredLink(NamedTuple):
    """A link whatever its state; in a blueprint, its ids are local numbers.

    ``b`` of a link of scope ``fabric`` counts from the domain's first network node. ``bandwidth`` is in bytes per
    second, one direction; ``model`` is a slug.
    """

    id: int
    a: int
    b: int
    bandwidth: int
    model: str
    technology: str
    scope: str


PlacedLink = tuple[int, int, int, StoredLink]
"""A link with its own id and the ids of its ends in the database."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredBlueprint:
    """Nodes and links of a domain, as its rows have them; equal only to itself, so that it is quick to compare.

    Attributes
    ----------
    nodes
        Attributes of each node, whatever its state, by local number. The address lacks the domain's part, and racks
        count from the domain's first one.
    network_nodes
        The network nodes to which the domain has links, counted from the first one.

    """

    nodes: Mapping[int, Attributes]
    links: tuple[StoredLink, ...]
    network_nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NetworkPart:
    """Some network nodes and all above them: attributes by id, the links upwards, and the conditions of both."""

    nodes: Mapping[int, Attributes]
    links: tuple[PlacedLink, ...]
    node_conditions: Conditions
    link_conditions: Conditions

    def carrying_nodes(self) -> dict[int, Attributes]:
        """Return the attributes of the nodes that carry traffic."""
        return {node: attributes for node, attributes in self.nodes.items() if self.node_conditions[node].carries}

    def wiring(self, latencies: Mapping[str, int]) -> Wiring:
        """Return the network nodes that carry traffic, as a wiring."""
        conditions = self.node_conditions, self.link_conditions
        return _to_wiring(self.carrying_nodes(), frozenset(), self.links, *conditions, latencies)


@dataclass(frozen=True, slots=True)
class StoredDomain:
    """A domain: its blueprint and what differs from other domains of the blueprint.

    Attributes
    ----------
    model
        Slug of the domain model.
    first_node, first_link, first_network_node, first_rack
        The ids, and the ordinal of the rack, from which the blueprint's numbers count; 0 if it has no such part.
    node_conditions, link_conditions
        JSON arrays of the local number, state and factor of each unhealthy part.

    """

    id: int
    address: str
    model: str
    first_node: int
    first_link: int
    first_network_node: int
    first_rack: int
    node_conditions: str
    link_conditions: str
    blueprint: StoredBlueprint

    @property
    def network_nodes(self) -> tuple[int, ...]:
        """Ids of the network nodes to which the domain has links."""
        return tuple(self.first_network_node + number for number in self.blueprint.network_nodes)

    def wiring(self, latencies: Mapping[str, int], network: NetworkPart | None = None) -> Wiring:
        """Return what `load_wiring` of `trninv.routing.wiring` loads; it has NICs if there is a network part."""
        conditions = _parse_conditions(self.node_conditions, self.first_node)
        nodes, failed = dict[int, Attributes](), set[int]()
        for number, attributes in self.blueprint.nodes.items():
            kind, node = attributes["kind"], self.first_node + number
            if kind == "nic" and network is None:
                continue
            if conditions.get(node, UP).carries:
                nodes[node] = attributes | {
                    "address": self.address + attributes["address"],
                    "rack": self.first_rack + attributes["rack"],
                    "domain_id": self.id,
                }
            elif kind == "chip":
                failed.add(node)
        first_node, first_link, first_network_node = self.first_node, self.first_link, self.first_network_node
        links: list[PlacedLink] = [
            (
                first_link + link.id,
                first_node + link.a,
                link.b + (first_network_node if link.scope == "fabric" else first_node),
                link,
            )
            for link in self.blueprint.links
        ]
        link_conditions = _parse_conditions(self.link_conditions, first_link)
        if network is not None:
            nodes = dict(sorted((nodes | network.carrying_nodes()).items()))
            links = sorted([*links, *network.links])
            conditions |= network.node_conditions
            link_conditions |= network.link_conditions
        return _to_wiring(nodes, frozenset(failed), links, conditions, link_conditions, latencies)


def _to_wiring(
    nodes: dict[int, Attributes],
    failed: frozenset[int],
    placed_links: Iterable[PlacedLink],
    node_conditions: Conditions,
    link_conditions: Conditions,
    latencies: Mapping[str, int],
) -> Wiring:
    """Return the wiring of nodes that carry traffic, with those links that carry some between them."""
    links: dict[int, dict[int, Attributes]] = {node: {} for node in nodes}
    for key, a, b, link in placed_links:
        if a not in links or b not in links:
            continue
        ends = node_conditions.get(a, UP), node_conditions.get(b, UP)
        if capacity := carried_bandwidth(link.bandwidth, link_conditions.get(key, UP), *ends):
            links[a][b] = links[b][a] = {
                "id": key,
                "capacity": capacity,
                "model": link.model,
                "technology": link.technology,
                "latency": link_latency(latencies, link.scope, link.technology),
            }
    return Wiring(nodes, links, failed)


def _parse_conditions(text: str, first_id: int) -> dict[int, Condition]:
    return {first_id + number: Condition(state, factor) for number, state, factor in json.loads(text)}


class Models(NamedTuple):
    """The models of chips (id, slug, memory in bytes) and of links (id, slug)."""

    chips: tuple[tuple[int, str, int], ...]
    links: tuple[tuple[int, str], ...]


def read_models(connection: Connection) -> Models:
    """Read the models to which chips and links refer."""
    chip, link = TABLES["chip_model"], TABLES["link_model"]
    chips = connection.execute(select(chip.c.id, chip.c.slug, chip.c.device_memory_bytes).order_by(chip.c.id))
    links = connection.execute(select(link.c.id, link.c.slug).order_by(link.c.id))
    return Models(tuple((key, slug, memory) for key, slug, memory in chips), tuple((key, slug) for key, slug in links))


def read_domain_by_id(connection: Connection, models: Models, domain: int) -> StoredDomain | None:
    """Read a domain; None if it does not exist, or if rows refer to other domains, as after an edit in SQL."""
    return _read(connection, models, connection.execute(domain_query(by_address=False), {"domain": domain}).first())


def read_domain(connection: Connection, models: Models, cluster: str, ordinal: int) -> StoredDomain | None:
    """Read a domain by its address, as `read_domain_by_id` does."""
    values = {"cluster": cluster, "ordinal": ordinal}
    return _read(connection, models, connection.execute(domain_query(by_address=True), values).first())


def _read(connection: Connection, models: Models, domain: Any) -> StoredDomain | None:  # Any: a row of domain_query
    servers = json.loads(domain.servers or "[]") if domain else ()
    if not servers or domain.first_node is None:
        return None
    first_server, first_rack = min(server[0] for server in servers), min(server[2] for server in servers)
    first_rack_ordinal = min(server[3] for server in servers)
    first_ids = {"first_node": domain.first_node, "first_server": first_server, "first_rack": first_rack}
    nodes = connection.execute(
        domain_nodes_query(), {"domain": domain.id, "last_node": domain.last_node, **first_ids}
    ).one()
    if (nodes.first_cluster, nodes.last_cluster) != (domain.cluster_id, domain.cluster_id):
        return None
    links = connection.execute(domain_links_query(), {"domain": domain.id, "first_node": domain.first_node}).one()
    local_servers = tuple(
        (key - first_server, ordinal, rack - first_rack, rack_ordinal - first_rack_ordinal)
        for key, ordinal, rack, rack_ordinal in servers
    )
    domain_model = domain.model, domain.wiring, domain.sides or ""
    blueprint = _parse_blueprint(local_servers, nodes.rows, links.rows or "[]", models, domain_model)
    if blueprint is None:
        return None
    return StoredDomain(
        domain.id,
        f"{domain.cluster}/d{domain.ordinal}",
        domain.model,
        domain.first_node,
        links.first_id or 0,
        links.first_network_node or 0,
        first_rack_ordinal,
        nodes.unhealthy or "[]",
        links.unhealthy or "[]",
        blueprint,
    )


@lru_cache(maxsize=_MAX_BLUEPRINTS)
def _parse_blueprint(
    servers: tuple[tuple[int, int, int, int], ...],
    nodes_text: str,
    links_text: str,
    models: Models,
    domain_model: tuple[str, str, str],
) -> StoredBlueprint | None:
    """Parse the texts of a domain; None if a node has no server or rack in it, or rows of several kinds.

    Parameters
    ----------
    servers
        The local id of each server, its ordinal, and id and ordinal of its rack.
    domain_model
        The slug of the domain's model, and its wiring pattern with its sides.

    """
    model, wiring, sides_text = domain_model
    sides = parse_sides(sides_text)
    server_by_id = {key: (ordinal, rack_ordinal) for key, ordinal, _, rack_ordinal in servers}
    rack_ordinals = {rack: rack_ordinal for _, _, rack, rack_ordinal in servers}
    chip_models = {key: (slug, memory) for key, slug, memory in models.chips}
    nodes: dict[int, Attributes] = {}
    for number, kind, *parts in sorted(json.loads(nodes_text)):
        chip_server, chip_model, chip_ordinal, switch_server, switch_rack, switch_ordinal, nic_server, nic_ordinal = (
            parts
        )
        server_id = {"chip": chip_server, "switch": switch_server, "nic": nic_server}[kind]
        ordinals = {"chip": chip_ordinal, "switch": switch_ordinal, "nic": nic_ordinal}
        ordinal = ordinals.pop(kind)
        if ordinal is None or any(other is not None for other in ordinals.values()):
            return None
        server, rack = server_by_id.get(server_id, (None, None))
        if kind == "switch":
            rack = rack_ordinals.get(switch_rack)
        if rack is None or (server is None and (kind != "switch" or server_id is not None)):
            return None
        slug, memory = chip_models.get(chip_model, (None, None)) if kind == "chip" else (None, None)
        chip = BlueprintNode("chip", server, rack, ordinal)
        nodes[number] = _NO_ATTRIBUTES | {
            "kind": kind,
            "address": _ADDRESSES[kind].format(server, ordinal),
            "rack": rack,
            "server": server,
            "memory": memory,
            "model": slug,
            "domain": model,
            "position": get_pattern(wiring).position(chip, sides) if kind == "chip" else None,
            "ordinal": None if kind == "nic" else ordinal,
            "wiring": wiring,
            "sides": sides,
        }
    link_models = dict(models.links)
    links = tuple(
        StoredLink(number, a, b, bandwidth, link_models[link_model], technology, scope)
        for number, a, b, bandwidth, link_model, technology, scope in sorted(json.loads(links_text))
        if link_model in link_models
    )
    return StoredBlueprint(nodes, links, tuple(sorted({link.b for link in links if link.scope == "fabric"})))


def read_network_part(connection: Connection, network_nodes: tuple[int, ...]) -> NetworkPart | None:
    """Read some network nodes and all above them; None if any of them is another kind of node, after an edit in SQL."""
    if not network_nodes:
        return NetworkPart({}, (), {}, {})
    ids_above, nodes, links_above = network_queries()
    ids = connection.scalars(ids_above, {"ids": network_nodes}).all()
    rows = connection.execute(nodes, {"ids": ids}).all()
    if any(row.kind != "network_node" or row.address is None or row.domain_id is not None for row in rows):
        return None
    links = connection.execute(links_above, {"ids": ids}).all()
    return NetworkPart(
        {
            row.id: _NO_ATTRIBUTES | {"kind": row.kind, "address": row.address, "vendor_id": row.vendor_id}
            for row in rows
        },
        tuple(
            (
                row.id,
                row.a_id,
                row.b_id,
                StoredLink(row.id, row.a_id, row.b_id, row.bandwidth_bytes_per_s, row.model, row.technology, row.scope),
            )
            for row in links
        ),
        {row.id: condition_from_row(row) for row in rows},
        {row.id: condition_from_row(row) for row in links},
    )
