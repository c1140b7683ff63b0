"""Answers about two places: paths, and what flows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from sqlalchemy import Connection

from trninv.errors import SamePlaceError, WrongLevelError
from trninv.inventory.address import Place, chips_of, resolve
from trninv.routing import evidence
from trninv.routing.paths import NodePath, best_paths, count_best
from trninv.routing.results import BandwidthAnswer, Metric, Path, PathAnswer
from trninv.routing.scenario import Changes
from trninv.routing.wiring import Reader, Wiring, domains_of, link_ref
from trninv.units import Bandwidth

PATH = {
    Metric.HOPS: "fewest links travelled (chip-switch-chip is two), ties by address; bandwidth of one direction",
    Metric.BANDWIDTH: "widest narrowest link, then fewest links, ties by address; bandwidth of one direction",
}
ACROSS = "; over scale-up links and the EFA fabric, through no third domain"
_BANDWIDTH = "all paths together, one direction; the cut's links sum to the flow, which proves both"
_WITHIN = "; over scale-up links"


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


def path_answer(reader: Reader, source: str, target: str, metric: Metric, k: int, avoid: Sequence[str]) -> PathAnswer:
    """The k best paths."""
    ends = Ends.of(reader, source, target, avoid)
    nodes, links = ends.wiring.nodes, ends.wiring.links
    found = list(islice(best_paths(links, ends.sources, ends.targets, metric), k))
    equally_good = count_best(links, ends.sources, ends.targets, metric)
    travelled = (links[a][b] for path in found for a, b in pairwise(path))
    return PathAnswer(
        metric=metric,
        source=ends.source.address,
        target=ends.target.address,
        reachable=bool(found),
        equally_good=equally_good,
        reason=None if found else ends.unreachable,
        paths=tuple(named(ends.wiring, path) for path in found),
        definition=PATH[metric] + ends.over,
        facts=evidence.of_wiring(reader.connection, [nodes[node] for path in found for node in path], travelled),
        truncated=equally_good > len(found),
    )


def bandwidth_answer(reader: Reader, source: str, target: str) -> BandwidthAnswer:
    """Widest path, maximum flow, minimum cut."""
    from trninv.routing.flow import minimum_cut  # noqa: PLC0415 # networkx is slow to import, and a path does without
    from trninv.routing.graph import cut_links  # noqa: PLC0415

    ends = Ends.of(reader, source, target)
    if ends.sources & ends.targets:
        raise SamePlaceError(f"{source} and {target} share chips: bandwidth is between two separate places")
    wiring = ends.wiring
    flow, side = minimum_cut(wiring.graph, ends.sources, ends.targets)
    widest = next(best_paths(wiring.links, ends.sources, ends.targets, Metric.BANDWIDTH), None)
    return BandwidthAnswer(
        source=ends.source.address,
        target=ends.target.address,
        widest=named(wiring, widest) if widest else None,
        maximum_flow=Bandwidth(flow),
        minimum_cut=cut_links(wiring.graph, side),
        definition=_BANDWIDTH + ends.over,
        facts=evidence.of_wiring(reader.connection, wiring.nodes.values(), (of for _, _, of in wiring.edges())),
    )


def named(wiring: Wiring, path: NodePath) -> Path:
    """A path of node ids by addresses."""
    steps = [(wiring.nodes[node]["kind"], wiring.nodes[node]["address"]) for node in path]
    return Path.of(steps, [link_ref(wiring.nodes, wiring.links, a, b) for a, b in pairwise(path)])


def _endpoints(connection: Connection, place: Place) -> frozenset[int]:
    if place.level == "switch":
        return frozenset([place.id])
    if place.level in ("nic", "network_node", "cluster"):
        level = place.level.replace("_", " ")
        raise WrongLevelError(f"{place.address} is a {level}: name a chip, core, server, rack, domain or switch")
    return frozenset(connection.scalars(chips_of(place)))
