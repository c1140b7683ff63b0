"""Define connections: lists that are read page by page, with Relay's cursors, counts and sums.

The compiler writes connections of inventory rows; `InMemoryPage` pages a list that was read as a whole. In the schema
both are named after their items, such as ChipConnection.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from inspect import isawaitable
from typing import Any, Final, Generic, TypeVar

import strawberry
from strawberry.annotation import StrawberryAnnotation
from strawberry.types.arguments import StrawberryArgument
from strawberry.types.field import StrawberryField

from trninv.errors import InvalidArgumentError
from trninv.graphql.enums import stored_enum
from trninv.graphql.list_arguments import read_page_size
from trninv.graphql.request_context import CoreInfo, RequestContext
from trninv.graphql.scalars import BandwidthType, CapacityType, list_type
from trninv.inventory.schema.enumerations import COMPUTE_TYPE, GROUP_BY, GROUPS
from trninv.routing.question import SCAN_COST

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


def declare_argument(
    name: str, argument_type: object, description: str, default: object = strawberry.UNSET
) -> StrawberryArgument:
    """Return an argument, which is required if it has no default."""
    return StrawberryArgument(name, None, StrawberryAnnotation(argument_type), description=description, default=default)


def field_with_arguments(field: StrawberryField, optional_arguments: Iterable[OptionalArgument]) -> StrawberryField:
    """Replace a field's arguments by optional ones, and return the field."""
    field.arguments = [
        declare_argument(name, argument_type | None, description, None)
        for name, argument_type, description in optional_arguments
    ]
    return field


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

    edges: list[EdgeType[T]] = strawberry.field(description="The items of the page, with their cursors.")
    nodes: list[T] = strawberry.field(description="The items of the page.")
    page_info: PageInfoType = strawberry.field(description="Where the page begins and ends.")
    total_count: int = strawberry.field(description="Number of items on all pages.")

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
        start, stop = 0, len(items)
        if (after := arguments.get("after")) is not None:
            start = _cursor_index("after", after, cursors) + 1
        if (before := arguments.get("before")) is not None:
            stop = max(start, _cursor_index("before", before, cursors))
        start, stop = (max(start, stop - size), stop) if backwards else (start, min(stop, start + size))
        edges = [EdgeType(node=items[index], cursor=cursors[index]) for index in range(start, stop)]
        page_info = PageInfoType(
            has_next_page=stop < len(items),
            has_previous_page=start > 0,
            start_cursor=edges[0].cursor if edges else None,
            end_cursor=edges[-1].cursor if edges else None,
        )
        return cls(edges=edges, nodes=list(items[start:stop]), page_info=page_info, total_count=len(items))


def _cursor_index(name: str, cursor: str, cursors: Sequence[str]) -> int:
    if cursor not in cursors:
        raise InvalidArgumentError(f"{name}: {cursor[:40]!r} is not a cursor of this list; pass one from its pages")
    return cursors.index(cursor)


ItemFinder = Callable[[RequestContext, Mapping[str, Any]], Sequence[Any] | Awaitable[Sequence[Any]]]
"""Returns all items of a list for the request's context and the arguments."""


def paged_field(
    item_type: object,
    description: str,
    find_items: ItemFinder,
    cursor: Callable[[Any], str],
    extra_arguments: Iterable[OptionalArgument] = (),
) -> StrawberryField:
    """Create a field that pages a list which is read as a whole.

    Parameters
    ----------
    item_type
        Type of the items; the field returns a connection of them.
    cursor
        Returns a text that identifies an item in the list.
    extra_arguments
        Arguments in addition to those of a page.

    """

    async def resolve(_source: object, info: CoreInfo, **arguments: Any) -> InMemoryPage[Any]:
        items = find_items(info.context, arguments)
        return InMemoryPage.from_items(await items if isawaitable(items) else items, cursor, arguments)

    return in_memory_field(item_type, description, extra_arguments, resolve=resolve)


def in_memory_field(
    item_type: object, description: str, extra_arguments: Iterable[OptionalArgument] = (), **metadata: object
) -> StrawberryField:
    """Create a field whose type is a page of a list in memory."""
    page_type: Any = InMemoryPage  # Any: mypy rejects a subscript that is computed
    field = strawberry.field(
        description=description, graphql_type=page_type[item_type], metadata={"price": SCAN_COST, **metadata}
    )
    return field_with_arguments(field, (*extra_arguments, *PAGE_ARGUMENTS))


ComputeType: Final = stored_enum(COMPUTE_TYPE)


def _group_field(name: str, description: str) -> Any:
    group_type: Any = stored_enum(GROUPS[name]) if name in GROUPS else str
    return strawberry.field(description=description, graphql_type=group_type | None)


def _teraflops_field() -> Any:
    field = strawberry.field(
        description="10¹² operations per second of chips; null for other kinds, and if no chip has the type.",
        graphql_type=float | None,
    )
    field.arguments = [declare_argument("type", ComputeType, "Type of operation to sum.", ComputeType["BF16"])]
    return field


@strawberry.type(name="Aggregate", description="Counts and sums of a group.")
class AggregateType:
    generation: Any = _group_field("generation", "Generation of their chips; null unless grouped by it.")
    model: Any = _group_field("model", "Slug of their model; null unless grouped by it.")
    state: Any = _group_field("state", "Their state; null unless grouped by it.")
    cluster: Any = _group_field("cluster", "Slug of their cluster; null unless grouped by it.")
    count: int = strawberry.field(description="Number of items.")
    memory: Any = strawberry.field(
        description="HBM of chips, host memory of servers; null for other kinds.", graphql_type=CapacityType | None
    )
    bandwidth: Any = strawberry.field(
        description="HBM bandwidth of chips, nominal bandwidth of links and NICs; one direction; null for other kinds.",
        graphql_type=BandwidthType | None,
    )
    teraflops: Any = _teraflops_field()


def _aggregates_field() -> Any:
    field = strawberry.field(
        description="Counts and sums over all pages, group by group.",
        graphql_type=list_type(AggregateType),
        metadata={"price": SCAN_COST},
    )
    groups = list_type(stored_enum(GROUP_BY))
    return field_with_arguments(field, [("by", groups, "What to group by; null: all items are one group.")])


@strawberry.type(name="Connection", description="A page of a list.")
class ConnectionType(Generic[T]):
    """A page of a list of inventory rows; only the compiler writes it."""

    edges: list[EdgeType[T]] = strawberry.field(description="The items of the page, with their cursors.")
    nodes: list[T] = strawberry.field(description="The items of the page.")
    page_info: PageInfoType = strawberry.field(description="Where the page begins and ends.")
    total_count: int = strawberry.field(description="Number of items on all pages.", metadata={"price": SCAN_COST})
    aggregates: Any = _aggregates_field()
