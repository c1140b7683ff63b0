"""Relay connections: pages in either direction by keyset cursors; what is not asked for is not counted."""

from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, Generic, TypeVar

import strawberry

from trninv.graphql.arguments import Asked
from trninv.graphql.context import Below
from trninv.graphql.rows import Row, check_groups
from trninv.graphql.scalars import Bandwidth, Capacity
from trninv.units import Bandwidth as Rate
from trninv.units import Capacity as Size
from trninv.units import Compute as Operations

T = TypeVar("T")


@strawberry.enum(description="What aggregates are grouped by.")
class GroupBy(Enum):
    GENERATION = "generation"
    MODEL = "model"
    STATE = "state"
    CLUSTER = "cluster"


@strawberry.enum(description="A kind of operation.")
class ComputeType(Enum):
    MXFP8 = "mxfp8"
    FP8 = "fp8"
    BF16 = "bf16"
    FP32 = "fp32"
    SPARSE = "sparse"
    INT8 = "int8"


@strawberry.enum(description="Which way an order goes.")
class Direction(Enum):
    ASC = "ASC"
    DESC = "DESC"


@strawberry.type(description="Counts and sums of things that have something in common.")
class Aggregate:
    row: strawberry.Private[Row]

    @strawberry.field(description="trn1, trn2 or trn3; null unless grouped by it.")
    def generation(self) -> str | None:
        return self._group("generation")

    @strawberry.field(description="Slug of their model; null unless grouped by it.")
    def model(self) -> str | None:
        return self._group("model")

    @strawberry.field(description="up, degraded, down or maintenance; null unless grouped by it.")
    def state(self) -> str | None:
        return self._group("state")

    @strawberry.field(description="Name of their cluster; null unless grouped by it.")
    def cluster(self) -> str | None:
        return self._group("cluster")

    @strawberry.field(description="How many.")
    def count(self) -> int:
        return int(self.row["count"])

    @strawberry.field(description="HBM of chips, host memory of servers; null of others.", graphql_type=Capacity | None)
    def memory(self) -> Size | None:
        total = self._sum("memory")
        return None if total is None else Size(total)

    @strawberry.field(
        description="Of chips their HBM's, of links and NICs their nominal one; one direction; null of others.",
        graphql_type=Bandwidth | None,
    )
    def bandwidth(self) -> Rate | None:
        total = self._sum("bandwidth")
        return None if total is None else Rate(total)

    @strawberry.field(description="10¹² operations per second of chips; null of others, and of a type that none has.")
    def teraflops(
        self,
        type: Annotated[ComputeType, strawberry.argument(description="Of which operations.")] = ComputeType.BF16,  # noqa: A002
    ) -> float | None:
        total = self._sum(type.value)
        return None if total is None else Operations(total) / 1000

    def _group(self, name: str) -> str | None:
        return self.row.get(f"group_{name}")

    def _sum(self, name: str) -> int | None:
        total = self.row.get(name)
        return None if total is None else int(total)


@strawberry.type(description="Where a page begins and ends.")
class PageInfo:
    has_next_page: bool = strawberry.field(description="Whether anything follows; of a page before a cursor, true.")
    has_previous_page: bool = strawberry.field(description="Whether anything precedes; of a page after a cursor, true.")
    start_cursor: str | None = strawberry.field(description="Cursor of the first item.")
    end_cursor: str | None = strawberry.field(description="Cursor of the last item: pass it as after.")


@strawberry.type(description="An item of a page, with its cursor.")
class Edge(Generic[T]):
    node: T = strawberry.field(description="The item.")
    cursor: str = strawberry.field(description="Where it stands.")


@strawberry.type(description="A page of a list.")
class Connection(Generic[T]):
    below: strawberry.Private[Below]
    asked: strawberry.Private[Asked]
    make: strawberry.Private[Callable[[Row], Any]]

    async def _page(self) -> list[Row]:
        """The page's rows in their order."""
        found = (await self.below.page(self.asked))[: self.asked.size]
        return found[::-1] if self.asked.looks.backwards else found

    @strawberry.field(description="The items with their cursors.")
    async def edges(self) -> list[Edge[T]]:
        return [Edge(node=self.make(row), cursor=row["cursor"]) for row in await self._page()]

    @strawberry.field(description="The items.")
    async def nodes(self) -> list[T]:
        return [self.make(row) for row in await self._page()]

    @strawberry.field(description="Where the page begins and ends.")
    async def page_info(self) -> PageInfo:
        page, looks = await self._page(), self.asked.looks
        more = len(await self.below.page(self.asked)) > self.asked.size
        return PageInfo(
            has_next_page=looks.before if looks.backwards else more,
            has_previous_page=more if looks.backwards else looks.after,
            start_cursor=page[0]["cursor"] if page else None,
            end_cursor=page[-1]["cursor"] if page else None,
        )

    @strawberry.field(description="Number of items on all pages.")
    async def total_count(self) -> int:
        return await self.below.count(self.asked)

    @strawberry.field(description="Counts and sums over all pages, group by group.")
    async def aggregates(self, by: list[GroupBy] | None = None) -> list[Aggregate]:
        names = check_groups(self.below.kind, (group.value for group in by or ()))
        return [Aggregate(row=row) for row in await self.below.sums(self.asked, names)]
