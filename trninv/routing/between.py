"""Answers about two places: paths, and what flows."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from math import ceil

from sqlalchemy import Connection

from trninv.errors import SamePlaceError, UnknownFactError, WrongLevelError
from trninv.inventory.address import Place, chips_of, resolve
from trninv.routing import evidence
from trninv.routing.paths import NodePath, Rule, Ways, best_paths, disjoint, equally_good, time_of
from trninv.routing.results import BandwidthAnswer, LinkShare, Metric, Path, PathAnswer, Shape
from trninv.routing.scenario import Changes
from trninv.routing.wiring import Reader, Wiring, domains_of, link_ref
from trninv.units import Bandwidth, Duration

PATH = {
    Metric.HOPS: "fewest links travelled (chip-switch-chip is two), ties by address; bandwidth of one direction",
    Metric.BANDWIDTH: "widest narrowest link, then fewest links, ties by address; bandwidth of one direction",
    Metric.TIME: "least latency of its links + bytes / narrowest link, then fewest links, ties by address; one message "
    "alone on the wiring; bandwidth of one direction",
}
DISJOINT = (Shape.LINK_DISJOINT, Shape.NODE_DISJOINT)
_SHAPED = {
    Shape.BEST: "",
    Shape.ALL: "; a link's share is what equal-cost multipath sends over it, each node splitting evenly",
    Shape.LINK_DISJOINT: "; no two paths share a link, their lengths together are least",
    Shape.NODE_DISJOINT: "; no two paths share a node but their ends, their lengths together are least",
}
ACROSS = "; over scale-up links and the EFA fabric, through no third domain"
_BANDWIDTH = "all paths together, one direction; the cut's links sum to the flow, which proves both"
_WITHIN = "; over scale-up links"
_WIDEST = Rule(Metric.BANDWIDTH)


@dataclass(frozen=True, slots=True)
class Ends:
    """Two places, their chips, and the wiring of the domains they touch."""

    source: Place
    target: Place
    sources: frozenset[int]
    targets: frozenset[int]
    wiring: Wiring
    over: str

    @classmethod
    def of(cls, reader: Reader, source: str, target: str, avoid: Iterable[str] = ()) -> "Ends":
        connection = reader.connection
        one, other = resolve(connection, source), resolve(connection, target)
        sources, targets = (_endpoints(connection, place) for place in (one, other))
        domains = domains_of(connection, sources | targets)
        wiring = reader.load(domains, fabric=len(domains) > 1)
        if avoid:
            avoided = Changes()
            for address in avoid:
                avoided.add(connection, address, 0)
            wiring = wiring.changed(avoided)
        return cls(one, other, sources, targets, wiring, ACROSS if len(domains) > 1 else _WITHIN)

    @property
    def unreachable(self) -> str:
        """Why there is no path."""
        for place, nodes in ((self.source, self.sources), (self.target, self.targets)):
            if nodes.isdisjoint(self.wiring.nodes):
                return f"nothing of {place.address} is up and not avoided"
        return "no links that are up join them"


def path_answer(  # one parameter of the question each
    reader: Reader, source: str, target: str, rule: Rule, k: int, avoid: Sequence[str], shape: Shape
) -> PathAnswer:
    """The k best paths; of shape ALL the graph of all best ones beside; of `DISJOINT` ones all for k = 1."""
    ends = Ends.of(reader, source, target, avoid)
    nodes, links = ends.wiring.nodes, ends.wiring.links
    if rule.metric is Metric.TIME:
        _need_latencies(ends.wiring)
    places = links, ends.sources, ends.targets
    if shape in DISJOINT:
        if ends.sources & ends.targets:
            raise SamePlaceError(f"{source} and {target} share chips: disjoint paths are between two separate places")
        found = disjoint(*places, nodes=shape is Shape.NODE_DISJOINT, most=k if k > 1 else len(links))
    else:
        found = list(islice(best_paths(*places, rule), k))
    ways = equally_good(*places, rule)
    count = ways.count if ways else 0
    travelled = (links[a][b] for path in found for a, b in pairwise(path))
    visited = [nodes[node] for path in found for node in path]
    return PathAnswer(
        metric=rule.metric,
        source=ends.source.address,
        target=ends.target.address,
        reachable=bool(found),
        equally_good=count,
        reason=None if found else ends.unreachable,
        paths=tuple(named(ends.wiring, path, rule) for path in found),
        links=tuple(_shares(ends.wiring, ways)) if ways and shape is Shape.ALL else (),
        definition=PATH[rule.metric] + _SHAPED[shape] + ends.over,
        facts=evidence.of_wiring(reader.connection, visited, travelled)
        + (evidence.of_latency(reader.connection) if rule.metric is Metric.TIME else ()),
        truncated=shape in (Shape.BEST, Shape.ALL) and count > len(found),
    )


def _shares(wiring: Wiring, ways: Ways) -> Iterator[LinkShare]:
    for (a, b), count in sorted(ways.through.items()):
        link = link_ref(wiring.nodes, wiring.links, a, b)
        source, target = (str(wiring.nodes[end]["address"]) for end in (a, b))
        yield LinkShare(link, source, target, count, float(ways.share[a, b]))


def _need_latencies(wiring: Wiring) -> None:
    for _, _, of in wiring.edges():
        if of["latency"] is None:
            raise UnknownFactError(f"no fact in the database gives the latency of {of['technology']}: run trninv seed")


def bandwidth_answer(reader: Reader, source: str, target: str) -> BandwidthAnswer:
    """Widest path, maximum flow, minimum cut."""
    from trninv.routing.flow import minimum_cut  # noqa: PLC0415 # networkx is slow to import, and a path does without
    from trninv.routing.graph import cut_links  # noqa: PLC0415

    ends = Ends.of(reader, source, target)
    if ends.sources & ends.targets:
        raise SamePlaceError(f"{source} and {target} share chips: bandwidth is between two separate places")
    wiring = ends.wiring
    flow, side = minimum_cut(wiring.graph, ends.sources, ends.targets)
    widest = next(best_paths(wiring.links, ends.sources, ends.targets, _WIDEST), None)
    return BandwidthAnswer(
        source=ends.source.address,
        target=ends.target.address,
        widest=named(wiring, widest, _WIDEST) if widest else None,
        maximum_flow=Bandwidth(flow),
        minimum_cut=cut_links(wiring.graph, side),
        definition=_BANDWIDTH + ends.over,
        facts=evidence.of_wiring(reader.connection, wiring.nodes.values(), (of for _, _, of in wiring.edges())),
    )


def named(wiring: Wiring, path: NodePath, rule: Rule) -> Path:
    """A path of node ids by addresses."""
    steps = [(wiring.nodes[node]["kind"], wiring.nodes[node]["address"]) for node in path]
    taken = Duration(ceil(time_of(wiring.links, path, rule.message))) if rule.metric is Metric.TIME else None
    return Path.of(steps, [link_ref(wiring.nodes, wiring.links, a, b) for a, b in pairwise(path)], taken)


def _endpoints(connection: Connection, place: Place) -> frozenset[int]:
    if place.level == "switch":
        return frozenset([place.id])
    if place.level in ("nic", "network_node", "cluster"):
        level = place.level.replace("_", " ")
        raise WrongLevelError(f"{place.address} is a {level}: name a chip, core, server, rack, domain or switch")
    return frozenset(connection.scalars(chips_of(place)))
