"""Resolve the drift and incidents fields."""

from collections.abc import Mapping
from typing import Any

import strawberry

from trninv.database.finding_rules import SEVERITIES
from trninv.graphql.answer_types import answer_type
from trninv.graphql.enums import DriftRule, Severity
from trninv.graphql.pagination import OptionalArgument
from trninv.graphql.request_context import AppInfo
from trninv.graphql.scalars import Address
from trninv.incidents import grouping, impact, model
from trninv.reconcile import findings
from trninv.reconcile.drift_input import unclaimed_types
from trninv.routing.fleet import BaseFleet
from trninv.routing.question import ROUTED_COST


@strawberry.type(name="Finding", description="A difference between observation and design.")
class FindingType:
    id: strawberry.ID = strawberry.field(description="Its number, which the reasons of states that it set name.")
    rule: Any = strawberry.field(description="The rule that found it.", graphql_type=DriftRule)
    severity: Any = strawberry.field(description="Its severity.", graphql_type=Severity)
    address: str | None = strawberry.field(
        description="The server, chip, domain, network node or cluster; null for an instance without a slot."
    )
    instance: str | None = strawberry.field(description="The instance, or its host name if only that is known.")
    expected: str | None = strawberry.field(description="What the design has, as text.")
    observed: str | None = strawberry.field(description="What was observed, as text.")
    evidence: list[int] = strawberry.field(description="Ids of the observations that show it.")
    first_seen: str = strawberry.field(description="When it was first found (UTC).")
    last_seen: str = strawberry.field(description="When it was last found (UTC).")
    cleared_at: str | None = strawberry.field(description="When it cleared (UTC); null while it lasts.")

    @classmethod
    def from_row(cls, row: findings.Finding) -> "FindingType":
        """Convert a stored finding."""
        same_fields = ("address", "instance", "expected", "observed", "first_seen", "last_seen", "cleared_at")
        return cls(
            id=strawberry.ID(str(row.id)),
            rule=DriftRule(row.rule),
            severity=Severity(row.severity),
            evidence=list(row.evidence),
            **{name: getattr(row, name) for name in same_fields},
        )


@strawberry.type(description="An EC2 instance type that no model in the catalog claims.")
class UnclaimedType:
    type: str = strawberry.field(description="The instance type as reported.")
    count: int = strawberry.field(description="Number of machines of this type.")
    why: str = strawberry.field(description="Why they are ignored.")


async def unclaimed(_: object, info: AppInfo, _arguments: Mapping[str, Any]) -> list[UnclaimedType]:
    """Return the instance types that no model claims, ordered by name."""
    rows = await info.context.read(unclaimed_types)
    return [UnclaimedType(type=row.type, count=row.count, why=row.why) for row in rows]


DRIFT_ARGUMENTS: tuple[OptionalArgument, ...] = (
    ("scope", Address, "Only findings at or below this place."),
    ("min_severity", Severity, "Only findings of this severity or worse."),
    ("include_cleared", bool, "Whether to include cleared findings."),
)


async def resolve_drift(_: object, info: AppInfo, arguments: Mapping[str, Any]) -> list[FindingType]:
    """Return the findings that match the arguments, worst first."""
    scope, min_severity = arguments.get("scope"), arguments.get("minSeverity")
    all_findings = await info.context.read(
        findings.list_findings, None if scope is None else str(scope), bool(arguments.get("includeCleared"))
    )
    severities = SEVERITIES[SEVERITIES.index(min_severity.value if min_severity else SEVERITIES[0]) :]
    return [FindingType.from_row(finding) for finding in all_findings if finding.severity in severities]


def _compute_impact(fleet: BaseFleet, incident: model.Incident) -> model.Impact:
    with fleet.open_reader() as reader:
        return impact.estimate_impact(reader, incident)


async def _resolve_impact(parent: strawberry.Parent[Any], info: AppInfo) -> Any:
    return await info.context.ask(_compute_impact, info.context.fleet, parent)


@strawberry.type(name="Incident", description="Unhealthy parts that share a root cause.")
class IncidentType(answer_type(model.Incident)):  # type: ignore[misc] # the generated base class has its fields
    impact: Any = strawberry.field(
        resolver=_resolve_impact,
        description="What it costs; computed on request.",
        graphql_type=answer_type(model.Impact),
        metadata={"price": 2 * model.MAX_DOMAINS * ROUTED_COST},
    )


INCIDENT_ARGUMENTS: tuple[OptionalArgument, ...] = (
    ("scope", Address, "Only incidents with a part at or below this place, or a link that ends there."),
)


async def resolve_incidents(_: object, info: AppInfo, arguments: Mapping[str, Any]) -> list[model.Incident]:
    """Return the incidents that match the arguments, worst first."""
    scope = arguments.get("scope")
    return await info.context.read(grouping.list_incidents, None if scope is None else str(scope))
