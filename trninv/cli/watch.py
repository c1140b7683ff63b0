"""watch: what is not up, shown anew after every change."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Final, TypeAlias

import click

import trninv
from trninv.cli.incidents import HEADERS, KINDS, SPARE, UNSEEDED, cells, is_unseeded
from trninv.cli.output import rows
from trninv.cli.places import PLACE
from trninv.errors import NotReachableError
from trninv.incidents.model import Incident
from trninv.inventory.revision import Revision
from trninv.jobs.fleet import Fleet
from trninv.units import counted

Lines: TypeAlias = Sequence[Sequence[object]]
Draw: TypeAlias = Callable[[str, Sequence[str], Lines], None]
_SECONDS: Final = 1.0
"""Between two looks whether anything changed."""
_SHOWN: Final = 200
"""Incidents that are shown; the others are counted."""


@click.command()
@click.argument("scope", required=False, type=PLACE)
@click.pass_obj
def watch(database: str, scope: str | None) -> None:
    """What is not up, shown anew after every change, until Ctrl-C.

    In a terminal as one screen; into a pipe a table for each state. A database that does not answer is waited for.

    \b
    trninv watch
    trninv watch u-trn2x64/d0
    """
    with suppress(KeyboardInterrupt), trninv.open(database) as fleet, _shown() as draw:
        for heading, found in _states(fleet, scope):
            draw(heading, HEADERS, [cells(each) for each in found[:_SHOWN]])


def _states(fleet: Fleet, scope: str | None) -> Iterator[tuple[str, list[Incident]]]:
    """What is not up, and that in a line: now, and each time that it is something else or can't be asked."""
    watched, seen, told, was, is_waiting = Revision(fleet.engine), None, None, "", False
    while True:
        revision = watched.current()
        if revision is None or revision != seen:
            try:
                with fleet.in_one_state() as one:
                    found = one.incidents(scope)
                    nothing = UNSEEDED if is_unseeded(one) else "everything is up"
            except NotReachableError as error:
                if told is None:
                    raise
                if not is_waiting:
                    yield f"{error}: waiting for it; this is how it was", told
                revision, is_waiting = None, True
            else:
                if found != told or nothing != was or is_waiting:
                    yield _heading(scope, found, nothing), found
                told, was, is_waiting = found, nothing, False
            seen = revision
        time.sleep(_SECONDS)


def _heading(scope: str | None, found: Sequence[Incident], nothing: str) -> str:
    parts = Counter(part.kind for each in found for part in each.parts for _ in range(part.count))
    what = ", ".join(counted(count, KINDS.get(kind, kind)) for kind, count in parts.items())
    more = f"; the first {_SHOWN}" if len(found) > _SHOWN else ""
    told = f"{counted(len(found), 'incident')}: {what} not up{more}" if found else nothing
    return f"{scope or 'all clusters'}, {datetime.now(UTC):%Y-%m-%d %H:%M:%S}Z: {told}"


@contextmanager
def _shown() -> Iterator[Draw]:
    if sys.stdout.isatty():
        from trninv.cli.terminal import screen  # noqa: PLC0415 # a pipe does without

        with screen(SPARE) as draw:
            yield draw
    else:
        yield _printed


def _printed(heading: str, headers: Sequence[str], lines: Lines) -> None:
    click.echo(heading)
    if lines:
        rows(headers, lines)
    click.echo()
    sys.stdout.flush()
