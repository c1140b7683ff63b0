"""Group unhealthy parts into incidents by root cause, for commands, GraphQL and `trninv.open`.

The root cause, or cause for short, of a part is its server if that is unhealthy, otherwise the part itself. The cause
of a link is that of one of its ends if an end is unhealthy, otherwise the link itself. Causes share an incident if the
changes that made them unhealthy are in one window: a change, and others in its rack up to five minutes later
(`trninv.incidents.change_windows`). A change has the number of its first event.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from sqlalchemy import Connection

from trninv.database.tables import PART_KINDS, STATES
from trninv.errors import UnknownAddressError
from trninv.incidents import change_windows, common_place, failures
from trninv.incidents.failures import EventSummary, FailureEvent
from trninv.incidents.incident_context import IncidentContext, causing_servers, load_notes
from trninv.incidents.losses import load_losses
from trninv.incidents.model import (
    MAX_LISTED,
    Incident,
    IncidentChange,
    IncidentNote,
    IncidentRule,
    Loss,
    PartCount,
    PartKey,
    RelatedFinding,
    UnhealthyPart,
    classify_severity,
)
from trninv.inventory.address.lookup import Place, resolve
from trninv.inventory.address.rows_in import row_ids_in


def root_causes(parts: Sequence[UnhealthyPart]) -> dict[PartKey, UnhealthyPart]:
    """Map each part's key to its root cause; a link with two unhealthy ends has the cause of its first end."""
    servers = {part.id: part for part in parts if part.kind == "server"}
    # No server has id 0, so a part outside servers is its own cause.
    cause_by_part = {part.key: servers.get(part.location.server or 0, part) for part in parts if part.kind != "link"}

    def link_cause(link: UnhealthyPart) -> UnhealthyPart:
        end_causes = (cause_by_part.get(("node", node_id)) for node_id in link.ends)
        return next(filter(None, end_causes), link)

    return cause_by_part | {part.key: link_cause(part) for part in parts if part.kind == "link"}


def grouping_rule(
    changes: Iterable[int], causes: Sequence[UnhealthyPart], members: Sequence[UnhealthyPart]
) -> IncidentRule:
    """Return the widest rule that joins any parts of an incident.

    Parameters
    ----------
    changes
        Numbers of the changes that made its causes unhealthy, and of the first change of their window.
    causes, members
        The incident's root causes, and all of its parts.

    """
    if len(set(changes)) > 1:
        return IncidentRule.RACK
    if len(causes) > 1:
        return IncidentRule.CHANGE
    if len(members) == 1:
        return IncidentRule.SINGLE
    return IncidentRule.CONTAINMENT if causes[0].kind == "server" else IncidentRule.END


@dataclass(frozen=True, slots=True)
class _PartGroup:
    """The parts of one incident, its causes, and the changes that made the causes unhealthy.

    ``first_change`` is the first change of the incident's window, or None if no change is known.
    """

    members: tuple[UnhealthyPart, ...]
    causes: tuple[UnhealthyPart, ...]
    changes: tuple[int, ...]
    first_change: int | None

    @property
    def id(self) -> str:
        return self.causes[0].address if self.first_change is None else str(self.first_change)


def list_incidents(connection: Connection, scope: str | None = None) -> list[Incident]:
    """Group unhealthy parts by root cause, the worst loss first, and of equal losses the latest.

    Parameters
    ----------
    scope
        An address: only incidents that have a part at or below it, or a link that ends there, are returned.

    Raises
    ------
    AddressError, UnknownAddressError

    """
    place = None if scope is None else resolve_scope(connection, scope)
    parts = failures.load_unhealthy_parts(connection)
    events = {event for part in parts for event in (part.failure_event, part.last_event) if event}
    summaries = failures.load_event_summaries(connection, events)
    groups = list(_group_parts(connection, parts, summaries))
    if place is not None:
        groups = [group for group in groups if any(common_place.is_in_place(part, place) for part in group.members)]
    summaries |= failures.load_event_summaries(
        connection, {group.first_change for group in groups if group.first_change} - summaries.keys()
    )
    context = IncidentContext.load(connection, (part for group in groups for part in group.members))
    group_places = common_place.smallest_common_place(connection, [group.causes for group in groups])
    losses = load_losses(connection, [group.members for group in groups])
    notes = load_notes(connection, {group.id for group in groups})
    incidents = (
        _build_incident(group, group_place, summaries, context, loss, notes.get(group.id, ()))
        for group, group_place, loss in zip(groups, group_places, losses, strict=True)
    )
    return sorted(incidents, key=_sort_key)


def resolve_scope(connection: Connection, scope: str) -> Place:
    """Return the place of an address; of a core, that of its chip, which has a state."""
    try:
        place = resolve(connection, scope)
    except UnknownAddressError as error:
        if scope.strip().isdecimal():
            raise UnknownAddressError(f"{error}; to list incidents, name a place, not an incident's number") from None
        raise
    if place.level == "core":
        return replace(place, level="chip", id=connection.scalar(row_ids_in(place, "chip")) or 0)
    return place


def _sort_key(incident: Incident) -> tuple[int | str, ...]:
    losses = incident.millichips, incident.job_count, incident.chips_lost, incident.bandwidth_lost
    latest_first = -min(incident.changes, default=0)
    return incident.severity_rank, *(-int(loss) for loss in losses), latest_first, incident.id


def _group_parts(
    connection: Connection, parts: Sequence[UnhealthyPart], summaries: Mapping[int, EventSummary]
) -> Iterator[_PartGroup]:
    """Yield the parts of each incident: their causes are in one window, or they have one cause of unknown change."""
    summary_by_part = {part.key: summaries[part.failure_event] for part in parts if part.failure_event}
    cause_by_part = root_causes(parts)
    cause_by_key = {cause.key: cause for cause in cause_by_part.values()}
    current_failures = [
        FailureEvent(summary_by_part[key].change, summary_by_part[key].time, key)
        for key in cause_by_key
        if key in summary_by_part
    ]
    starts = change_windows.window_starts(
        current_failures,
        {key: cause.location for key, cause in cause_by_key.items()},
        partial(failures.load_failure_events, connection),
        partial(failures.load_locations, connection),
    )
    members_by_group: dict[int | PartKey, list[UnhealthyPart]] = defaultdict(list)
    for part in parts:
        cause_key = cause_by_part[part.key].key
        group_key: int | PartKey = (
            starts[summary_by_part[cause_key].change] if cause_key in summary_by_part else cause_key
        )
        members_by_group[group_key].append(part)
    for group_key, members in members_by_group.items():
        causes = sorted(
            (part for part in members if part.key in cause_by_key), key=lambda part: (part.failure_event or 0, part.key)
        )
        changes = {summary_by_part[part.key].change for part in causes if part.key in summary_by_part}
        first_change = group_key if isinstance(group_key, int) else None
        yield _PartGroup(tuple(members), tuple(causes), tuple(sorted(changes)), first_change)


def _build_incident(
    group: _PartGroup,
    place: str | None,
    summaries: Mapping[int, EventSummary],
    context: IncidentContext,
    loss: Loss,
    notes: Sequence[IncidentNote],
) -> Incident:
    first_summary = summaries.get(group.first_change or 0)  # no event has number 0
    cause_summary = summaries.get(group.causes[0].last_event or 0)
    cause_addresses = [part.address for part in group.causes[:MAX_LISTED]]
    servers = causing_servers(group.causes)
    instances = [context.instances[server] for server in servers if server in context.instances]
    findings = list(islice(_related_findings(group, context), MAX_LISTED + 1))
    return Incident(
        id=group.id,
        rule=grouping_rule(
            {*group.changes, *([group.first_change] if group.first_change else [])}, group.causes, group.members
        ),
        severity=classify_severity(group.members, loss),
        place=place,
        causes=tuple(cause_addresses),
        cause_count=len(group.causes),
        parts=count_parts(group.members),
        independent_failures=sum(part.failed_itself for part in group.members) - len(group.causes),
        started_at=first_summary and first_summary.time,
        who=cause_summary and cause_summary.who,
        why=cause_summary and cause_summary.why,
        source=cause_summary and cause_summary.source,
        last_change=_last_change(group, summaries),
        instances=tuple(instances[:MAX_LISTED]),
        findings=tuple(findings[:MAX_LISTED]),
        truncated=max(len(group.causes), len(instances), len(findings)) > MAX_LISTED,
        chips_lost=loss.chips,
        bandwidth_lost=loss.bandwidth,
        jobs=loss.jobs[:MAX_LISTED],
        job_count=len(loss.jobs),
        notes=tuple(notes[-MAX_LISTED:]),
        changes=group.changes,
        members=group.members,
        millichips=loss.millichips,
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


def count_parts(parts: Iterable[UnhealthyPart]) -> tuple[PartCount, ...]:
    """Count parts by kind and state, servers first."""
    counts = Counter((part.kind, part.condition.state) for part in parts)
    ordered = sorted(counts.items(), key=lambda item: (PART_KINDS.index(item[0][0]), -STATES.index(item[0][1])))
    return tuple(PartCount(kind, state, count) for (kind, state), count in ordered)
