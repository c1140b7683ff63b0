"""The routing questions, of the wiring as it is and of what it would be."""

from typing import Annotated

import strawberry

from trninv.graphql.answers import (
    BandwidthAnswer,
    BisectionAnswer,
    CollectivesAnswer,
    CutTreeAnswer,
    DistanceAnswer,
    PathAnswer,
    PlacementAnswer,
    PoolAnswer,
    ProfileAnswer,
)
from trninv.graphql.context import AppInfo
from trninv.graphql.scalars import Address, BandwidthInput, BigInt
from trninv.routing import results, surveys
from trninv.routing.fleet import Fleet

From = Annotated[Address, strawberry.argument(name="from", description="Chip, core, server, rack, domain or switch.")]
To = Annotated[Address, strawberry.argument(description="Chip, core, server, rack, domain or switch.")]
Of = Annotated[Address, strawberry.argument(description="Chip, core, server, rack, domain or cluster.")]
Within = Annotated[Address, strawberry.argument(description="Server, rack or domain, or what else lies in one domain.")]


@strawberry.input(description="A place or link, and the part of what it carries now that is left.")
class Derating:
    address: Address
    factor: float = strawberry.field(description="More than 0, less than 1.")


@strawberry.type
class Questions:
    @strawberry.field(description="How to get from one place to another.", graphql_type=PathAnswer)
    async def path(  # an argument each
        self,
        info: AppInfo,
        from_: From,
        to: To,
        by: results.Metric = results.Metric.HOPS,
        k: Annotated[int, strawberry.argument(description="How many paths, up to 100.")] = 1,
        avoid: Annotated[
            list[Address] | None, strawberry.argument(description="Places and links to stay clear of.")
        ] = None,
        message: Annotated[BigInt | None, strawberry.argument(description="Bytes to be sent, by TIME.")] = None,
        shape: Annotated[results.Shape, strawberry.argument(description="Which paths.")] = results.Shape.BEST,
    ) -> results.PathAnswer:
        ask = _fleet(self, info).path
        return await info.context.ask(
            lambda: ask(from_, to, by, k, avoid or (), message=int(message or 0), shape=shape)
        )

    @strawberry.field(description="What flows between two places.", graphql_type=BandwidthAnswer)
    async def bandwidth(self, info: AppInfo, from_: From, to: To) -> results.BandwidthAnswer:
        return await info.context.ask(_fleet(self, info).bandwidth, from_, to)

    @strawberry.field(description="How much memory a place can reach.", graphql_type=PoolAnswer)
    async def memory_pool(
        self,
        info: AppInfo,
        of: Of,
        max_hops: Annotated[int | None, strawberry.argument(description="Leave out chips further away.")] = None,
        min_bandwidth: Annotated[
            BandwidthInput | None,
            strawberry.argument(description="Leave out chips with a narrower widest path."),
        ] = None,
    ) -> results.PoolAnswer:
        least = min_bandwidth.exact() if min_bandwidth else None
        return await info.context.ask(_fleet(self, info).memory_pool, of, max_hops, least)

    @strawberry.field(description="The least capacity between two halves of a scope.", graphql_type=BisectionAnswer)
    async def bisection(
        self,
        info: AppInfo,
        of: Of,
        chips: Annotated[
            list[Address] | None, strawberry.argument(description="Only these chips of the scope.")
        ] = None,
        transit: Annotated[
            bool, strawberry.argument(description="Whether other healthy chips of their domains may forward.")
        ] = False,
    ) -> results.BisectionAnswer:
        ask = _fleet(self, info).bisection
        return await info.context.ask(lambda: ask(of, chips or (), transit=transit))

    @strawberry.field(
        description="For each i up to half of a scope's chips the least capacity that parts i from the others.",
        graphql_type=ProfileAnswer,
    )
    async def split_profile(self, info: AppInfo, of: Within) -> surveys.ProfileAnswer:
        return await info.context.ask(_fleet(self, info).profile, of)

    @strawberry.field(description="How many hops apart a scope's chips are.", graphql_type=DistanceAnswer)
    async def distances(self, info: AppInfo, of: Of) -> surveys.DistanceAnswer:
        return await info.context.ask(_fleet(self, info).distances, of)

    @strawberry.field(
        description="The Gomory-Hu tree of a scope: which pair of chips is worst connected.", graphql_type=CutTreeAnswer
    )
    async def cut_tree(self, info: AppInfo, of: Within) -> surveys.CutTreeAnswer:
        return await info.context.ask(_fleet(self, info).cut_tree, of)

    @strawberry.field(description="What the wiring allows collectives at most.", graphql_type=CollectivesAnswer)
    async def collectives(self, info: AppInfo, of: Of) -> surveys.CollectivesAnswer:
        return await info.context.ask(_fleet(self, info).collectives, of)

    @strawberry.field(description="The fewest, nearest chips that hold so much memory.", graphql_type=PlacementAnswer)
    async def placement(
        self,
        info: AppInfo,
        of: Of,
        bytes: Annotated[BigInt, strawberry.argument(description="How much.")],  # noqa: A002 # the unit is the name
        best: Annotated[
            bool, strawberry.argument(description="Around the best chip of the place; else around the place itself.")
        ] = True,
    ) -> surveys.PlacementAnswer:
        ask = _fleet(self, info).placement
        return await info.context.ask(lambda: ask(of, int(bytes), best=best))


@strawberry.type(description="What would be: answers have the unchanged wiring's as baseline, and the difference.")
class Scenario(Questions):
    fleet: strawberry.Private[Fleet]


def _fleet(asked: Questions | None, info: AppInfo) -> Fleet:
    """The root of a query is None, a scenario has a fleet of its own."""
    return asked.fleet if isinstance(asked, Scenario) else info.context.fleet
