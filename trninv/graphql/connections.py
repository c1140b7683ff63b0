"""Relay connections: pages in either direction by keyset cursors; what is not asked for is not counted."""

from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, Final, Generic, TypeVar

import strawberry
from strawberry.types.field import StrawberryField

from trninv.graphql.arguments import Asked
from trninv.graphql.context import Below
from trninv.graphql.enums import enum_of
from trninv.graphql.lazy import list_of
from trninv.graphql.pages import Edge, PageInfo
from trninv.graphql.rows import Row, check_groups
from trninv.graphql.scalars import Bandwidth, Capacity
from trninv.inventory.enumerations import COMPUTE_TYPE, GROUP_BY, GROUPS
from trninv.routing.question import SCAN
from trninv.units import Bandwidth as Rate
from trninv.units import Capacity as Size
from trninv.units import Compute as Operations

T = TypeVar("T")

ComputeType: Final = enum_of(COMPUTE_TYPE)
_COMPUTE_TYPE: Final = strawberry.argument(description="Which operations to add up.", graphql_type=ComputeType)
_BY: Final = strawberry.argument(
    description="What a group has in common; null: all are one group.", graphql_type=list_of(enum_of(GROUP_BY)) | None
)


@strawberry.enum(description="Which way an order goes.")
class Direction(Enum):
    ASC = strawberry.enum_value("ASC", description="Ascending: the least or alphabetically first comes first.")
    DESC = strawberry.enum_value("DESC", description="Descending: the greatest or alphabetically last comes first.")


def _grouped(name: str, says: str) -> StrawberryField:
    of: type[Enum | str] = enum_of(GROUPS[name]) if name in GROUPS else str

    def resolve(parent: strawberry.Parent["Aggregate"]) -> Any:
        value = parent.row.get(f"group_{name}")
        return None if value is None else of(value)

    made: StrawberryField = strawberry.field(resolver=resolve, description=says, graphql_type=of | None)
    return made


@strawberry.type(description="Counts and sums of things that have something in common.")
class Aggregate:
    row: strawberry.Private[Row]

    generation = _grouped("generation", "Generation of their chips; null unless grouped by it.")
    model = _grouped("model", "Slug of their model; null unless grouped by it.")
    state = _grouped("state", "The state that they are in; null unless grouped by it.")
    cluster = _grouped("cluster", "Slug of their cluster; null unless grouped by it.")

    @strawberry.field(description="How many there are.")
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
        type: Annotated[Enum, _COMPUTE_TYPE] = ComputeType["BF16"],  # noqa: A002 # as in the schema
    ) -> float | None:
        total = self._sum(type.value)
        return None if total is None else Operations(total) / 1000

    def _sum(self, name: str) -> int | None:
        total = self.row.get(name)
        return None if total is None else int(total)


@strawberry.type(description="A page of a list.")
class Connection(Generic[T]):
    below: strawberry.Private[Below]
    asked: strawberry.Private[Asked]
    make: strawberry.Private[Callable[[Row], Any]]

    async def _page(self) -> list[Row]:
        """The page's rows in their order."""
        found = (await self.below.page(self.asked))[: self.asked.size]
        return found[::-1] if self.asked.looks.backwards else found

    @strawberry.field(description="The items of the page, with their cursors.")
    async def edges(self) -> list[Edge[T]]:
        return [Edge(node=self.make(row), cursor=row["cursor"]) for row in await self._page()]

    @strawberry.field(description="The items of the page.")
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

    @strawberry.field(description="Number of items on all pages.", metadata={"price": SCAN})
    async def total_count(self) -> int:
        return await self.below.count(self.asked)

    @strawberry.field(description="Counts and sums over all pages, group by group.", metadata={"price": SCAN})
    async def aggregates(self, by: Annotated[list[Enum] | None, _BY] = None) -> list[Aggregate]:
        names = check_groups(self.below.kind, (group.value for group in by or ()))
        return [Aggregate(row=row) for row in await self.below.sums(self.asked, names)]
