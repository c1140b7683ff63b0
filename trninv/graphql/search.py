"""What a few letters may mean, as GraphQL: places, links, instances, hosts, jobs and reports."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

import strawberry
from sqlalchemy import Connection

from trninv.errors import LimitError
from trninv.graphql.context import AppInfo, Context
from trninv.graphql.enums import enum_of
from trninv.graphql.scalars import Address
from trninv.graphql.things import Located, at_addresses
from trninv.inventory import search
from trninv.inventory.address import LEVELS
from trninv.inventory.fields import Enumeration
from trninv.reports import library

MOST: Final = 20

_MEANINGS: Final = {
    **{level: f"A {level.replace('_', ' ')}." for level in LEVELS.values()},
    "link": "A link.",
    "instance": "An instance that is bound to a slot, by its id.",
    "host": "A host that is bound to a slot, by its name.",
    "job": "A job that holds chips, by its name.",
    "report": "A report.",
}
HitKind: Final = enum_of(Enumeration("HitKind", "What a hit of search is.", lambda: _MEANINGS))


@strawberry.type(description="Something that a text may mean.")
class Hit:
    kind: Any = strawberry.field(description="What it is.", graphql_type=HitKind)
    name: str = strawberry.field(description="An address, or the name of an instance, host, job or report.")
    address: Address | None = strawberry.field(
        description="Of a place or link, or of the slot where an instance or host stands; null of a job or report."
    )

    @strawberry.field(description="What the address names.")
    async def thing(self, info: AppInfo) -> Located | None:
        if self.address is None:
            return None
        return await info.context.load(("at address",), at_addresses, str(self.address))  # type: ignore[no-any-return]


Text = Annotated[
    str, strawberry.argument(description=f"What was typed; of more than {search.LONGEST} characters nothing is found.")
]
Here = Annotated[
    Address | None,
    strawberry.argument(
        description="Where the reader is: s1/c5 is read from there first; ignored if it names nothing."
    ),
]
First = Annotated[int, strawberry.argument(description=f"How many, {MOST} at most.")]


async def hits(context: Context, text: str, here: str | None, first: int) -> list[Hit]:
    """What a text may mean, the likeliest first: the address itself, what is here, elsewhere, names.

    Raises
    ------
    LimitError

    """
    if not 0 <= first <= MOST:
        raise LimitError(f"first: {first} hits: ask for 0 to {MOST}")

    def read(connection: Connection) -> list[list[search.Found]]:
        return search.found(connection, text, here, first)

    groups = [*await context.read(read), _reports(context, text)]
    shown = [each for group in _shared(groups, first) for each in group]
    addresses = (None if each.address is None else Address(each.address) for each in shown)
    return [Hit(kind=HitKind(each.kind), name=each.name, address=at) for each, at in zip(shown, addresses, strict=True)]


def _reports(context: Context, text: str) -> list[search.Found]:
    part = text.strip().lower()
    known = library.reports(context.settings.reports).values() if 0 < len(part) <= search.LONGEST else ()
    return [search.Found("report", each.name) for each in known if part in f"{each.name} {each.title}".lower()]


def _shared(groups: Sequence[list[search.Found]], most: int) -> list[list[search.Found]]:
    """Groups cut to so many in all: each has its share, and what others leave of theirs goes to the first."""
    share = most // max(1, len(groups))
    spare = most - sum(min(share, len(group)) for group in groups)
    cut = []
    for group in groups:
        more = min(spare, max(0, len(group) - share))
        spare -= more
        cut.append(group[: min(share, len(group)) + more])
    return cut
