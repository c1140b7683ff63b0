"""Resolve the search field, which the explorer's search box uses: addresses, links, instances, hosts, jobs, reports."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

import strawberry
from sqlalchemy import Connection

from trninv.errors import InvalidArgumentError
from trninv.graphql.enums import stored_enum
from trninv.graphql.inventory_types import LocatedInterface
from trninv.graphql.request_context import RequestContext
from trninv.graphql.scalars import Address, AddressReference
from trninv.inventory.address import search
from trninv.inventory.address.syntax import LEVELS
from trninv.inventory.schema.thing import Enumeration
from trninv.reports import report_library

MAX_HITS: Final = 20
"""Maximum number of hits of one search."""

_MEANINGS: Final = {
    **{level: f"A {level.replace('_', ' ')}." for level in LEVELS.values()},
    "link": "A link.",
    "instance": "An instance bound to a slot, by its id.",
    "host": "A host bound to a slot, by its name.",
    "job": "A job with allocated chips, by its name.",
    "report": "A report.",
}
HitKind: Final = stored_enum(Enumeration("HitKind", "Kind of a search hit.", lambda: _MEANINGS))


@strawberry.type(name="Hit", description="A search hit.")
class HitType:
    kind: Any = strawberry.field(description="Its kind.", graphql_type=HitKind)
    name: str = strawberry.field(description="An address, or the name of an instance, host, job or report.")
    address: Address | None = strawberry.field(
        description="Address of the place or link, or of the slot of the instance or host; null for a job or report."
    )
    target: Any = strawberry.field(description="What the address names.", graphql_type=LocatedInterface | None)

    @classmethod
    def from_hit(cls, hit: search.SearchHit) -> "HitType":
        """Convert a hit."""
        address = None if hit.address is None else Address(hit.address)
        return cls(kind=HitKind(hit.kind), name=hit.name, address=address, target=address and AddressReference(address))


TextArgument = Annotated[
    str,
    strawberry.argument(description=f"Text to search for; more than {search.MAX_LENGTH} characters find nothing."),
]
NearArgument = Annotated[
    Address | None,
    strawberry.argument(
        description="Current place of the user: s1/c5 is resolved from there first; ignored if it does not exist."
    ),
]
FirstArgument = Annotated[int, strawberry.argument(description=f"Maximum number of hits, {MAX_HITS} at most.")]


async def search_inventory(context: RequestContext, text: str, near: str | None, first: int) -> list[HitType]:
    """Return the hits of a search, likeliest first: the exact address, hits near `near`, others, names, reports."""
    if not 0 <= first <= MAX_HITS:
        raise InvalidArgumentError(f"first: {first} hits are out of range; ask for 0 to {MAX_HITS}")

    def read(connection: Connection) -> list[list[search.SearchHit]]:
        return search.search_inventory(connection, text, near, first)

    groups = [*await context.read(read), _find_reports(context, text)]
    return [HitType.from_hit(hit) for group in _share_limit(groups, first) for hit in group]


def _find_reports(context: RequestContext, text: str) -> list[search.SearchHit]:
    """Return the reports whose name or title contains a text."""
    search_text = text.strip().lower()
    definitions = (
        report_library.read_reports(context.settings.reports).values()
        if 0 < len(search_text) <= search.MAX_LENGTH
        else ()
    )
    return [
        search.SearchHit("report", definition.name)
        for definition in definitions
        if search_text in f"{definition.name} {definition.title}".lower()
    ]


def _share_limit(groups: Sequence[list[search.SearchHit]], limit: int) -> list[list[search.SearchHit]]:
    """Cut groups to `limit` hits in total: each gets an equal share, and unused shares go to the first groups."""
    share = limit // max(1, len(groups))
    unused = limit - sum(min(share, len(group)) for group in groups)
    shortened = []
    for group in groups:
        extra = min(unused, max(0, len(group) - share))
        unused -= extra
        shortened.append(group[: min(share, len(group)) + extra])
    return shortened
