"""Resolve the incidents field, and an incident's impact if it is selected."""

from collections.abc import Mapping
from typing import Any

import strawberry

from trninv.graphql.answers import answer_type
from trninv.graphql.context import AppInfo
from trninv.graphql.pages import OptionalArgument
from trninv.graphql.scalars import Address
from trninv.incidents import impact, listing, model
from trninv.routing.fleet import BaseFleet
from trninv.routing.question import ROUTED_COST


def _compute_impact(fleet: BaseFleet, incident: model.Incident) -> model.Impact:
    with fleet.open_reader() as reader:
        return impact.estimate_impact(reader, incident)


async def _resolve_impact(parent: strawberry.Parent[Any], info: AppInfo) -> Any:
    return await info.context.ask(_compute_impact, info.context.fleet, parent)


@strawberry.type(name="Incident", description="Things that are not up for one reason.")
class IncidentType(answer_type(model.Incident)):  # type: ignore[misc] # the generated base class has its fields
    impact: Any = strawberry.field(
        resolver=_resolve_impact,
        description="What it costs: worked out for what asks for it.",
        graphql_type=answer_type(model.Impact),
        metadata={"price": 2 * model.MAX_DOMAINS * ROUTED_COST},
    )


INCIDENT_ARGUMENTS: tuple[OptionalArgument, ...] = (
    ("scope", Address, "Only those with a part at or below this place, or a link that ends there."),
)


async def resolve_incidents(_: object, info: AppInfo, arguments: Mapping[str, Any]) -> list[model.Incident]:
    """Return the incidents that match the arguments, worst first."""
    scope = arguments.get("scope")
    return await info.context.read(listing.list_incidents, None if scope is None else str(scope))
