"""Show incidents again after every change (`watch`)."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Final, TypeAlias

import click

import trninv
from trninv.cli.incidents import (
    EMPTY_DATABASE_HINT,
    INCIDENT_HEADERS,
    KIND_NAMES,
    OPTIONAL_COLUMNS,
    has_no_cluster,
    incident_row,
)
from trninv.cli.output import print_table
from trninv.cli.places import ADDRESS
from trninv.errors import UnreachableError
from trninv.incidents.model import Incident
from trninv.inventory.revision import RevisionTracker
from trninv.jobs.fleet import Fleet
from trninv.units import pluralize

Rows: TypeAlias = Sequence[Sequence[object]]
DrawFunction: TypeAlias = Callable[[str, Sequence[str], Rows], None]
_POLL_SECONDS: Final = 1.0
"""Time between two checks for changes."""
_MAX_INCIDENTS: Final = 200
"""Incidents that are shown; the others are only counted."""


@click.command()
@click.argument("scope", required=False, type=ADDRESS)
@click.pass_obj
def watch(database: str, scope: str | None) -> None:
    """What is not up, shown anew after every change, until Ctrl-C.

    In a terminal as one screen; into a pipe a table for each state. A database that does not answer is waited for.

    \b
    trninv watch
    trninv watch u-trn2x64/d0
    """
    with suppress(KeyboardInterrupt), trninv.open(database) as fleet, _open_display() as draw:
        for heading, incidents in _generate_states(fleet, scope):
            draw(heading, INCIDENT_HEADERS, [incident_row(incident) for incident in incidents[:_MAX_INCIDENTS]])


def _generate_states(fleet: Fleet, scope: str | None) -> Iterator[tuple[str, list[Incident]]]:
    """Yield a heading and the incidents now and after each change, and when the database becomes unreachable."""
    revision_source, last_revision, last_incidents, last_empty_text, is_waiting = (
        RevisionTracker(fleet.engine),
        None,
        None,
        "",
        False,
    )
    while True:
        revision = revision_source.current()
        if revision is None or revision != last_revision:
            try:
                with fleet.snapshot() as snapshot:
                    incidents = snapshot.incidents(scope)
                    empty_text = EMPTY_DATABASE_HINT if has_no_cluster(snapshot) else "everything is up"
            except UnreachableError as error:
                if last_incidents is None:
                    raise
                if not is_waiting:
                    yield f"{error}: waiting for it; this is how it was", last_incidents
                revision, is_waiting = None, True
            else:
                if incidents != last_incidents or empty_text != last_empty_text or is_waiting:
                    yield _format_heading(scope, incidents, empty_text), incidents
                last_incidents, last_empty_text, is_waiting = incidents, empty_text, False
            last_revision = revision
        time.sleep(_POLL_SECONDS)


def _format_heading(scope: str | None, incidents: Sequence[Incident], empty_text: str) -> str:
    parts = Counter(part.kind for incident in incidents for part in incident.parts for _ in range(part.count))
    counts = ", ".join(pluralize(count, KIND_NAMES.get(kind, kind)) for kind, count in parts.items())
    remark = f"; the first {_MAX_INCIDENTS}" if len(incidents) > _MAX_INCIDENTS else ""
    summary = f"{pluralize(len(incidents), 'incident')}: {counts} not up{remark}" if incidents else empty_text
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
