"""Where a job fits: the fewest chips around a place that hold so much memory, and the best place for them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from trninv.errors import UnknownAddressError
from trninv.inventory.address import Place, chips_of, resolve
from trninv.routing import evidence, pool
from trninv.routing.cluster import kinds_of
from trninv.routing.graph import Graph
from trninv.routing.scope import Scope
from trninv.routing.surveys import PlacementAnswer
from trninv.routing.wiring import MAX_DOMAINS, Reader, Wiring, domains_of
from trninv.units import Bandwidth, Capacity

_PLACEMENT = (
    "the fewest healthy chips, nearest first over scale-up links (no EFA), that hold so much; widest path to each and "
    "what they deliver at once into the place, one direction"
)


def placement_answer(reader: Reader, of: str, wanted: int, *, best: bool) -> PlacementAnswer:
    """The fewest chips that hold so many bytes around a place, or around the best chip of a scope.

    Best is the chip with the nearest such chips (least radius, then least sum of hops), then the widest paths, then the
    fastest delivery; ties by address. Of a cluster one domain of each kind is tried, MAX_DOMAINS kinds at most, and of
    ties the kind of most domains is taken.
    """
    connection = reader.connection
    place = resolve(connection, of)
    found: list[_Placed] = []
    for wiring, own in _starts(reader, place, best=best):
        found.append(_Placed.of(wiring.graph, own, wanted))
    nearest = min((placed.rank for placed in found), default=None)
    if nearest is None:
        raise UnknownAddressError(f"nothing of {place.address} is up")
    chosen = max((placed for placed in found if placed.rank == nearest), key=lambda placed: placed.delivery)
    name = {node: chosen.graph.nodes[node]["address"] for node in (*chosen.own, *chosen.others)}
    models = evidence.of_wiring(connection, chosen.graph.nodes.values(), chosen.graph.edges.values())
    return PlacementAnswer(
        place=name[chosen.own[0]] if best else place.address,
        wanted=Capacity(wanted),
        memory=chosen.memory,
        chips=tuple(name.values()),
        radius=chosen.radius,
        narrowest=Bandwidth(chosen.narrowest) if chosen.others else None,
        delivery=Bandwidth(chosen.delivery),
        enough=chosen.memory >= wanted,
        tried=len(found),
        definition=_PLACEMENT,
        facts=models + evidence.of_memory(connection, chosen.own),
    )


def _starts(reader: Reader, place: Place, *, best: bool) -> Iterator[tuple[Wiring, list[int]]]:
    """The places that are compared: each healthy chip of a scope, or the place itself."""
    if place.level == "cluster" and best:
        kinds = kinds_of(reader, Scope.of(reader, place.address))
        domains = [kind.domains[0] for kind in sorted(kinds, key=lambda kind: -len(kind.domains))][:MAX_DOMAINS]
        chips = None
    else:
        chips = frozenset(reader.connection.scalars(chips_of(place)))
        domains = domains_of(reader.connection, chips)
    for wiring in [reader.load([domain]) for domain in domains] if best else [reader.load(domains)]:
        up = [node for node, of in wiring.nodes.items() if of["kind"] == "chip" and (chips is None or node in chips)]
        yield from ((wiring, [chip]) for chip in sorted(up)) if best else [(wiring, sorted(up))] if up else []


@dataclass(frozen=True)
class _Placed:
    """Own chips and the nearest others that together hold enough, if there are as many."""

    graph: Graph
    own: list[int]
    others: list[int]
    hops: dict[int, int]
    widest: dict[int, int]
    wanted: int

    @classmethod
    def of(cls, graph: Graph, own: list[int], wanted: int) -> "_Placed":
        hops, widest = pool.hops_from(graph, own), pool.widest_from(graph, own)
        near = sorted(
            (node for node in hops.keys() - set(own) if graph.nodes[node]["kind"] == "chip"),
            key=lambda node: (hops[node], -widest[node], node),
        )
        held, others = int(pool.memory(graph, own)), list[int]()
        for node in near:
            if held >= wanted:
                break
            others.append(node)
            held += graph.nodes[node]["memory"]
        return cls(graph, own, others, hops, widest, wanted)

    @property
    def memory(self) -> Capacity:
        return pool.memory(self.graph, [*self.own, *self.others])

    @property
    def radius(self) -> int:
        return max((self.hops[node] for node in self.others), default=0)

    @property
    def narrowest(self) -> int:
        return min((self.widest[node] for node in self.others), default=0)

    @cached_property
    def rank(self) -> tuple[int, int, int, int]:
        """Less is better: memory that is lacking counts first."""
        walked = sum(self.hops[node] for node in self.others)
        return -min(self.memory, self.wanted), self.radius, walked, -self.narrowest

    @cached_property
    def delivery(self) -> int:
        return pool.delivery(self.graph, self.others, self.own)
