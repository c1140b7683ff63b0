"""Find what a receiver has not got yet: events, incidents that opened or ended, and checks that fail or recovered."""

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection

from trninv.checks.check_report import CheckReport, CheckStatus
from trninv.history.events import Event, last_event_number, list_events
from trninv.incidents.grouping import list_incidents
from trninv.incidents.model import Incident, IncidentSeverity
from trninv.units import current_timestamp, pluralize
from trninv.webhooks.message import Message
from trninv.webhooks.progress import ReceiverProgress
from trninv.webhooks.receiver import Receiver

PAGE_SIZE: Final = 500
"""The most events that are read at a time."""


Step = Callable[[ReceiverProgress], ReceiverProgress]
"""Returns a receiver's progress once it has a message."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages to send, in their order.

    Attributes
    ----------
    messages
        Each with its step.
    newest_event
        Number of the last event that is sent or not selected after all of them.
    is_complete
        Whether the receiver then has everything.

    """

    messages: list[tuple[Message, Step]]
    newest_event: int
    is_complete: bool


def first_progress(connection: Connection, receiver: Receiver) -> ReceiverProgress:
    """Return the progress of a new receiver, which gets what happens from now on."""
    incidents = {
        incident.id: _describe_incident(incident) for incident in _selected_incidents(connection, receiver, ())
    }
    return ReceiverProgress(last_event_number(connection), incidents)


def collect_messages(
    connection: Connection, receiver: Receiver, progress: ReceiverProgress, report: CheckReport | None
) -> Batch:
    """Return the next messages for a receiver.

    Raises
    ------
    TrninvError
        A selection names a place that does not exist.

    """
    messages, is_complete = list[tuple[Message, Step]](), True
    newest = last_event_number(connection)
    after = min(progress.last_event, newest)  # a restored backup has fewer events
    if receiver.events:
        filters = dict(receiver.events.filters)
        scope = filters.pop("scope", None)
        events = list(list_events(connection, scope, limit=PAGE_SIZE, after=after, **filters))
        for event in events:
            if receiver.events.state is None or (event.after and event.after.state == receiver.events.state):
                messages.append((_event_message(event), partial(_with_event, event.event)))
        is_complete = len(events) < PAGE_SIZE
        newest = newest if is_complete else events[-1].event
    messages += _incident_messages(connection, receiver, progress)
    messages += _check_messages(receiver, progress, report)
    return Batch(messages, newest, is_complete)


def _with_event(number: int, progress: ReceiverProgress) -> ReceiverProgress:
    return replace(progress, last_event=number)


def _with_incident(incident: Mapping[str, Any], progress: ReceiverProgress) -> ReceiverProgress:
    return replace(progress, incidents={**progress.incidents, incident["id"]: incident})


def _without_incident(number: str, progress: ReceiverProgress) -> ReceiverProgress:
    return replace(progress, incidents={key: value for key, value in progress.incidents.items() if key != number})


def _with_check(name: str, passed: bool, progress: ReceiverProgress) -> ReceiverProgress:  # a value, not a flag
    return replace(progress, checks={**progress.checks, name: passed})


def _event_message(event: Event) -> Message:
    subject = " ".join(filter(None, [event.job, event.address]))
    change = event.action or f"{event.before and event.before.state} → {event.after and event.after.state}"
    text = f"{subject}: {change} by {event.who}" + (f", {event.why}" if event.why else "")
    return Message.create("event.recorded", [event.event, event.at], event.at, text, event.to_json())


def _selected_incidents(connection: Connection, receiver: Receiver, reported: Container[str]) -> list[Incident]:
    selection = receiver.incidents
    if selection is None:
        return []
    severities = list(IncidentSeverity)
    lowest = severities.index(selection.severity)
    # one that was reported stays until it closes, however its severity changes
    return [
        incident
        for incident in list_incidents(connection, selection.scope)
        if incident.id in reported or severities.index(incident.severity) >= lowest
    ]


def _describe_incident(incident: Incident) -> dict[str, Any]:
    return {
        "id": incident.id,
        "severity": incident.severity.name,
        "place": incident.place,
        "causes": incident.causes[:10],
        "causeCount": incident.cause_count,
        "parts": [{"kind": part.kind, "state": part.state, "count": part.count} for part in incident.parts],
        "startedAt": incident.started_at,
        "who": incident.who,
        "why": incident.why,
    }


def _incident_messages(
    connection: Connection, receiver: Receiver, progress: ReceiverProgress
) -> Iterator[tuple[Message, Step]]:
    if receiver.incidents is None:
        return
    selected = _selected_incidents(connection, receiver, progress.incidents)
    current = {incident.id: _describe_incident(incident) for incident in selected}
    for number, incident in reversed(current.items()):  # the latest and worst last, where readers look first
        if number not in progress.incidents:
            yield _incident_message("incident.opened", incident), partial(_with_incident, incident)
    for number, resolved in progress.incidents.items():
        if number not in current:
            yield _incident_message("incident.resolved", resolved), partial(_without_incident, number)


def _incident_message(kind: str, incident: Mapping[str, Any]) -> Message:
    place = incident["place"] or "several clusters"
    why = f" ({incident['why']})" if incident["why"] else ""
    text = f"incident {incident['id']} {kind.partition('.')[2]}: {incident['severity'].lower()}, {place}, "
    text += f"{pluralize(incident['causeCount'], 'cause')}{why}"
    is_open = kind == "incident.opened"
    time = incident["startedAt"] if is_open and incident["startedAt"] else current_timestamp()
    return Message.create(kind, [incident["id"], incident["startedAt"]], time, text, incident)


def _check_messages(
    receiver: Receiver, progress: ReceiverProgress, report: CheckReport | None
) -> Iterator[tuple[Message, Step]]:
    if receiver.checks is None or report is None:
        return
    names = receiver.checks.names
    for status in report.statuses:
        is_selected = names is None or status.name in names
        if is_selected and progress.checks.get(status.name, True) != status.passed:
            yield _check_message(status), partial(_with_check, status.name, status.passed)


def _check_message(status: CheckStatus) -> Message:
    kind = "check.recovered" if status.passed else "check.failed"
    text = f"{status.name}: {status.value}, {status.bounds}" if status.passed else str(status)
    data = {
        "name": status.name,
        "measure": status.measure,
        "verdict": status.verdict.name,
        "value": status.value,
        "bounds": status.bounds,
        "explanation": status.explanation,
    }
    return Message.create(kind, [status.name, status.changed_at], status.changed_at, text, data)
