"""Group unhealthy parts into incidents by root cause: docs/reference/incidents.md."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Final

from sqlalchemy import Connection

from trninv.incidents import places, reading, windows
from trninv.incidents.beside import IncidentContext, enclosing_servers
from trninv.incidents.causes import grouping_rule, root_causes
from trninv.incidents.model import (
    MAX_LISTED,
    Incident,
    IncidentChange,
    IncidentSeverity,
    PartCount,
    PartKey,
    RelatedFinding,
    UnhealthyPart,
    classify_severity,
)
from trninv.incidents.reading import EventSummary, FailureEvent
from trninv.inventory.address import chip_ids_of, resolve
from trninv.inventory.schema import PART_KINDS, STATES

_WORST_FIRST: Final = tuple(reversed(IncidentSeverity))


@dataclass(frozen=True, slots=True)
class _PartGroup:
    """Parts that are one incident, their causes, the changes of those, and the first change of all; None: not known."""

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
    parts = reading.load_unhealthy_parts(connection)
    summaries = reading.load_event_summaries(
        connection, {event for part in parts for event in (part.failure_event, part.last_event) if event}
    )
    groups = list(_group_parts(connection, parts, summaries))
    if place is not None:
        if place.level == "core":
            place = replace(place, level="chip", id=connection.scalar(chip_ids_of(place)) or 0)
        groups = [group for group in groups if any(places.is_in_place(part, place) for part in group.members)]
    summaries |= reading.load_event_summaries(
        connection, {group.first_change for group in groups if group.first_change} - summaries.keys()
    )
    context = IncidentContext.load(connection, (part for group in groups for part in group.members))
    group_places = places.smallest_common_place(connection, [group.causes for group in groups])
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
    starts = windows.window_starts(
        current_failures,
        {key: root.location for key, root in roots.items()},
        partial(reading.load_failure_events, connection),
        partial(reading.load_locations, connection),
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
