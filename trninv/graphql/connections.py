"""Relay connections: forward pages by keyset cursors, with totalCount counted only when asked for."""

import base64
from collections.abc import Awaitable, Callable
from typing import Generic, Self, TypeVar

import strawberry

from trninv.errors import LimitError
from trninv.graphql.context import Row

T = TypeVar("T")

DEFAULT_PAGE = 100
MAX_PAGE = 1000
MAX_KEY = 2**31 - 1
"""Of PostgreSQL's integer."""

Count = Callable[[], Awaitable[int]]


@strawberry.type(description="Where a page begins and ends.")
class PageInfo:
    has_next_page: bool = strawberry.field(description="Whether anything follows the page.")
    has_previous_page: bool = strawberry.field(description="Whether the page was asked for after a cursor.")
    start_cursor: str | None = strawberry.field(description="Cursor of the first item.")
    end_cursor: str | None = strawberry.field(description="Cursor of the last item: pass it as after.")


@strawberry.type(description="An item of a page, with its cursor.")
class Edge(Generic[T]):
    node: T = strawberry.field(description="The item.")
    cursor: str = strawberry.field(description="Where it stands.")


@strawberry.type(description="A page of a list, in the order of its ids.")
class Connection(Generic[T]):
    edges: list[Edge[T]] = strawberry.field(description="The items with their cursors.")
    nodes: list[T] = strawberry.field(description="The items.")
    page_info: PageInfo = strawberry.field(description="Where the page begins and ends.")
    count: strawberry.Private[Count]

    @strawberry.field(description="Number of items on all pages.")
    async def total_count(self) -> int:
        return await self.count()

    @classmethod
    def of(cls, rows: list[Row], make: Callable[[Row], T], first: int, after: int, count: Count) -> Self:
        """A page of up to ``first`` rows; one row more says that there is a next page."""
        shown = rows[:first]
        cursors = [cursor(row["id"]) for row in shown]
        nodes = [make(row) for row in shown]
        return cls(
            edges=[Edge(node=node, cursor=at) for node, at in zip(nodes, cursors, strict=True)],
            nodes=nodes,
            page_info=PageInfo(
                has_next_page=len(rows) > first,
                has_previous_page=after > 0,
                start_cursor=cursors[0] if cursors else None,
                end_cursor=cursors[-1] if cursors else None,
            ),
            count=count,
        )


def cursor(key: int) -> str:
    return base64.urlsafe_b64encode(f"id:{key}".encode()).decode()


def opened(opaque: str) -> tuple[str, int]:
    """Kind and number of a cursor or id.

    Raises
    ------
    ValueError
        It is neither, or beyond any row's number.

    """
    kind, _, key = base64.b64decode(opaque.encode(), altchars=b"-_", validate=True).decode().partition(":")
    if not 0 <= int(key) <= MAX_KEY:
        raise ValueError(opaque)
    return kind, int(key)


def window(first: int, after: str | None) -> tuple[int, int]:
    """Page size and the id that the page comes after.

    Raises
    ------
    LimitError
        More than MAX_PAGE, fewer than none, or not a cursor of this API.

    """
    if not 0 <= first <= MAX_PAGE:
        raise LimitError(f"first: {first} items: ask for 0 to {MAX_PAGE} and page on with after")
    if after is None:
        return first, 0
    try:
        kind, key = opened(after)
        if kind == "id":
            return first, key
    except ValueError:
        pass
    raise LimitError(f"after: {after[:40]!r} is not a cursor of this list: pass endCursor of a page")
