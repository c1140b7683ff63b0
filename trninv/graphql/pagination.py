"""Page lists with Relay cursors, from SQL or from memory."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from enum import Enum
from inspect import isawaitable
from typing import Annotated, Any, Final, Generic, TypeVar

import strawberry
from graphql.execution.values import get_argument_values
from strawberry.annotation import StrawberryAnnotation
from strawberry.types import Info
from strawberry.types.arguments import StrawberryArgument
from strawberry.types.field import StrawberryField

from trninv.errors import InvalidArgumentError
from trninv.graphql.enums import stored_enum
from trninv.graphql.list_arguments import ListArguments, read_page_size
from trninv.graphql.request_context import ChildList
from trninv.graphql.row_loaders import Row, check_groups
from trninv.graphql.scalars import BandwidthType, CapacityType, list_type
from trninv.inventory.schema.enumerations import COMPUTE_TYPE, GROUP_BY, GROUPS
from trninv.routing.question import SCAN_COST
from trninv.units import Bandwidth as Rate
from trninv.units import Capacity as Size
from trninv.units import Compute as Operations

T = TypeVar("T")
OptionalArgument = tuple[str, Any, str]
"""Name, type and description of an optional argument."""
PAGE_ARGUMENTS: Final = (
    ("first", int, "At most this many items, up to 1,000; 100 if neither first nor last is set."),
    ("after", str, "Only items after the one with this cursor."),
    ("last", int, "At most this many items, counted from the end."),
    ("before", str, "Only items before the one with this cursor."),
)
"""Name, type and description of the arguments of every connection."""


def field_with_arguments(field: StrawberryField, optional_arguments: Iterable[OptionalArgument]) -> StrawberryField:
    """Give a field optional arguments."""
    field.arguments = [
        StrawberryArgument(
            name, None, StrawberryAnnotation(argument_type | None), description=description, default=None
        )
        for name, argument_type, description in optional_arguments
    ]
    return field


def read_arguments(info: Info[Any, Any]) -> dict[str, Any]:
    """Return a field's arguments as GraphQL coerced them, by their names in the schema."""
    raw = info._raw_info  # noqa: SLF001 # strawberry's arguments are already converted to its own types
    field = raw.parent_type.fields[raw.field_name]
    return get_argument_values(field, raw.field_nodes[0], raw.variable_values)


@strawberry.type(name="PageInfo", description="Where a page begins and ends.")
class PageInfoType:
    has_next_page: bool = strawberry.field(
        description="Whether more items follow; always true for a page before a cursor."
    )
    has_previous_page: bool = strawberry.field(
        description="Whether more items precede; always true for a page after a cursor."
    )
    start_cursor: str | None = strawberry.field(description="Cursor of the first item.")
    end_cursor: str | None = strawberry.field(description="Cursor of the last item: pass it as after.")


@strawberry.type(name="Edge", description="An item of a page, with its cursor.")
class EdgeType(Generic[T]):
    node: T = strawberry.field(description="The item.")
    cursor: str = strawberry.field(description="Its position in the list, for after and before.")


@strawberry.type(name="Connection", description="A page of a list.")
class InMemoryPage(Generic[T]):
    """A page of a list in memory; each cursor is a text that identifies an item."""

    page: strawberry.Private[Sequence[Any]]
    cursors: strawberry.Private[Sequence[str]]
    first: strawberry.Private[int]
    total: strawberry.Private[int]

    @classmethod
    def from_items(
        cls, items: Sequence[Any], cursor: Callable[[Any], str], arguments: Mapping[str, Any]
    ) -> "InMemoryPage[T]":
        """Return the page that the arguments request.

        Raises
        ------
        InvalidArgumentError
            The page is impossible, or no item has its cursor.

        """
        size, backwards = read_page_size(arguments)
        cursors = [cursor(item) for item in items]
        start, end = 0, len(items)
        if (after := arguments.get("after")) is not None:
            start = _cursor_index("after", after, cursors) + 1
        if (before := arguments.get("before")) is not None:
            end = max(start, _cursor_index("before", before, cursors))
        start, end = (max(start, end - size), end) if backwards else (start, min(end, start + size))
        return cls(page=items[start:end], cursors=cursors[start:end], first=start, total=len(items))

    @strawberry.field(description="The items of the page, with their cursors.")
    def edges(self) -> list[EdgeType[T]]:
        return [EdgeType(node=item, cursor=cursor) for item, cursor in zip(self.page, self.cursors, strict=True)]

    @strawberry.field(description="The items of the page.")
    def nodes(self) -> list[T]:
        return list(self.page)

    @strawberry.field(description="Where the page begins and ends.")
    def page_info(self) -> PageInfoType:
        return PageInfoType(
            has_next_page=self.first + len(self.page) < self.total,
            has_previous_page=self.first > 0,
            start_cursor=self.cursors[0] if self.cursors else None,
            end_cursor=self.cursors[-1] if self.cursors else None,
        )

    @strawberry.field(description="Number of items on all pages.")
    def total_count(self) -> int:
        return self.total


def _cursor_index(end: str, cursor: str, cursors: Sequence[str]) -> int:
    if cursor not in cursors:
        raise InvalidArgumentError(f"{end}: {cursor[:40]!r} is not a cursor of this list; pass one from its pages")
    return cursors.index(cursor)


ItemFinder = Callable[[Any, Any, Mapping[str, Any]], Sequence[Any] | Awaitable[Sequence[Any]]]
"""Returns all items of a list for the parent, the request's info and the arguments."""


def paged_field(
    item_type: object,
    description: str,
    find_items: ItemFinder,
    cursor: Callable[[Any], str],
    extra_arguments: Iterable[OptionalArgument] = (),
) -> StrawberryField:
    """Create a field that pages a list read in full.

    Parameters
    ----------
    item_type
        Type of the items; the field's type is the connection of it.
    cursor
        Returns a text that identifies an item in the list.
    extra_arguments
        Arguments in addition to those of a page.

    """

    async def resolve(self: object, info: Info[Any, None], **_: object) -> InMemoryPage[Any]:
        values = read_arguments(info)
        items = find_items(self, info, values)
        return InMemoryPage.from_items(await items if isawaitable(items) else items, cursor, values)

    listing: Any = InMemoryPage
    field = strawberry.field(
        resolver=resolve, description=description, graphql_type=listing[item_type], metadata={"price": SCAN_COST}
    )
    return field_with_arguments(field, (*extra_arguments, *PAGE_ARGUMENTS))


ComputeType: Final = stored_enum(COMPUTE_TYPE)
_COMPUTE_TYPE_ARGUMENT: Final = strawberry.argument(description="Type of operation to sum.", graphql_type=ComputeType)
_GROUPS_ARGUMENT: Final = strawberry.argument(
    description="What to group by; null: all items are one group.",
    graphql_type=list_type(stored_enum(GROUP_BY)) | None,
)


@strawberry.enum(description="Sort direction.")
class Direction(Enum):
    ASC = strawberry.enum_value("ASC", description="Ascending: lowest or alphabetically first comes first.")
    DESC = strawberry.enum_value("DESC", description="Descending: highest or alphabetically last comes first.")


def _group_field(name: str, description: str) -> StrawberryField:
    group_type: type[Enum | str] = stored_enum(GROUPS[name]) if name in GROUPS else str

    def resolve(parent: strawberry.Parent["AggregateType"]) -> Any:
        value = parent.row.get(f"group_{name}")
        return None if value is None else group_type(value)

    field: StrawberryField = strawberry.field(resolver=resolve, description=description, graphql_type=group_type | None)
    return field


@strawberry.type(name="Aggregate", description="Counts and sums of a group.")
class AggregateType:
    row: strawberry.Private[Row]

    generation = _group_field("generation", "Generation of their chips; null unless grouped by it.")
    model = _group_field("model", "Slug of their model; null unless grouped by it.")
    state = _group_field("state", "Their state; null unless grouped by it.")
    cluster = _group_field("cluster", "Slug of their cluster; null unless grouped by it.")

    @strawberry.field(description="Number of items.")
    def count(self) -> int:
        return int(self.row["count"])

    @strawberry.field(
        description="HBM of chips, host memory of servers; null for other kinds.", graphql_type=CapacityType | None
    )
    def memory(self) -> Size | None:
        total = self._sum("memory")
        return None if total is None else Size(total)

    @strawberry.field(
        description="HBM bandwidth of chips, nominal bandwidth of links and NICs; one direction; null for other kinds.",
        graphql_type=BandwidthType | None,
    )
    def bandwidth(self) -> Rate | None:
        total = self._sum("bandwidth")
        return None if total is None else Rate(total)

    @strawberry.field(
        description="10¹² operations per second of chips; null for other kinds, and if no chip has the type."
    )
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
