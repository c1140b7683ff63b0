"""The wiring of scale-up domains, read from the tables as it is now.

A node of a wiring has ``kind``, ``address``, ``rack``, ``server`` (ordinals; None for a rack's switch), ``memory`` and
``model`` (chips: bytes, slug), ``domain`` and ``domain_id`` (its model and row; None for a network node), ``position``
(chips: coordinates where their pattern has any), and for the pattern ``ordinal``, ``wiring`` and ``sides``; a link
``id``, ``capacity`` (bytes per second, one direction), ``model``, ``technology`` and ``latency`` (nanoseconds; None
where no fact gives it). What is down is not there.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, Engine, and_, func, or_, select

from trninv import solvers
from trninv.catalog.facts import EFA_FABRIC
from trninv.errors import ScopeTooLargeError
from trninv.inventory.address import Address, Place, node_addresses
from trninv.inventory.pinned import State
from trninv.inventory.revision import Revision
from trninv.inventory.schema import CARRYING, TABLES
from trninv.inventory.state import PPM, UP, Condition, carried
from trninv.routing.answer import LinkRef
from trninv.routing.scenario import Changes, Scenario, changes
from trninv.solvers.arcs import Arcs, arcs, join_links, place
from trninv.solvers.paths import Links
from trninv.topology.blueprint import Node
from trninv.topology.pattern import Position
from trninv.topology.register import pattern, sides
from trninv.units import Bandwidth

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph

A = TypeVar("A")

_T = TABLES
MAX_DOMAINS = 64
"""Domains that one wiring may span; a larger question belongs to the quotient of the cluster."""

Attributes = dict[str, Any]


@dataclass(frozen=True)
class Wiring:
    """What is up, and the chips that are not."""

    nodes: dict[int, Attributes]
    links: Mapping[int, Mapping[int, Attributes]]
    failed: frozenset[int]

    @cached_property
    def graph(self) -> "Graph":
        """The same as a networkx graph."""
        graph = solvers.graph.Graph()
        graph.add_nodes_from(self.nodes.items())
        graph.add_edges_from(self.edges())
        return graph

    @cached_property
    def arcs(self) -> Arcs:
        """Where traffic may go on, each NIC as its two ports."""
        return arcs(self.nodes, self.links)

    def cut(self, side: Collection[int]) -> tuple[LinkRef, ...]:
        """Links that lead from some nodes and ports to the others, by id."""
        ahead, inside = self.arcs.ahead, set(side)
        crossing = ((a, b) for a in inside for b in ahead[a] if b not in inside)
        found = (link_ref(self.nodes, self.links, place(a), place(b)) for a, b in crossing)
        return tuple(sorted(found, key=lambda link: link.id))

    def edges(self) -> Iterator[tuple[int, int, Attributes]]:
        """Every link once: both ends, the lower first, and its attributes."""
        return ((a, b, of) for a, near in self.links.items() for b, of in near.items() if a < b)

    def chips(self) -> dict[str, tuple[int, int]]:
        """Node and domain of its chips, by address."""
        return {of["address"]: (node, of["domain_id"]) for node, of in self.nodes.items() if of["kind"] == "chip"}

    def changed(self, changes: Changes) -> "Wiring":
        """The same with what a scenario supposes."""
        down = changes.down
        nodes = {node: of for node, of in self.nodes.items() if node not in down}
        links: dict[int, dict[int, Attributes]] = {node: {} for node in nodes}
        for a, b, of in self.edges():
            factor = changes.of_link(of["id"], a, b)
            if factor == PPM:
                links[a][b] = links[b][a] = of
            elif left := of["capacity"] * factor // PPM:
                links[a][b] = links[b][a] = of | {"capacity": left}
        lost = {node for node in down & self.nodes.keys() if self.nodes[node]["kind"] == "chip"}
        return Wiring(nodes, links, self.failed | lost)


def join(wirings: Sequence[Wiring]) -> Wiring:
    """The wirings of domains as one; they share what is above them."""
    if len(wirings) == 1:
        return wirings[0]
    nodes: dict[int, Attributes] = {}
    for wiring in wirings:
        nodes |= wiring.nodes
    failed = frozenset[int]().union(*(wiring.failed for wiring in wirings))
    return Wiring(nodes, join_links([wiring.links for wiring in wirings]), failed)


@dataclass(frozen=True, slots=True)
class Restored:
    """Nodes and links, by id, that are taken for up whatever their state is."""

    nodes: frozenset[int] = frozenset()
    links: frozenset[int] = frozenset()


_AS_IT_IS = Restored()
MOST_FOUND = 10_000
"""Small findings of one state of the database that are remembered."""


@dataclass(slots=True)
class _Known:
    """What is known of one state of the database.

    Attributes
    ----------
    domains
        The one used last at the end.
    chips
        Node and domain by address, of the chips that are up in these domains.
    found
        Other findings.

    """

    revision: Hashable = None
    domains: OrderedDict[tuple[int, bool], Wiring] = field(default_factory=OrderedDict)
    chips: dict[str, tuple[int, int]] = field(default_factory=dict)
    found: dict[Hashable, Any] = field(default_factory=dict)


class Wirings:
    """Reads wirings of an engine's database, and remembers domains for as long as it stays as it is; thread safe."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.revision, self._lock, self._known = engine, Revision(engine), Lock(), [_Known()]
        self._state: State | None = None
        self._at: Hashable | None = None

    def at(self, revision: Hashable) -> "Wirings":
        """The same, whose `current` is a revision that was just found."""
        known = copy(self)
        known._at = revision  # noqa: SLF001 # its own
        return known

    def within(self, state: State) -> "Wirings":
        """The same, of one state."""
        pinned = copy(self)
        pinned._state = state  # noqa: SLF001 # its own
        return pinned

    def current(self) -> Hashable | None:
        """The revision that is read."""
        if self._at is not None:
            return self._at
        return self._state.revision() if self._state else self.revision.current()

    def close(self) -> None:
        """Stop watching the database."""
        self.revision.close()

    @contextmanager
    def reading(self) -> "Iterator[Reader]":
        """One state of the database."""
        with self._state.reading() if self._state else self.revision.reading() as (connection, revision):
            known = _Known() if revision is None else self._of(revision)
            yield Reader(connection, revision, known, self._lock, Changes())

    def _of(self, revision: Hashable) -> _Known:
        with self._lock:
            if self._known[0].revision != revision:
                self._known[0] = _Known(revision)
            return self._known[0]


@dataclass(frozen=True, slots=True)
class Reader:
    """A connection that sees one state of the database, what is already known of it, and what is supposed."""

    connection: Connection
    revision: Hashable | None
    _known: _Known
    _lock: Lock
    changes: Changes
    restored: Restored = _AS_IT_IS

    def restoring(self, restored: Restored) -> "Reader":
        """The same state with some things up."""
        return replace(self, restored=restored)

    def supposing(self, scenario: Scenario) -> "Reader":
        """The same state as it would be."""
        return replace(self, changes=changes(self.connection, scenario))

    def load(self, domain_ids: Collection[int], *, fabric: bool = False) -> Wiring:
        """As `load`, from what is remembered where it is."""
        return join(list(self.parts(domain_ids, fabric=fabric).values()))

    def parts(self, domain_ids: Collection[int], *, fabric: bool = False) -> dict[int, Wiring]:
        """The same of every domain by itself, by its id."""
        _few(domain_ids)
        changed = self.changes.nodes or self.changes.links
        found = {domain: self._domain(domain, fabric) for domain in domain_ids}
        return {domain: part.changed(self.changes) for domain, part in found.items()} if changed else found

    def chip(self, address: Address) -> tuple[int, int] | None:
        """Node and domain of a chip, if its domain was read and it is up."""
        return self._known.chips.get(str(address))

    def remembered(self, key: Hashable, read: Callable[[], A]) -> A:
        """What was read of this state under a key, or is read now; of the state as it is, without what is supposed."""
        known = self._known.found
        if key not in known:
            if len(known) >= MOST_FOUND:
                known.clear()
            known[key] = read()
        found: A = known[key]
        return found

    def _domain(self, domain: int, fabric: bool) -> Wiring:
        if self.restored != _AS_IT_IS:
            return load(self.connection, [domain], fabric=fabric, restored=self.restored)
        key, known = (domain, fabric), self._known
        found = known.domains.get(key)
        if found is None:
            found = load(self.connection, [domain], fabric=fabric)
            known.chips.update(found.chips())
        with self._lock:
            known.domains[key] = found
            known.domains.move_to_end(key)
            if len(known.domains) > MAX_DOMAINS:
                _, forgotten = known.domains.popitem(last=False)
                for address in forgotten.chips():
                    known.chips.pop(address, None)
        return found


def domains_of(connection: Connection, nodes: Iterable[int]) -> list[int]:
    """Ids of the domains that nodes belong to, in order."""
    node = _T["node"]
    wanted = select(node.c.domain_id).distinct().where(node.c.id.in_(list(nodes))).order_by(node.c.domain_id)
    return list(connection.scalars(wanted))


def domains_beside(connection: Connection, domains: Iterable[int]) -> list[int]:
    """Ids of all domains of the clusters that some are of, in order."""
    domain = _T["domain"]
    clusters = select(domain.c.cluster_id).where(domain.c.id.in_(list(domains)))
    wanted = select(domain.c.id).where(domain.c.cluster_id.in_(clusters)).order_by(domain.c.id)
    return list(connection.scalars(wanted))


def domains_in(connection: Connection, cluster: Place) -> list[int]:
    """Ids of a cluster's domains, in order."""
    domain = _T["domain"]
    return list(connection.scalars(select(domain.c.id).where(domain.c.cluster_id == cluster.id).order_by(domain.c.id)))


def load(
    connection: Connection,
    domain_ids: Collection[int],
    *,
    nics: bool = False,
    fabric: bool = False,
    restored: Restored = _AS_IT_IS,
) -> Wiring:
    """The wiring of domains: their scale-up links, which no path within a domain leaves.

    Parameters
    ----------
    nics
        The EFA devices too.
    fabric
        The EFA devices and the slice of the fabric above the domains.
    restored
        What is taken for up.

    Raises
    ------
    ScopeTooLargeError
        More than MAX_DOMAINS domains.

    """
    _few(domain_ids)
    above = _network_nodes(connection, domain_ids) if fabric else []
    nodes: dict[int, Attributes] = {}
    degraded: dict[int, Condition] = {}
    failed = set()
    for row in connection.execute(_nodes(domain_ids, above, nics=nics or fabric)):
        condition = UP if row.id in restored.nodes else Condition(row.state, row.factor_ppm)
        if condition.factor_ppm is not None:
            degraded[row.id] = condition
        if condition.carries:
            nodes[row.id] = {
                "kind": row.kind,
                "address": row.address,
                "rack": row.rack,
                "server": row.server,
                "memory": row.memory,
                "model": row.model,
                "domain": row.domain,
                "domain_id": row.domain_id,
                "position": _position(row),
                "ordinal": row.ordinal,
                "wiring": row.wiring,
                "sides": sides(row.sides or ""),
                "vendor_id": row.vendor_id,
            }
        elif row.kind == "chip":
            failed.add(row.id)
    links: dict[int, dict[int, Attributes]] = {node: {} for node in nodes}
    latency = _latencies(connection)
    for row in connection.execute(_links(domain_ids, above, restored.links)):
        if row.a_id in nodes and row.b_id in nodes:
            ends = (degraded[end] for end in (row.a_id, row.b_id) if end in degraded)
            own = UP if row.id in restored.links else Condition(row.state, row.factor_ppm)
            capacity = carried(row.bandwidth_bytes_per_s, own, *ends)
            if not capacity:
                continue
            links[row.a_id][row.b_id] = links[row.b_id][row.a_id] = {
                "id": row.id,
                "capacity": capacity,
                "model": row.model,
                "technology": row.technology,
                "latency": latency.get(row.scope, latency.get(row.technology.lower())),
            }
    return Wiring(nodes, links, frozenset(failed))


def _latencies(connection: Connection) -> dict[str, int]:
    """Nanoseconds by technology, or by scope: a way over EFA is one from HBM to HBM, half of it at either host."""
    fact = TABLES["fact"]
    found = select(fact.c.subject, fact.c.value).where(fact.c.attribute == "latency", fact.c.preference == 0)
    known = {row.subject: int(row.value) for row in connection.execute(found)}
    over_efa = known.pop(EFA_FABRIC, None)
    return known if over_efa is None else known | {"host": over_efa // 2, "fabric": 0}


def _few(domain_ids: Collection[int]) -> None:
    if len(domain_ids) > MAX_DOMAINS:
        raise ScopeTooLargeError(f"{len(domain_ids)} domains in one graph: ask about at most {MAX_DOMAINS}")


def link_ref(nodes: Mapping[int, Attributes], links: Links, a: int, b: int) -> LinkRef:
    """The link between two nodes of a wiring; of network nodes that are seen as one, it has its own one's address."""
    low, high = min(a, b), max(a, b)
    of = links[low][high]
    return LinkRef(of["id"], nodes[low]["address"], of.get("above", nodes[high]["address"]), Bandwidth(of["capacity"]))


def cut_links(graph: "Graph", side: Collection[int]) -> tuple[LinkRef, ...]:
    """Links between a set of nodes and the rest, by id."""
    crossing = (link_ref(graph.nodes, graph.adj, a, b) for a, b in solvers.graph.cut(graph, side))
    return tuple(sorted(crossing, key=lambda link: link.id))


def _network_nodes(connection: Connection, domain_ids: Collection[int]) -> list[int]:
    """The slice of the fabric above some domains: their network nodes of every tier."""
    link = _T["link"]
    below = select(link.c.b_id).distinct().where(link.c.domain_id.in_(list(domain_ids)), link.c.scope == "fabric")
    found: list[int] = []
    while tier := list(connection.scalars(below)):
        found += tier
        below = select(link.c.b_id).distinct().where(link.c.a_id.in_(tier), link.c.scope == "fabric")
    return sorted(found)


def _nodes(domain_ids: Collection[int], above: Collection[int], *, nics: bool) -> Any:
    node, chip, switch, model, domain, domain_model, server, rack = (
        _T[name] for name in ("node", "chip", "switch", "chip_model", "domain", "domain_model", "server", "rack")
    )
    of_switch = server.alias("of_switch")
    query = node_addresses().add_columns(
        node.c.kind,
        node.c.domain_id,
        node.c.state,
        node.c.factor_ppm,
        rack.c.ordinal.label("rack"),
        func.coalesce(server.c.ordinal, of_switch.c.ordinal).label("server"),
        func.coalesce(chip.c.ordinal, switch.c.ordinal).label("ordinal"),
        model.c.device_memory_bytes.label("memory"),
        model.c.slug.label("model"),
        domain_model.c.slug.label("domain"),
        domain_model.c.wiring,
        domain_model.c.sides,
        _T["network_node"].c.vendor_id,
    )
    query = query.outerjoin(model, model.c.id == chip.c.chip_model_id)
    query = query.outerjoin(of_switch, of_switch.c.id == switch.c.server_id)
    query = query.outerjoin(rack, rack.c.id == func.coalesce(server.c.rack_id, switch.c.rack_id))
    query = query.outerjoin(domain_model, domain_model.c.id == domain.c.domain_model_id)
    kinds = ("chip", "switch", "nic") if nics else ("chip", "switch")
    inside = and_(node.c.domain_id.in_(list(domain_ids)), node.c.kind.in_(kinds))
    return query.where(or_(inside, node.c.id.in_(list(above)))).order_by(node.c.id)


def _links(domain_ids: Collection[int], above: Collection[int], restored: Collection[int]) -> Any:
    link, model = _T["link"], _T["link_model"]
    query = select(
        link.c.id,
        link.c.a_id,
        link.c.b_id,
        link.c.bandwidth_bytes_per_s,
        link.c.technology,
        link.c.scope,
        link.c.state,
        link.c.factor_ppm,
        model.c.slug.label("model"),
    ).join(model, model.c.id == link.c.link_model_id)
    ours = or_(link.c.domain_id.in_(list(domain_ids)), link.c.a_id.in_(list(above)))
    carrying = link.c.state.in_(CARRYING)
    wanted = or_(carrying, link.c.id.in_(sorted(restored))) if restored else carrying
    return query.where(ours, wanted).order_by(link.c.id)


def _position(row: Any) -> Position | None:  # a row of _nodes
    if row.kind != "chip":
        return None
    return pattern(row.wiring).position(Node("chip", row.server, row.rack, row.ordinal), sides(row.sides))
