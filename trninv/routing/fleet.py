"""The questions, asked of a database: `Fleet` gives frozen answers for notebooks, the command line and GraphQL."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sqlalchemy import Connection, Engine

from trninv.errors import LimitError, SamePlaceError, WrongLevelError
from trninv.inventory.address import Address, Place, chips_of, parse, resolve, resolve_link
from trninv.inventory.database import reading
from trninv.routing import evidence
from trninv.routing.express import Express
from trninv.routing.paths import NodePath, best_paths, count_best
from trninv.routing.results import (
    BandwidthAnswer,
    BisectionAnswer,
    Metric,
    Path,
    PathAnswer,
    PoolAnswer,
)
from trninv.routing.wiring import Reader, Wiring, Wirings, domains_in, domains_of, link_ref, load
from trninv.units import Bandwidth, Capacity

if TYPE_CHECKING:
    from trninv.routing.graph import Graph

MAX_PATHS = 100
"""Paths that one question may ask for."""

MAX_ADDRESSES = 1_000
"""Addresses that one list of a question may have."""

_PATH = {
    Metric.HOPS: "fewest links travelled (chip-switch-chip is two), ties by address; bandwidth of one direction",
    Metric.BANDWIDTH: "widest narrowest link, then fewest links, ties by address; bandwidth of one direction",
}
_BANDWIDTH = "all paths together, one direction; the cut's links sum to the flow, which proves both"
_WITHIN = "; over scale-up links"
_ACROSS = "; over scale-up links and the EFA fabric, through no third domain"
_POOL = (
    "memory of the healthy chips within reach over scale-up links (no EFA); widest path and what a whole ring delivers "
    "at once, one direction"
)


@dataclass(frozen=True, slots=True)
class _Ends:
    """Two places, their chips, and the wiring of the domains they touch."""

    source: Place
    target: Place
    sources: frozenset[int]
    targets: frozenset[int]
    wiring: Wiring
    over: str


class Fleet:
    """A database of trninv, open for questions. Thread safe; every question reads the wiring as it is."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._express, self._wirings = Express(engine), Wirings(engine)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._express.close()
        self._wirings.close()
        self.engine.dispose()

    def path(
        self, source: str, target: str, by: str = "hops", k: int = 1, avoid: Sequence[str] | str = ()
    ) -> PathAnswer:
        """The k best paths between two places; servers, racks and domains stand for all their chips.

        Parameters
        ----------
        by
            "hops" or "bandwidth".
        k
            1 to MAX_PATHS.
        avoid
            Addresses of places and links that no path may touch; one may stand alone.

        Raises
        ------
        LimitError, AddressError, UnknownAddressError, WrongLevelError

        """
        if by.upper() not in Metric.__members__:
            raise LimitError(f"by {by!r}: choose {' or '.join(Metric).lower()}")
        metric = Metric(by.upper())
        if not 1 <= k <= MAX_PATHS:
            raise LimitError(f"{k} paths: ask for 1 to {MAX_PATHS}")
        if k == 1 and not avoid and (known := self._known_path(parse(source), parse(target), metric)):
            return known
        with self._wirings.reading() as reader:
            ends = _ends(reader, source, target, _listed(avoid))
            nodes, links = ends.wiring.nodes, ends.wiring.links
            found = list(islice(best_paths(links, ends.sources, ends.targets, metric), k))
            equally_good = count_best(links, ends.sources, ends.targets, metric)
            return PathAnswer(
                metric=metric,
                source=ends.source.address,
                target=ends.target.address,
                reachable=bool(found),
                equally_good=equally_good,
                reason=None if found else _unreachable(ends),
                paths=tuple(_path(ends.wiring, path) for path in found),
                definition=_PATH[metric] + ends.over,
                facts=evidence.of_wiring(
                    reader.connection,
                    [nodes[node] for path in found for node in path],
                    (links[a][b] for path in found for a, b in pairwise(path)),
                ),
                truncated=equally_good > len(found),
            )

    def _known_path(self, source: Address, target: Address, metric: Metric) -> PathAnswer | None:
        if (found := self._express.path(source, target, metric)) is None:
            return None
        path, equally_good, facts = found
        return PathAnswer(
            metric=metric,
            source=str(source),
            target=str(target),
            reachable=True,
            equally_good=equally_good,
            reason=None,
            paths=(path,),
            definition=_PATH[metric] + _ACROSS,
            facts=facts,
            truncated=equally_good > 1,
        )

    def bandwidth(self, source: str, target: str) -> BandwidthAnswer:
        """Widest path, maximum flow and minimum cut between two places.

        Raises
        ------
        SamePlaceError
            One place holds chips of the other.

        """
        from trninv.routing.flow import minimum_cut  # noqa: PLC0415 # networkx is slow to import, a path does without
        from trninv.routing.graph import cut_links  # noqa: PLC0415

        with self._wirings.reading() as reader:
            ends = _ends(reader, source, target)
            if ends.sources & ends.targets:
                raise SamePlaceError(f"{source} and {target} share chips: bandwidth is between two separate places")
            wiring = ends.wiring
            flow, side = minimum_cut(wiring.graph, ends.sources, ends.targets)
            widest = next(best_paths(wiring.links, ends.sources, ends.targets, Metric.BANDWIDTH), None)
            return BandwidthAnswer(
                source=ends.source.address,
                target=ends.target.address,
                widest=_path(wiring, widest) if widest else None,
                maximum_flow=Bandwidth(flow),
                minimum_cut=cut_links(wiring.graph, side),
                definition=_BANDWIDTH + ends.over,
                facts=evidence.of_wiring(reader.connection, wiring.nodes.values(), (of for _, _, of in wiring.edges())),
            )

    def memory_pool(self, of: str, max_hops: int | None = None, min_bandwidth: int | str | None = None) -> PoolAnswer:
        """Memory within reach of a place.

        Parameters
        ----------
        max_hops
            Chips further away are left out.
        min_bandwidth
            Chips whose widest path carries less are left out: bytes per second, one direction, or "64 GB/s".

        """
        from trninv.routing import pool  # noqa: PLC0415 # networkx is slow to import, a path does without

        least = Bandwidth.parse(min_bandwidth) if isinstance(min_bandwidth, str) else min_bandwidth or 0
        if (max_hops is not None and max_hops < 0) or least < 0:
            raise LimitError("hops and bandwidth of a pool are 0 or more")
        with self._wirings.reading() as reader:
            connection = reader.connection
            place = resolve(connection, of)
            chips = frozenset(connection.scalars(chips_of(place)))
            wiring = reader.load(domains_of(connection, chips))
            own = sorted(chips & wiring.nodes.keys())
            by_hops = pool.rings(wiring.graph, own, max_hops, least)
            links = evidence.of_wiring(connection, wiring.nodes.values(), (of for _, _, of in wiring.edges()))
            return PoolAnswer(
                of=place.address,
                chips=len(own) + sum(ring.chips for ring in by_hops),
                own=pool.memory(wiring.graph, own),
                remote=Capacity(sum(ring.memory for ring in by_hops)),
                by_hops=by_hops,
                definition=_POOL,
                facts=links + evidence.of_memory(connection, chips),
            )

    def bisection(self, scope: str, chips: Sequence[str] | str = ()) -> BisectionAnswer:
        """Bisection bandwidth of a scope, or of the chips named within it, with the cut that shows it."""
        from trninv.routing import halves  # noqa: PLC0415 # numpy is slow to import and only needed here

        with reading(self.engine) as connection:
            place = resolve(connection, scope)
            if place.level == "cluster" and not chips:
                domains, members = domains_in(connection, place), None
            else:
                members = frozenset(connection.scalars(chips_of(place)))
                if chips:
                    members = _named(connection, _listed(chips), members, place)
                domains = domains_of(connection, members)
            if len(domains) > 1:
                return halves.of_cluster(connection, place, domains, members)
            if members is None:
                members = frozenset(connection.scalars(chips_of(place)))
            return halves.of_domain(connection, place, domains, members)

    def graph(self, scope: str) -> "Graph":
        """The wiring of a scope as a networkx graph, for notebooks: nodes are addresses, NICs included.

        Returns
        -------
        Nodes have ``kind``, ``rack``, ``server``, ``memory`` (bytes) and ``position`` (torus coordinates); edges
        ``bandwidth`` (bytes per second, one direction), ``model`` and ``technology``. What is down is left out.

        """
        from trninv.routing.graph import Graph  # noqa: PLC0415 # networkx is slow to import, a path does without

        with reading(self.engine) as connection:
            chips = set(connection.scalars(chips_of(resolve(connection, scope))))
            domains = domains_of(connection, chips)
            wiring = load(connection, domains, nics=True, fabric=len(domains) > 1).graph
        beside = {near for chip in chips if chip in wiring for near in wiring[chip]}
        kind = {node: of["kind"] for node, of in wiring.nodes(data=True)}
        fabric = {node for node in wiring if kind[node] == "network_node"}
        kept = wiring.subgraph(chips | fabric | {near for near in beside if kind[near] != "chip"})
        named = Graph()
        for _, node in kept.nodes(data=True):
            named.add_node(
                node["address"],
                **{key: node[key] for key in ("kind", "rack", "server", "memory", "position")},
            )
        for a, b, edge in kept.edges(data=True):
            ends = kept.nodes[a]["address"], kept.nodes[b]["address"]
            named.add_edge(*ends, bandwidth=edge["capacity"], model=edge["model"], technology=edge["technology"])
        return named


def _listed(addresses: Sequence[str] | str) -> Sequence[str]:
    listed = [addresses] if isinstance(addresses, str) else list(dict.fromkeys(addresses))
    if len(listed) > MAX_ADDRESSES:
        raise LimitError(f"{len(listed):,} addresses: name at most {MAX_ADDRESSES}")
    return listed


def _ends(reader: Reader, source: str, target: str, avoid: Iterable[str] = ()) -> _Ends:
    connection = reader.connection
    one, other = resolve(connection, source), resolve(connection, target)
    sources, targets = (_endpoints(connection, place) for place in (one, other))
    domains = domains_of(connection, sources | targets)
    wiring = reader.load(domains, fabric=len(domains) > 1)
    if avoid:
        wiring = wiring.without(*_avoided(connection, avoid))
    return _Ends(one, other, sources, targets, wiring, _ACROSS if len(domains) > 1 else _WITHIN)


def _unreachable(ends: _Ends) -> str:
    for place, nodes in ((ends.source, ends.sources), (ends.target, ends.targets)):
        if nodes.isdisjoint(ends.wiring.nodes):
            return f"nothing of {place.address} is up and not avoided"
    return "no links that are up join them"


def _endpoints(connection: Connection, place: Place) -> frozenset[int]:
    if place.level == "switch":
        return frozenset([place.id])
    if place.level in ("nic", "network_node", "cluster"):
        level = place.level.replace("_", " ")
        raise WrongLevelError(f"{place.address} is a {level}: name a chip, core, server, rack, domain or switch")
    return frozenset(connection.scalars(chips_of(place)))


def _avoided(connection: Connection, addresses: Iterable[str]) -> tuple[set[int], set[int]]:
    nodes: set[int] = set()
    links: set[int] = set()
    for address in addresses:
        if "--" in address:
            links.add(resolve_link(connection, address).id)
        else:
            place = resolve(connection, address)
            nodes |= (
                {place.id}
                if place.level in ("switch", "nic", "network_node")
                else set(connection.scalars(chips_of(place)))
            )
    return nodes, links


def _named(connection: Connection, chips: Sequence[str], members: frozenset[int], scope: Place) -> frozenset[int]:
    named: set[int] = set()
    for address in chips:
        wanted = set(connection.scalars(chips_of(resolve(connection, address))))
        if not wanted <= members:
            raise WrongLevelError(f"{address} is not within {scope.address}")
        named |= wanted
    return frozenset(named)


def _path(wiring: Wiring, path: NodePath) -> Path:
    named = [(wiring.nodes[node]["kind"], wiring.nodes[node]["address"]) for node in path]
    return Path.of(named, [link_ref(wiring.nodes, wiring.links, a, b) for a, b in pairwise(path)])
