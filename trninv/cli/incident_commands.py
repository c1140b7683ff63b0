"""List incidents and their impact, and watch them (`incidents`, `watch`)."""

import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Final, TypeAlias

import click

from trninv.cli.database_connection import NOT_ANSWERING, at_option, open_fleet, read_revision
from trninv.cli.messages import format_unapplied, print_hint, print_wrapped
from trninv.cli.output import encode, format_option, print_table, print_value
from trninv.cli.progress_line import Progress
from trninv.cli.shell_completion import ADDRESS
from trninv.errors import InvalidArgumentError, UsageError
from trninv.incidents.losses import job_name
from trninv.incidents.model import ClosedIncident, DomainImpact, Impact, Incident, PartCount, RelatedFinding
from trninv.inventory.address.lookup import NO_CLUSTER_MESSAGE
from trninv.inventory.state.condition import state_in_words
from trninv.placement.placement_fleet import Fleet
from trninv.routing.evidence import ServerInstance
from trninv.units import pluralize

INCIDENT_HEADERS: Final = ("incident", "severity", "place", "what", "rule", "since", "who", "why")
_CLOSED_HEADERS: Final = (
    "incident",
    "severity",
    "place",
    "what",
    "since",
    "closed",
    "why",
    "closed by",
    "closing reason",
)
OPTIONAL_COLUMNS: Final = ("rule", "who", "severity")
"""Columns that are omitted on a narrow terminal, in this order."""
_MAX_INSTANCES: Final = 8
"""The most instances that the lines of an incident's impact name."""
_MAX_COMMANDS: Final = 3
"""The most commands that say where jobs can go."""
KIND_NAMES: Final = {"nic": "NIC", "network_node": "network node"}


@click.command()
@click.argument("scope", required=False, metavar="[SCOPE]", type=ADDRESS)
@click.option(
    "--impact",
    "with_impact",
    is_flag=True,
    help="Also show what each incident affects: chips, memory, jobs and domains; and its notes.",
)
@click.option("--closed", is_flag=True, help="List the last 200 incidents that have closed instead, the latest first.")
@at_option
@format_option
@click.pass_obj
def incidents(database: str, scope: str | None, with_impact: bool, closed: bool, as_of: str | None, style: str) -> None:
    """List incidents: unhealthy parts, grouped by root cause.

    The worst loss of chips and bandwidth comes first. A server and its parts form one incident; so do all parts of one
    change, and changes in one rack within five minutes. An incident has the number of its first event, which --at
    accepts.

    \b
    trninv incidents
    trninv incidents u-trn2x64/d0 --impact
    trninv incidents --closed
    trninv incidents --at 2026-11-22T02:00:00Z
    """
    if closed and with_impact:
        raise UsageError(
            "--closed: a closed incident has no impact; omit --impact (trninv list incident-note has its notes)"
        )
    with open_fleet(database) as current_fleet:
        fleet = current_fleet if as_of is None else current_fleet.at(as_of)
        if closed:
            with Progress("incidents"):
                closed_list = fleet.closed_incidents(scope)
            print_value(
                style, [encode(incident) for incident in closed_list], lambda: _render_closed(closed_list, scope)
            )
            return
        with fleet.snapshot() as snapshot, Progress("incidents"):
            incident_list = snapshot.incidents(scope)
            is_empty = not incident_list and has_no_cluster(snapshot)
            impacts = [snapshot.impact(incident) for incident in incident_list] if with_impact else []
            unapplied = snapshot.unapplied_findings(scope)
    answer_json = [encode(incident) for incident in incident_list]
    for incident, impact in zip(answer_json, impacts, strict=False):  # no impacts without --impact
        incident["impact"] = encode(impact)
    print_value(
        style,
        answer_json,
        lambda: (
            print_wrapped(NO_CLUSTER_MESSAGE)
            if is_empty
            else _render_incidents(incident_list, impacts, scope, unapplied)
        ),
    )


def has_no_cluster(fleet: Fleet) -> bool:
    """Return whether the database has no cluster."""
    try:
        fleet.only_cluster()
    except InvalidArgumentError as error:  # there are none or several
        return str(error).startswith(NO_CLUSTER_MESSAGE)
    return False


def _render_incidents(
    incident_list: list[Incident], impacts: list[Impact], scope: str | None, unapplied: Sequence[RelatedFinding]
) -> None:
    if not incident_list:
        start = "" if scope is None else f"{scope}: "
        print_wrapped(f"{start}everything is up{format_unapplied(unapplied, scope, '; ')}")
        return
    headers, rows = _with_notes(INCIDENT_HEADERS, map(incident_row, incident_list), incident_list)
    print_table(headers, rows, optional_columns=OPTIONAL_COLUMNS)
    if not impacts:
        print_hint(f"what they affect: trninv incidents{'' if scope is None else f' {scope}'} --impact")
    for incident, impact in zip(incident_list, impacts, strict=False):
        click.echo()
        for line in _render_impact(incident, impact):
            print_wrapped(line)
    if unapplied:
        print_wrapped(f"\n{format_unapplied(unapplied, scope)}")


def _render_closed(incident_list: list[ClosedIncident], scope: str | None) -> None:
    rows = (
        [
            incident.id,
            incident.severity.lower(),
            _describe_place(incident),
            describe_parts(incident.parts),
            incident.started_at,
            incident.closed_at,
            incident.why,
            incident.closed_by,
            incident.closed_why,
        ]
        for incident in incident_list
    )
    empty_text = f"{'' if scope is None else f'{scope}: '}no incident has closed"
    headers, cells = _with_notes(_CLOSED_HEADERS, rows, incident_list)
    print_table(headers, cells, optional_columns=("closing reason", "severity", "since"), empty_text=empty_text)


def _with_notes(
    headers: Sequence[str], rows: Iterable[Sequence[object]], incident_list: Sequence[Incident | ClosedIncident]
) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
    """Return headers and rows with a column of the last notes, if there are notes; --impact and the API have all."""
    if not any(incident.notes for incident in incident_list):
        return headers, rows
    return (*headers, "last note"), (
        [*row, f"{incident.notes[-1].who}: {incident.notes[-1].text}" if incident.notes else ""]
        for row, incident in zip(rows, incident_list, strict=True)
    )


def describe_parts(parts: Iterable[PartCount]) -> str:
    """Return parts by kind and state in words."""
    return ", ".join(
        f"{pluralize(part.count, KIND_NAMES.get(part.kind, part.kind))} {state_in_words(part.state)}" for part in parts
    )


def incident_row(incident: Incident) -> list[object]:
    """Return an incident as a row below `INCIDENT_HEADERS`."""
    return [
        incident.id,
        incident.severity.lower(),
        _describe_place(incident),
        describe_parts(incident.parts),
        incident.rule.lower(),
        incident.started_at,
        incident.who,
        incident.why,
    ]


def _describe_place(incident: Incident | ClosedIncident) -> str:
    """Return the place of an incident, with the instance and host of its server if it is only one."""
    place = incident.place or "several clusters"
    return f"{place} ({_machine_names(incident.instances[0])})" if len(incident.instances) == 1 else place


def _machine_names(instance: ServerInstance) -> str:
    return ", ".join(filter(None, (instance.instance, instance.host)))


def _render_impact(incident: Incident, impact: Impact) -> Iterator[str]:
    losses = (
        f"{pluralize(impact.chips, 'chip')} with {pluralize(impact.cores, 'core')} and {impact.memory} out of service"
    )
    yield f"incident {incident.id}: {losses}"
    if len(incident.instances) > 1:
        listed = [f"{item.server} ({_machine_names(item)})" for item in incident.instances[:_MAX_INSTANCES]]
        more = f" and {len(incident.instances) - len(listed)} more" if len(incident.instances) > len(listed) else ""
        yield f"  instances: {', '.join(listed)}{more}"
    for job in impact.jobs:
        yield f"  job {job.name} ({job.who}): {job.affected_chips:,} of its {pluralize(job.chips, 'chip')}"
    for reservation in impact.reservations:
        times = f"{'begun' if reservation.has_begun else 'begins'} {reservation.from_at}, until {reservation.until_at}"
        chips = f"{reservation.affected_chips:,} of its {pluralize(reservation.chips, 'chip')}"
        yield f"  reservation {reservation.name} ({times}): {chips}"
    for domain in impact.domains:
        yield from _render_domain_impact(domain)
    for note in incident.notes:
        yield f"  note {note.written_at} {note.who}: {note.text}"
    if commands := _commands_for_jobs(incident, impact):
        more = "; …" if len(commands) > _MAX_COMMANDS else ""
        yield f"  where its jobs can go: {'; '.join(map(shlex.join, commands[:_MAX_COMMANDS]))}{more}"
    if impact.truncated:
        yield (
            f"  omitted: {impact.domain_count - len(impact.domains):,} of {pluralize(impact.domain_count, 'domain')}, "
            f"{impact.job_count - len(impact.jobs):,} of {pluralize(impact.job_count, 'job')}"
        )


def _commands_for_jobs(incident: Incident, impact: Impact) -> list[list[str]]:
    """Return the commands that say where an incident's jobs can go: `replace` only for jobs with chips that are down.

    The other jobs are at a link, switch or NIC, or at a degraded chip; a NIC can't be drained, but its server can.
    """
    with_lost_chips = set(map(job_name, impact.jobs)) if impact.chips else set()
    commands = [["trninv", "replace", job] for job in incident.jobs if job in with_lost_chips]
    if len(commands) < len(incident.jobs):
        nics = {part.address for part in incident.members if part.kind == "nic"}
        places = (cause.rpartition("/")[0] if cause in nics else cause for cause in incident.causes)
        commands += [["trninv", "drain-impact", place] for place in dict.fromkeys(places)]
    return commands


def _render_domain_impact(impact: DomainImpact) -> Iterator[str]:
    remark = f", not comparable: {impact.incomparable}" if impact.incomparable else ""
    yield f"  {impact.domain}: with its parts up → now"
    yield f"    chips {impact.chips_before:,} → {impact.chips_now:,}"
    yield f"    idle links {impact.idle_links_before:,} → {impact.idle_links_now:,}"
    yield f"    largest pool {impact.pool_before} → {impact.pool_now}"
    yield f"    bisection {impact.bisection_before} → {impact.bisection_now}{remark}"
    yield f"    all-gather {impact.all_gather_before} → {impact.all_gather_now}"


Rows: TypeAlias = Sequence[Sequence[object]]
DrawFunction: TypeAlias = Callable[[str, Sequence[str], Rows], None]
_POLL_SECONDS: Final = 1.0
"""Time between two checks for changes."""
_MAX_INCIDENTS: Final = 200
"""The maximum number of incidents that `watch` shows; further ones are only counted."""


@click.command()
@click.argument("scope", required=False, type=ADDRESS)
@click.pass_obj
def watch(database: str, scope: str | None) -> None:
    """Show incidents and update after every change, until Ctrl-C.

    A terminal shows one screen; a pipe gets a new table after each change. If the database is unreachable, the command
    retries.

    \b
    trninv watch
    trninv watch u-trn2x64/d0
    """
    with suppress(KeyboardInterrupt), open_fleet(database) as fleet, _open_display() as draw:
        for heading, incidents in _generate_states(fleet, scope):
            draw(heading, INCIDENT_HEADERS, [incident_row(incident) for incident in incidents[:_MAX_INCIDENTS]])


def _generate_states(fleet: Fleet, scope: str | None) -> Iterator[tuple[str, list[Incident]]]:
    """Yield a heading and the incidents now, after each change, and when the database becomes unreachable or returns.

    If the database is unreachable at the start, UnreachableError is raised.
    """
    last_revision, last_incidents = None, None
    last_remarks, is_waiting = ("", ""), False
    while True:
        revision = read_revision(fleet)
        if revision is None or revision != last_revision:
            try:
                with fleet.snapshot() as snapshot:
                    incidents = snapshot.incidents(scope)
                    unapplied = format_unapplied(snapshot.unapplied_findings(scope), scope, "; ")
                    empty_text = NO_CLUSTER_MESSAGE if has_no_cluster(snapshot) else "everything is up"
            except NOT_ANSWERING as error:
                if last_incidents is None:
                    raise
                if not is_waiting:
                    yield f"{error}: retrying; this is the last known state", last_incidents
                revision, is_waiting = None, True
            else:
                remarks = empty_text, unapplied
                if incidents != last_incidents or remarks != last_remarks or is_waiting:
                    yield _format_heading(scope, incidents, empty_text) + unapplied, incidents
                last_incidents, last_remarks, is_waiting = incidents, remarks, False
            last_revision = revision
        time.sleep(_POLL_SECONDS)


def _format_heading(scope: str | None, incidents: Sequence[Incident], empty_text: str) -> str:
    parts = Counter(part.kind for incident in incidents for part in incident.parts for _ in range(part.count))
    counts = ", ".join(pluralize(count, KIND_NAMES.get(kind, kind)) for kind, count in parts.items())
    remark = f"; the first {_MAX_INCIDENTS} are shown" if len(incidents) > _MAX_INCIDENTS else ""
    summary = f"{pluralize(len(incidents), 'incident')}: {counts} unhealthy{remark}" if incidents else empty_text
    return f"{scope or 'all clusters'}, {datetime.now(UTC):%Y-%m-%d %H:%M:%S}Z: {summary}"


@contextmanager
def _open_display() -> Iterator[DrawFunction]:
    if sys.stdout.isatty():
        from trninv.cli.terminal import full_screen  # noqa: PLC0415 # not needed if output is piped

        with full_screen(OPTIONAL_COLUMNS) as draw:
            yield draw
    else:
        yield _print_display


def _print_display(heading: str, headers: Sequence[str], lines: Rows) -> None:
    click.echo(heading)
    if lines:
        print_table(headers, lines)
    click.echo()
    sys.stdout.flush()
