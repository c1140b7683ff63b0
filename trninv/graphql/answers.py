"""Types of the routing answers; their fields are read from the frozen values of trninv.routing.results."""

from typing import Any

import strawberry

from trninv.graphql.context import AppInfo, Below
from trninv.graphql.lazy import lazy, lazy_list
from trninv.graphql.scalars import Address, Bandwidth, BigInt, Capacity, Duration
from trninv.graphql.types import listed, made
from trninv.inventory.kinds import KINDS
from trninv.routing import results, surveys

strawberry.enum(results.Metric, name="PathMetric", description="What makes a path good.")
strawberry.enum(results.Shape, name="PathShape", description="Which paths.")
strawberry.enum(results.Balance, name="Balance", description="What a bisection halves.")


async def _links(info: AppInfo, found: tuple[results.LinkRef, ...]) -> list[Any]:
    return [made("link", await info.context.row("link", link.id)) for link in found]


@strawberry.type(
    description="What a scenario changes in an answer: scenario less baseline, null where that says nothing."
)
class Difference:
    hops: int | None = strawberry.field(description="Of the best path.")
    bytes_per_second: BigInt | None = strawberry.field(description="Of path, flow or bisection; one direction.")
    chips: int | None = strawberry.field(description="Of a memory pool.")
    bytes: BigInt | None = strawberry.field(description="Of a memory pool.")

    @strawberry.field(description="10⁹ bytes per second, one direction.")
    def gigabytes_per_second(parent: strawberry.Parent[results.Difference]) -> float | None:
        return None if parent.bytes_per_second is None else parent.bytes_per_second / 10**9


@strawberry.type
class Answer:
    definition: str = strawberry.field(description="The quantity in words, with its direction.")
    truncated: bool = strawberry.field(description="Whether anything was cut off at a limit.")
    disputed: bool = strawberry.field(description="Whether a fact that it rests on is disputed.")
    assumed: bool = strawberry.field(description="Whether a fact that it rests on is said by no document.")
    difference: Difference | None = strawberry.field(description="What whatIf changes; null outside of it.")

    @strawberry.field(description="What it rests on.", graphql_type=lazy_list("Fact"))
    async def facts(parent: strawberry.Parent[results.Answer], info: AppInfo) -> list[Any]:
        return [made("fact", await info.context.row("fact", fact.id)) for fact in parent.facts]


@strawberry.type(description="A node of a path, or the link to the next one.")
class PathStep:
    kind: str = strawberry.field(description="chip, switch, nic, network_node or link.")
    address: Address = strawberry.field(description="Its address.")
    bandwidth: Bandwidth | None = strawberry.field(description="Of a link, one direction.")


@strawberry.type(description="A way from one place to another.")
class Path:
    hops: int = strawberry.field(description="Links travelled: chip, switch, chip is two.")
    bandwidth: Bandwidth | None = strawberry.field(
        description="Of its narrowest link, one direction; null without links."
    )
    steps: list[PathStep] = strawberry.field(description="Node, link, node, … in order.")
    time: Duration | None = strawberry.field(description="What the message takes, by TIME.")

    @strawberry.field(description="All links as narrow as the narrowest.", graphql_type=lazy_list("Link"))
    async def bottlenecks(parent: strawberry.Parent[results.Path], info: AppInfo) -> list[Any]:
        return await _links(info, parent.bottlenecks)


@strawberry.type(description="A link of the best paths, in the direction travelled.")
class LinkShare:
    source: Address = strawberry.field(description="From.")
    target: Address = strawberry.field(description="To.")
    paths: int = strawberry.field(description="How many of the best paths take it.")
    share: float = strawberry.field(description="Its part of the traffic under equal-cost multipath.")

    @strawberry.field(description="The link.", graphql_type=lazy("Link"))
    async def link(parent: strawberry.Parent[results.LinkShare], info: AppInfo) -> Any:  # noqa: ANN401
        return (await _links(info, (parent.link,)))[0]


@strawberry.type(description="The best paths between two places.")
class PathAnswer(Answer):
    metric: results.Metric = strawberry.field(description="What they are ordered by.")
    source: Address = strawberry.field(description="Where they begin.")
    target: Address = strawberry.field(description="Where they end.")
    reachable: bool = strawberry.field(description="Whether there is any.")
    equally_good: int = strawberry.field(description="How many paths are as good as the first.")
    reason: str | None = strawberry.field(description="Why there is none, where there is none.")
    paths: list[Path] = strawberry.field(description="The best first; equally good ones by address.")
    links: list[LinkShare] = strawberry.field(description="Of shape ALL, the graph of all best paths.")
    baseline: "PathAnswer | None" = strawberry.field(description="The answer without whatIf.")


@strawberry.type(description="What flows between two places.")
class BandwidthAnswer(Answer):
    source: Address = strawberry.field(description="From where.")
    target: Address = strawberry.field(description="To where.")
    widest: Path | None = strawberry.field(description="The widest single path.")
    maximum_flow: Bandwidth = strawberry.field(description="All paths together, one direction.")
    both_directions: Bandwidth = strawberry.field(description="Twice the maximum flow.")
    baseline: "BandwidthAnswer | None" = strawberry.field(description="The answer without whatIf.")

    @strawberry.field(
        description="Links whose capacities sum to the maximum flow and whose loss parts the places.",
        graphql_type=lazy_list("Link"),
    )
    async def minimum_cut(parent: strawberry.Parent[results.BandwidthAnswer], info: AppInfo) -> list[Any]:
        return await _links(info, parent.minimum_cut)


@strawberry.type(description="A chip within reach.")
class ReachedChip:
    address: Address = strawberry.field(description="Its address.")
    memory: Capacity = strawberry.field(description="Its HBM.")
    widest: Bandwidth = strawberry.field(description="Of the widest path from it, one direction.")


@strawberry.type(description="The chips at one distance.")
class PoolRing:
    hops: int = strawberry.field(description="Links to each of them.")
    chips: int = strawberry.field(description="How many.")
    memory: Capacity = strawberry.field(description="Their HBM together.")
    delivery: Bandwidth = strawberry.field(description="What they can send at once into the asking place.")
    reached: list[ReachedChip] = strawberry.field(description="Each of them.")


@strawberry.type(description="Memory that a place can reach over scale-up links.")
class PoolAnswer(Answer):
    of: Address = strawberry.field(description="The asking place.")
    chips: int = strawberry.field(description="Chips in reach, its own among them.")
    memory: Capacity = strawberry.field(description="All memory in reach.")
    own: Capacity = strawberry.field(description="Its own.")
    remote: Capacity = strawberry.field(description="Of other chips.")
    by_hops: list[PoolRing] = strawberry.field(description="The other chips by distance.")
    baseline: "PoolAnswer | None" = strawberry.field(description="The answer without whatIf.")


@strawberry.type(description="Proven bounds, one direction.")
class Bounds:
    lower: Bandwidth = strawberry.field(description="No less.")
    upper: Bandwidth = strawberry.field(description="No more.")
    exact: bool = strawberry.field(description="Whether they are equal.")


@strawberry.type(description="The least capacity between two halves of a scope's chips.")
class BisectionAnswer(Answer):
    of: Address = strawberry.field(description="The scope.")
    lower: Bandwidth = strawberry.field(description="Proven: no less, one direction.")
    upper: Bandwidth = strawberry.field(description="Proven: no more, one direction.")
    both_directions: Bandwidth = strawberry.field(description="Twice the upper bound.")
    exact: bool = strawberry.field(description="Whether lower and upper are equal.")
    method: str = strawberry.field(description="How it was found, and why that is a proof.")
    balance: results.Balance = strawberry.field(description="What is halved.")
    side_a: int = strawberry.field(description="Chips on one side.")
    side_b: int = strawberry.field(description="Chips on the other.")
    chips_a: list[Address] = strawberry.field(description="Those on one side; whole domains stand for their chips.")
    chips_b: list[Address] = strawberry.field(description="Those on the other; whole domains stand for their chips.")
    nominal: Bounds | None = strawberry.field(description="With failed chips as fillers; null where none has failed.")
    baseline: "BisectionAnswer | None" = strawberry.field(description="The answer without whatIf.")

    cut = listed(
        KINDS["link"],
        lambda info, parent: Below(
            info.context, KINDS["link"], tuple(sorted(link.id for link in parent.cut)), size=parent.cut_size
        ),
        "Links that are cut, in a cluster the first 1,000; all sum to upper.",
    )


@strawberry.type(description="What parts so many chips from the others, one direction.")
class SplitCost:
    chips: int = strawberry.field(description="How many.")
    lower: Bandwidth = strawberry.field(description="Proven: no less.")
    upper: Bandwidth = strawberry.field(description="Proven: no more.")
    exact: bool = strawberry.field(description="Whether they are equal.")


@strawberry.type(description="How well a job of some of a scope's chips is connected to the rest.")
class ProfileAnswer(Answer):
    of: Address = strawberry.field(description="The scope.")
    chips: int = strawberry.field(description="Its healthy chips.")
    splits: list[SplitCost] = strawberry.field(description="For 1, 2, … up to half of them.")
    baseline: "ProfileAnswer | None" = strawberry.field(description="The answer without whatIf.")


@strawberry.type(description="Pairs of chips that are so many hops apart.")
class HopCount:
    hops: int = strawberry.field(description="Links of a shortest path.")
    pairs: BigInt = strawberry.field(description="How many pairs.")


@strawberry.type(description="Hops between the pairs of a scope's healthy chips.")
class DistanceAnswer(Answer):
    of: Address = strawberry.field(description="The scope.")
    chips: int = strawberry.field(description="Its healthy chips.")
    pairs: BigInt = strawberry.field(description="All pairs.")
    unreachable: BigInt = strawberry.field(description="Pairs that nothing joins.")
    diameter: int | None = strawberry.field(description="Most hops of a pair that is joined.")
    mean: float | None = strawberry.field(description="Mean hops of the pairs that are joined.")
    baseline: "DistanceAnswer | None" = strawberry.field(description="The answer without whatIf.")

    @strawberry.field(description="The distribution.")
    def by_hops(parent: strawberry.Parent[surveys.DistanceAnswer]) -> list[HopCount]:
        return [HopCount(hops=hops, pairs=BigInt(pairs)) for hops, pairs in parent.by_hops]


@strawberry.type(description="An edge of a Gomory-Hu tree.")
class TreeEdge:
    a: Address = strawberry.field(description="One end.")
    b: Address = strawberry.field(description="The other.")
    flow: Bandwidth = strawberry.field(description="Maximum flow of the two.")


@strawberry.type(description="Maximum flows of all pairs: each is the least edge on the tree's way between the two.")
class CutTreeAnswer(Answer):
    of: Address = strawberry.field(description="The scope.")
    a: Address | None = strawberry.field(description="One of the worst connected pair; null of fewer than two chips.")
    b: Address | None = strawberry.field(description="The other.")
    worst: Bandwidth = strawberry.field(description="Their maximum flow.")
    cut_off: list[Address] = strawberry.field(description="Chips on the smaller side of their minimum cut.")
    tree: list[TreeEdge] = strawberry.field(description="The tree, switches included.")
    baseline: "CutTreeAnswer | None" = strawberry.field(description="The answer without whatIf.")

    @strawberry.field(description="Their minimum cut.", graphql_type=lazy_list("Link"))
    async def cut(parent: strawberry.Parent[surveys.CutTreeAnswer], info: AppInfo) -> list[Any]:
        return await _links(info, parent.cut)


@strawberry.type(description="What the wiring allows a collective of each chip at most, one direction.")
class Limit:
    lower: Bandwidth = strawberry.field(description="Proven: this can be reached.")
    upper: Bandwidth = strawberry.field(description="Proven: no more.")
    exact: bool = strawberry.field(description="Whether they agree to nine digits.")
    method: str = strawberry.field(description="Why they hold.")

    @strawberry.field(description="Links that allow no more.", graphql_type=lazy_list("Link"))
    async def links(parent: strawberry.Parent[surveys.Limit], info: AppInfo) -> list[Any]:
        return await _links(info, parent.links)


@strawberry.type(description="Limits that the wiring sets to collectives; not predictions of a library.")
class CollectivesAnswer(Answer):
    of: Address = strawberry.field(description="The scope.")
    chips: int = strawberry.field(description="Its healthy chips.")
    all_to_all: Limit = strawberry.field(description="What each chip sends to all the others together.")
    all_gather: Limit = strawberry.field(description="Bus bandwidth.")
    reduce_scatter: Limit = strawberry.field(description="Bus bandwidth.")
    all_reduce: Limit = strawberry.field(description="Bus bandwidth.")
    all_reduce_algorithm: Limit = strawberry.field(description="Size of the data over the time.")
    ring_all_reduce: Limit | None = strawberry.field(description="Bus bandwidth on rings; null where none was found.")
    baseline: "CollectivesAnswer | None" = strawberry.field(description="The answer without whatIf.")


@strawberry.type(description="The fewest, nearest chips that hold so much memory.")
class PlacementAnswer(Answer):
    place: Address = strawberry.field(description="What they are nearest to.")
    wanted: Capacity = strawberry.field(description="Memory asked for.")
    memory: Capacity = strawberry.field(description="Memory they hold.")
    chips: list[Address] = strawberry.field(description="Nearest first.")
    radius: int = strawberry.field(description="Hops to the farthest.")
    narrowest: Bandwidth | None = strawberry.field(description="Least of the widest paths to them.")
    delivery: Bandwidth = strawberry.field(description="What the others deliver at once into the place.")
    enough: bool = strawberry.field(description="Whether they hold as much as was asked for.")
    tried: int = strawberry.field(description="Places compared.")
    baseline: "PlacementAnswer | None" = strawberry.field(description="The answer without whatIf.")
