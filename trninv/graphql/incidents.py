"""What is not up, grouped by what brought it about, and what each incident costs if that is asked for."""

from collections.abc import Mapping
from typing import Any

import strawberry

from trninv.graphql.answers import object_type
from trninv.graphql.context import AppInfo
from trninv.graphql.pages import Offered
from trninv.graphql.scalars import Address
from trninv.incidents import impact, listing, model
from trninv.routing.fleet import Fleet
from trninv.routing.question import ROUTED


def _impact(fleet: Fleet, of: model.Incident) -> model.Impact:
    with fleet.wirings() as reader:
        return impact.impact(reader, of)


async def _cost(parent: strawberry.Parent[Any], info: AppInfo) -> Any:
    return await info.context.ask(_impact, info.context.fleet, parent)


@strawberry.type(name="Incident", description="Things that are not up for one reason.")
class Incident(object_type(model.Incident)):  # type: ignore[misc] # the class of values has its fields
    impact: Any = strawberry.field(
        resolver=_cost,
        description="What it costs: worked out for what asks for it.",
        graphql_type=object_type(model.Impact),
        metadata={"price": 2 * model.MOST_DOMAINS * ROUTED},
    )


OFFERED: tuple[Offered, ...] = (
    ("scope", Address, "Only those with a part at or below this place, or a link that ends there."),
)


async def found(_: object, info: AppInfo, given: Mapping[str, Any]) -> list[model.Incident]:
    """The incidents that arguments ask for, the worst first.

    Raises
    ------
    AddressError, UnknownAddressError

    """
    scope = given.get("scope")
    return await info.context.read(listing.incidents, None if scope is None else str(scope))
