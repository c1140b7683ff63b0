"""Page lists from SQL with Relay connections and keyset cursors; counts are computed only if selected."""

from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, Final, Generic, TypeVar

import strawberry
from strawberry.types.field import StrawberryField

from trninv.graphql.arguments import ListArguments
from trninv.graphql.context import ChildList
from trninv.graphql.enums import stored_enum
from trninv.graphql.lazy import list_type
from trninv.graphql.pages import EdgeType, PageInfoType
from trninv.graphql.rows import Row, check_groups
from trninv.graphql.scalars import BandwidthType, CapacityType
from trninv.inventory.enumerations import COMPUTE_TYPE, GROUP_BY, GROUPS
from trninv.routing.question import SCAN_COST
from trninv.units import Bandwidth as Rate
from trninv.units import Capacity as Size
from trninv.units import Compute as Operations

T = TypeVar("T")

ComputeType: Final = stored_enum(COMPUTE_TYPE)
_COMPUTE_TYPE_ARGUMENT: Final = strawberry.argument(description="Which operations to add up.", graphql_type=ComputeType)
_GROUPS_ARGUMENT: Final = strawberry.argument(
    description="What a group has in common; null: all are one group.",
    graphql_type=list_type(stored_enum(GROUP_BY)) | None,
)


@strawberry.enum(description="Which way an order goes.")
class Direction(Enum):
    ASC = strawberry.enum_value("ASC", description="Ascending: the least or alphabetically first comes first.")
    DESC = strawberry.enum_value("DESC", description="Descending: the greatest or alphabetically last comes first.")


def _group_field(name: str, description: str) -> StrawberryField:
    group_type: type[Enum | str] = stored_enum(GROUPS[name]) if name in GROUPS else str

    def resolve(parent: strawberry.Parent["AggregateType"]) -> Any:
        value = parent.row.get(f"group_{name}")
        return None if value is None else group_type(value)

    field: StrawberryField = strawberry.field(resolver=resolve, description=description, graphql_type=group_type | None)
    return field


@strawberry.type(name="Aggregate", description="Counts and sums of things that have something in common.")
class AggregateType:
    row: strawberry.Private[Row]

    generation = _group_field("generation", "Generation of their chips; null unless grouped by it.")
    model = _group_field("model", "Slug of their model; null unless grouped by it.")
    state = _group_field("state", "The state that they are in; null unless grouped by it.")
    cluster = _group_field("cluster", "Slug of their cluster; null unless grouped by it.")

    @strawberry.field(description="How many there are.")
    def count(self) -> int:
        return int(self.row["count"])

    @strawberry.field(
        description="HBM of chips, host memory of servers; null of others.", graphql_type=CapacityType | None
    )
    def memory(self) -> Size | None:
        total = self._sum("memory")
        return None if total is None else Size(total)

    @strawberry.field(
        description="Of chips their HBM's, of links and NICs their nominal one; one direction; null of others.",
        graphql_type=BandwidthType | None,
    )
    def bandwidth(self) -> Rate | None:
        total = self._sum("bandwidth")
        return None if total is None else Rate(total)

    @strawberry.field(description="10¹² operations per second of chips; null of others, and of a type that none has.")
    def teraflops(
        self,
        type: Annotated[Enum, _COMPUTE_TYPE_ARGUMENT] = ComputeType["BF16"],  # noqa: A002 # as in the schema
    ) -> float | None:
        total = self._sum(type.value)
        return None if total is None else Operations(total) / 1000

    def _sum(self, name: str) -> int | None:
        total = self.row.get(name)
        return None if total is None else int(total)


@strawberry.type(name="Connection", description="A page of a list.")
class ConnectionType(Generic[T]):
    child_list: strawberry.Private[ChildList]
    list_arguments: strawberry.Private[ListArguments]
    to_object: strawberry.Private[Callable[[Row], Any]]

    async def _read_page(self) -> list[Row]:
        """Return the page's rows in list order."""
        page_rows = (await self.child_list.page(self.list_arguments))[: self.list_arguments.size]
        return page_rows[::-1] if self.list_arguments.shape.backwards else page_rows

    @strawberry.field(description="The items of the page, with their cursors.")
    async def edges(self) -> list[EdgeType[T]]:
        return [EdgeType(node=self.to_object(row), cursor=row["cursor"]) for row in await self._read_page()]

    @strawberry.field(description="The items of the page.")
    async def nodes(self) -> list[T]:
        return [self.to_object(row) for row in await self._read_page()]

    @strawberry.field(description="Where the page begins and ends.")
    async def page_info(self) -> PageInfoType:
        page, shape = await self._read_page(), self.list_arguments.shape
        has_more = len(await self.child_list.page(self.list_arguments)) > self.list_arguments.size
        return PageInfoType(
            has_next_page=shape.before if shape.backwards else has_more,
            has_previous_page=has_more if shape.backwards else shape.after,
            start_cursor=page[0]["cursor"] if page else None,
            end_cursor=page[-1]["cursor"] if page else None,
        )

    @strawberry.field(description="Number of items on all pages.", metadata={"price": SCAN_COST})
    async def total_count(self) -> int:
        return await self.child_list.count(self.list_arguments)

    @strawberry.field(description="Counts and sums over all pages, group by group.", metadata={"price": SCAN_COST})
    async def aggregates(self, by: Annotated[list[Enum] | None, _GROUPS_ARGUMENT] = None) -> list[AggregateType]:
        names = check_groups(self.child_list.kind, (group.value for group in by or ()))
        return [AggregateType(row=row) for row in await self.child_list.aggregates(self.list_arguments, names)]
