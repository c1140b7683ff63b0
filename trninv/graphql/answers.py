"""Types of the routing answers; their fields are read from the frozen values of trninv.routing.results."""

import strawberry

from trninv.graphql.connections import DEFAULT_PAGE, Connection, window
from trninv.graphql.facts import AppInfo, Fact
from trninv.graphql.inventory import After, First, Link
from trninv.graphql.scalars import Address, Bandwidth, Capacity
from trninv.routing import results

strawberry.enum(results.Metric, name="PathMetric", description="What makes a path good.")
strawberry.enum(results.Balance, name="Balance", description="What a bisection halves.")


async def _links(info: AppInfo, found: tuple[results.LinkRef, ...]) -> list[Link]:
    info.context.spend(found)
    return [Link(row=await info.context.row("link", link.id)) for link in found]


@strawberry.type
class Answer:
    definition: str = strawberry.field(description="The quantity in words, with its direction.")
    truncated: bool = strawberry.field(description="Whether anything was cut off at a limit.")
    disputed: bool = strawberry.field(description="Whether a fact that it rests on is disputed.")
    assumed: bool = strawberry.field(description="Whether a fact that it rests on is said by no document.")

    @strawberry.field(description="What it rests on.")
    async def facts(parent: strawberry.Parent[results.Answer], info: AppInfo) -> list[Fact]:
        info.context.spend(parent.facts)
        return [Fact(row=await info.context.model("fact", fact.id)) for fact in parent.facts]


@strawberry.type(description="A node of a path, or the link to the next one.")
class PathStep:
    kind: str = strawberry.field(description="chip, switch or link.")
    address: Address = strawberry.field(description="Its address.")
    bandwidth: Bandwidth | None = strawberry.field(description="Of a link, one direction.")


@strawberry.type(description="A way from one place to another.")
class Path:
    hops: int = strawberry.field(description="Links travelled: chip, switch, chip is two.")
    bandwidth: Bandwidth | None = strawberry.field(
        description="Of its narrowest link, one direction; null without links."
    )
    steps: list[PathStep] = strawberry.field(description="Node, link, node, … in order.")

    @strawberry.field(description="All links as narrow as the narrowest.")
    async def bottlenecks(parent: strawberry.Parent[results.Path], info: AppInfo) -> list[Link]:
        return await _links(info, parent.bottlenecks)


@strawberry.type(description="The best paths between two places.")
class PathAnswer(Answer):
    metric: results.Metric = strawberry.field(description="What they are ordered by.")
    source: Address = strawberry.field(description="Where they begin.")
    target: Address = strawberry.field(description="Where they end.")
    reachable: bool = strawberry.field(description="Whether there is any.")
    equally_good: int = strawberry.field(description="How many paths are as good as the first.")
    reason: str | None = strawberry.field(description="Why there is none, where there is none.")
    paths: list[Path] = strawberry.field(description="The best first; equally good ones by address.")


@strawberry.type(description="What flows between two places.")
class BandwidthAnswer(Answer):
    source: Address = strawberry.field(description="From where.")
    target: Address = strawberry.field(description="To where.")
    widest: Path | None = strawberry.field(description="The widest single path.")
    maximum_flow: Bandwidth = strawberry.field(description="All paths together, one direction.")
    both_directions: Bandwidth = strawberry.field(description="Twice the maximum flow.")

    @strawberry.field(description="Links whose capacities sum to the maximum flow and whose loss parts the places.")
    async def minimum_cut(parent: strawberry.Parent[results.BandwidthAnswer], info: AppInfo) -> list[Link]:
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

    @strawberry.field(description="Links that are cut, in a cluster the first 1,000; all sum to upper.")
    async def cut(
        parent: strawberry.Parent[results.BisectionAnswer],
        info: AppInfo,
        first: First = DEFAULT_PAGE,
        after: After = None,
    ) -> Connection[Link]:
        size, start = window(first, after)
        wanted = [link.id for link in parent.cut if link.id > start][: size + 1]
        rows = [await info.context.row("link", key) for key in wanted]

        async def count() -> int:
            return parent.cut_size

        return Connection.of(rows, lambda row: Link(row=row), size, start, count)
