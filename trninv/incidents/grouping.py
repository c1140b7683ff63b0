"""Group unhealthy parts into incidents by root cause."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Final

from sqlalchemy import Connection

from trninv.database.tables import PART_KINDS, STATES
from trninv.incidents import change_windows, common_place, failures
from trninv.incidents.failures import EventSummary, FailureEvent
from trninv.incidents.incident_context import IncidentContext, enclosing_servers
from trninv.incidents.model import (
    MAX_LISTED,
    Incident,
    IncidentChange,
    IncidentRule,
    IncidentSeverity,
    PartCount,
    PartKey,
    RelatedFinding,
    UnhealthyPart,
    classify_severity,
)
from trninv.inventory.address.containment import chip_ids_of
from trninv.inventory.address.lookup import resolve


def root_causes(parts: Sequence[UnhealthyPart]) -> dict[PartKey, UnhealthyPart]:
    """Map each part's key to its root cause; a link with two unhealthy ends belongs to its first end."""
    servers = {part.id: part for part in parts if part.kind == "server"}
    cause_by_part = {part.key: servers.get(part.location.server or 0, part) for part in parts if part.kind != "link"}

    def end_cause(part: UnhealthyPart) -> UnhealthyPart:
        return next(
            (cause_by_part["node", node_id] for node_id in part.ends if ("node", node_id) in cause_by_part), part
        )

    return cause_by_part | {part.key: end_cause(part) for part in parts if part.kind == "link"}


def grouping_rule(
    changes: Iterable[int], roots: Sequence[UnhealthyPart], members: Sequence[UnhealthyPart]
) -> IncidentRule:
    """Return the widest rule that joins any of the parts.

    Parameters
    ----------
    changes
        The changes of its causes, and its first change.

    """
    if len(set(changes)) > 1:
        return IncidentRule.RACK
    if len(roots) > 1:
        return IncidentRule.CHANGE
    if len(members) == 1:
        return IncidentRule.SINGLE
    return IncidentRule.CONTAINMENT if roots[0].kind == "server" else IncidentRule.END


_WORST_FIRST: Final = tuple(reversed(IncidentSeverity))


@dataclass(frozen=True, slots=True)
class _PartGroup:
    """The parts of one incident, its causes, their changes, and the first change; None if that is unknown."""

    members: tuple[UnhealthyPart, ...]
    causes: tuple[UnhealthyPart, ...]
    changes: tuple[int, ...]
    first_change: int | None

    @property
    def id(self) -> str:
        return self.causes[0].address if self.first_change is None else str(self.first_change)


def list_incidents(connection: Connection, scope: str | None = None) -> list[Incident]:
    """Group unhealthy parts by root cause, worst first, then latest first.

    Parameters
    ----------
    scope
        Only incidents with a part at or below this address, or a link that ends there.

    Raises
    ------
    AddressError, UnknownAddressError

    """
    place = None if scope is None else resolve(connection, scope)
    parts = failures.load_unhealthy_parts(connection)
    summaries = failures.load_event_summaries(
        connection, {event for part in parts for event in (part.failure_event, part.last_event) if event}
    )
    groups = list(_group_parts(connection, parts, summaries))
    if place is not None:
        if place.level == "core":
            place = replace(place, level="chip", id=connection.scalar(chip_ids_of(place)) or 0)
        groups = [group for group in groups if any(common_place.is_in_place(part, place) for part in group.members)]
    summaries |= failures.load_event_summaries(
        connection, {group.first_change for group in groups if group.first_change} - summaries.keys()
    )
    context = IncidentContext.load(connection, (part for group in groups for part in group.members))
    group_places = common_place.smallest_common_place(connection, [group.causes for group in groups])
    unsorted = [
        _build_incident(group, group_place, summaries, context)
        for group, group_place in zip(groups, group_places, strict=True)
    ]
    return sorted(unsorted, key=_sort_key)


def _sort_key(incident: Incident) -> tuple[int, int, str]:
    return _WORST_FIRST.index(incident.severity), -min(incident.changes, default=0), incident.id


def _group_parts(
    connection: Connection, parts: Sequence[UnhealthyPart], summaries: Mapping[int, EventSummary]
) -> Iterator[_PartGroup]:
    summary_by_part = {part.key: summaries[part.failure_event] for part in parts if part.failure_event}
    cause_by_part = root_causes(parts)
    roots = {root.key: root for root in cause_by_part.values()}
    current_failures = [
        FailureEvent(summary_by_part[key].change, summary_by_part[key].time, key)
        for key in roots
        if key in summary_by_part
    ]
    starts = change_windows.window_starts(
        current_failures,
        {key: root.location for key, root in roots.items()},
        partial(failures.load_failure_events, connection),
        partial(failures.load_locations, connection),
    )
    members_by_group: dict[int | PartKey, list[UnhealthyPart]] = defaultdict(list)
    for part in parts:
        root = cause_by_part[part.key].key
        members_by_group[starts[summary_by_part[root].change] if root in summary_by_part else root].append(part)
    for group_key, members in members_by_group.items():
        root_parts = sorted(
            (part for part in members if part.key in roots), key=lambda part: (part.failure_event or 0, part.key)
        )
        changes = {summary_by_part[part.key].change for part in root_parts if part.key in summary_by_part}
        yield _PartGroup(
            tuple(members), tuple(root_parts), tuple(sorted(changes)), group_key if isinstance(group_key, int) else None
        )


def _build_incident(
    group: _PartGroup, place: str | None, summaries: Mapping[int, EventSummary], context: IncidentContext
) -> Incident:
    first_summary, cause_summary = (
        summaries.get(group.first_change or 0),
        summaries.get(group.causes[0].last_event or 0),
    )
    cause_addresses = [part.address for part in group.causes[:MAX_LISTED]]
    servers = dict.fromkeys(server for part in group.causes for server in enclosing_servers(part.address))
    instances = [context.instances[server] for server in servers if server in context.instances]
    findings = list(islice(_related_findings(group, context), MAX_LISTED + 1))
    return Incident(
        id=group.id,
        rule=grouping_rule(
            {*group.changes, *([group.first_change] if group.first_change else [])}, group.causes, group.members
        ),
        severity=classify_severity(group.members),
        place=place,
        causes=tuple(cause_addresses),
        cause_count=len(group.causes),
        parts=_count_parts(group.members),
        independent_failures=sum(part.failed_itself for part in group.members) - len(group.causes),
        started_at=first_summary and first_summary.time,
        who=cause_summary and cause_summary.who,
        why=cause_summary and cause_summary.why,
        source=cause_summary and cause_summary.source,
        last_change=_last_change(group, summaries),
        instances=tuple(instances[:MAX_LISTED]),
        findings=tuple(findings[:MAX_LISTED]),
        truncated=max(len(group.causes), len(instances), len(findings)) > MAX_LISTED,
        changes=group.changes,
        members=group.members,
    )


def _related_findings(group: _PartGroup, context: IncidentContext) -> Iterator[RelatedFinding]:
    for part in group.members:
        yield from context.findings.get(part.address, ())


def _last_change(group: _PartGroup, summaries: Mapping[int, EventSummary]) -> IncidentChange | None:
    latest = max((part.last_event for part in group.members if part.last_event), default=None)
    if latest is None:
        return None
    summary = summaries[latest]
    return IncidentChange(summary.change, summary.time, summary.who, summary.why, summary.source)


def _count_parts(parts: Sequence[UnhealthyPart]) -> tuple[PartCount, ...]:
    counts = Counter((part.kind, part.condition.state) for part in parts)
    ordered = sorted(counts.items(), key=lambda item: (PART_KINDS.index(item[0][0]), -STATES.index(item[0][1])))
    return tuple(PartCount(kind, state, count) for (kind, state), count in ordered)
