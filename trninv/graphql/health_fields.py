"""Resolve the fields unclaimedTypes, unappliedFindings, incidents and closedIncidents.

An incident groups parts by root cause.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import strawberry

from trninv.catalog.instance_types import UnclaimedType
from trninv.graphql.answer_types import answer_type
from trninv.graphql.computed_lists import select_items
from trninv.graphql.input_types import FILTERS, ORDERS
from trninv.graphql.pagination import OptionalArgument
from trninv.graphql.request_context import RequestContext
from trninv.graphql.scalars import Address, list_type
from trninv.incidents import impact, model
from trninv.incidents.closed_incidents import list_closed_incidents
from trninv.incidents.grouping import list_incidents
from trninv.incidents.incident_thing import CLOSED_INCIDENT, INCIDENT
from trninv.incidents.unapplied_findings import list_unapplied_findings
from trninv.inventory.schema.thing import Thing
from trninv.reconcile.drift_input import unclaimed_types
from trninv.routing.fleet import BaseFleet
from trninv.routing.question import ROUTED_COST


async def find_unclaimed_types(context: RequestContext, _arguments: Mapping[str, Any]) -> Sequence[UnclaimedType]:
    """Return the instance types that no model claims, ordered by name."""
    return await context.read(unclaimed_types)


def _estimate_impact(fleet: BaseFleet, incident: model.Incident) -> model.Impact:
    with fleet.open_snapshot() as snapshot:
        return impact.estimate_impact(snapshot, incident)


@strawberry.type(name="Incident", description=INCIDENT.description)
class IncidentType(answer_type(model.Incident)):  # type: ignore[misc] # the generated base class has its fields
    impact: Any = strawberry.field(
        description="What it costs; computed on request.",
        graphql_type=answer_type(model.Impact),
        # each domain is solved with and without the incident
        metadata={"price": 2 * model.MAX_DOMAINS * ROUTED_COST, "late": _estimate_impact, "asks": True},
    )


ClosedIncidentType: Any = answer_type(model.ClosedIncident)


def incident_arguments(kind: Thing) -> tuple[OptionalArgument, ...]:
    """Return the arguments of a list of incidents."""
    return (
        ("filter", FILTERS[kind.name], "Conditions on the items."),
        ("order_by", list_type(ORDERS[kind.name]), "Sort order of the items."),
        ("scope", Address, "Only incidents with a part at or below this place, or a link that ends there."),
    )


async def find_incidents(context: RequestContext, arguments: Mapping[str, Any]) -> list[model.Incident]:
    """Return the incidents that match the arguments, by default worst first."""
    return select_items(INCIDENT, await context.read(list_incidents, _scope(arguments)), arguments)


async def find_closed_incidents(context: RequestContext, arguments: Mapping[str, Any]) -> list[model.ClosedIncident]:
    """Return the closed incidents that match the arguments, by default latest first."""
    return select_items(CLOSED_INCIDENT, await context.read(list_closed_incidents, _scope(arguments)), arguments)


async def find_unapplied_findings(
    context: RequestContext, arguments: Mapping[str, Any]
) -> Sequence[model.RelatedFinding]:
    """Return the open high findings of drift on parts that are up, oldest first."""
    return await context.read(list_unapplied_findings, _scope(arguments))


def _scope(arguments: Mapping[str, Any]) -> str | None:
    scope = arguments.get("scope")
    return None if scope is None else str(scope)
