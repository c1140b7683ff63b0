"""Resolve the drift field: findings of the last comparison of observations with the design."""

from collections.abc import Mapping
from typing import Any

import strawberry

from trninv.graphql.context import AppInfo
from trninv.graphql.enums import DriftRule, Severity
from trninv.graphql.pages import OptionalArgument
from trninv.graphql.scalars import Address
from trninv.inventory.rules import SEVERITIES
from trninv.live import findings
from trninv.live.picture import unclaimed_types


@strawberry.type(name="Finding", description="Something that was seen and differs from the design.")
class FindingType:
    id: strawberry.ID = strawberry.field(description="Its number, which the reasons of states that it set name.")
    rule: Any = strawberry.field(description="The rule that found it.", graphql_type=DriftRule)
    severity: Any = strawberry.field(description="How bad it is.", graphql_type=Severity)
    address: str | None = strawberry.field(
        description="Where: a server, chip, domain, network node or cluster; null of an instance without a slot."
    )
    instance: str | None = strawberry.field(description="The instance, or its host's name where only that is known.")
    expected: str | None = strawberry.field(description="What the design has, for people.")
    observed: str | None = strawberry.field(description="What was seen, for people.")
    evidence: list[int] = strawberry.field(description="Ids of the observations that show it.")
    first_seen: str = strawberry.field(description="When it was first found (UTC).")
    last_seen: str = strawberry.field(description="When it was last found (UTC).")
    cleared_at: str | None = strawberry.field(description="When it was over (UTC); null while it lasts.")

    @classmethod
    def from_row(cls, row: findings.Finding) -> "FindingType":
        """Convert a finding of the live room."""
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
    type: str = strawberry.field(description="The type, as the source has it.")
    count: int = strawberry.field(description="How many machines are of it.")
    why: str = strawberry.field(description="Why they are left alone.")


async def unclaimed(_: object, info: AppInfo, _arguments: Mapping[str, Any]) -> list[UnclaimedType]:
    """Return the instance types that no model claims, ordered by name."""
    rows = await info.context.read(unclaimed_types)
    return [UnclaimedType(type=row.type, count=row.count, why=row.why) for row in rows]


DRIFT_ARGUMENTS: tuple[OptionalArgument, ...] = (
    ("scope", Address, "Only what is at or below this place."),
    ("min_severity", Severity, "Only what is as bad as this, or worse."),
    ("include_cleared", bool, "Whether to list what is over too."),
)


async def resolve_drift(_: object, info: AppInfo, arguments: Mapping[str, Any]) -> list[FindingType]:
    """Return the findings that match the arguments, worst first."""
    scope, min_severity = arguments.get("scope"), arguments.get("min_severity")
    all_findings = await info.context.read(
        findings.list_findings, None if scope is None else str(scope), bool(arguments.get("include_cleared"))
    )
    severities = SEVERITIES[SEVERITIES.index(min_severity.value if min_severity else SEVERITIES[0]) :]
    return [FindingType.from_row(finding) for finding in all_findings if finding.severity in severities]
