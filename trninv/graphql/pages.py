"""Define the arguments and types of pages, and page lists that are in memory."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from inspect import isawaitable
from typing import Any, Final, Generic, TypeVar

import strawberry
from graphql.execution.values import get_argument_values
from strawberry.annotation import StrawberryAnnotation
from strawberry.types import Info
from strawberry.types.arguments import StrawberryArgument
from strawberry.types.field import StrawberryField

from trninv.errors import InvalidArgumentError
from trninv.graphql.arguments import read_page_size
from trninv.routing.question import SCAN_COST

T = TypeVar("T")
OptionalArgument = tuple[str, Any, str]
"""Name, type and description of an optional argument."""

PAGE_ARGUMENTS: Final = (
    ("first", int, "At most this many items; 100 if neither first nor last is given, 1,000 at most."),
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
    has_next_page: bool = strawberry.field(description="Whether anything follows; of a page before a cursor, true.")
    has_previous_page: bool = strawberry.field(description="Whether anything precedes; of a page after a cursor, true.")
    start_cursor: str | None = strawberry.field(description="Cursor of the first item.")
    end_cursor: str | None = strawberry.field(description="Cursor of the last item: pass it as after.")


@strawberry.type(name="Edge", description="An item of a page, with its cursor.")
class EdgeType(Generic[T]):
    node: T = strawberry.field(description="The item.")
    cursor: str = strawberry.field(description="Its place in the list, for after and before.")


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
        raise InvalidArgumentError(f"{end}: {cursor[:40]!r} is not a cursor of this list: pass one of a page of it")
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
