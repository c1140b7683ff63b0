"""Resolve a search for addresses, links, instances, hosts, jobs and reports."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

import strawberry
from sqlalchemy import Connection

from trninv.errors import InvalidArgumentError
from trninv.graphql.enums import stored_enum
from trninv.graphql.inventory_types import LocatedInterface, resolve_addresses
from trninv.graphql.request_context import AppInfo, RequestContext
from trninv.graphql.scalars import Address
from trninv.inventory.address import search
from trninv.inventory.address.syntax import LEVELS
from trninv.inventory.schema.thing import Enumeration
from trninv.reports import report_library

MAX_HITS: Final = 20

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

    @strawberry.field(description="What the address names.")
    async def target(self, info: AppInfo) -> LocatedInterface | None:
        if self.address is None:
            return None
        return await info.context.load(("at address",), resolve_addresses, str(self.address))  # type: ignore[no-any-return]


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
    """Return the hits of a search, likeliest first: the exact address, hits near the reader, others, names."""
    if not 0 <= first <= MAX_HITS:
        raise InvalidArgumentError(f"first: {first} hits are out of range; ask for 0 to {MAX_HITS}")

    def read(connection: Connection) -> list[list[search.SearchHit]]:
        return search.search_inventory(connection, text, near, first)

    groups = [*await context.read(read), _find_reports(context, text)]
    candidates = [candidate for group in _share_limit(groups, first) for candidate in group]
    addresses = (None if candidate.address is None else Address(candidate.address) for candidate in candidates)
    return [
        HitType(kind=HitKind(candidate.kind), name=candidate.name, address=address)
        for candidate, address in zip(candidates, addresses, strict=True)
    ]


def _find_reports(context: RequestContext, text: str) -> list[search.SearchHit]:
    part = text.strip().lower()
    definitions = (
        report_library.read_reports(context.settings.reports).values() if 0 < len(part) <= search.MAX_LENGTH else ()
    )
    return [
        search.SearchHit("report", definition.name)
        for definition in definitions
        if part in f"{definition.name} {definition.title}".lower()
    ]


def _share_limit(groups: Sequence[list[search.SearchHit]], limit: int) -> list[list[search.SearchHit]]:
    """Cut groups to a limit in all: each gets an equal share, and unused shares go to the first groups."""
    share = limit // max(1, len(groups))
    unused = limit - sum(min(share, len(group)) for group in groups)
    shortened = []
    for group in groups:
        extra = min(unused, max(0, len(group) - share))
        unused -= extra
        shortened.append(group[: min(share, len(group)) + extra])
    return shortened
