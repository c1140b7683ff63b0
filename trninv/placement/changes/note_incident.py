"""Write a note on an incident."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Annotated

from sqlalchemy import Connection, and_, insert, literal_column, or_, select

from trninv.characters import has_forbidden_characters
from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES
from trninv.errors import InvalidArgumentError
from trninv.incidents.failures import MAX_EVENT
from trninv.incidents.grouping import list_incidents
from trninv.incidents.model import Incident, IncidentNote
from trninv.inventory.change import change
from trninv.inventory.parameter import Argument
from trninv.inventory.state.author import MAX_LENGTH
from trninv.placement.allocations.job_allocations import change_transaction

_NOTE, _EVENT = TABLES["incident_note"], TABLES["state_event"]


def _render(note: IncidentNote) -> Iterator[str]:
    yield f"noted on incident {note.incident}"


@change(
    scope="operate",
    returns={"note": "The note."},
    undo="Notes are kept; write another one that corrects it.",
    render=_render,
    command="note",
    examples=('note 4711 "spare ordered, on site at 09:00"',),
)
def note_incident(
    connection: Connection,
    incident: Annotated[
        str, Argument("Id of the incident, open or closed: a number or an address.", metavar="INCIDENT", is_text=True)
    ],
    text: Annotated[str, Argument("The note, in one line.", metavar="TEXT", is_text=True)],
    *,
    who: str,
    source: str = "command",
) -> IncidentNote:
    """Write a note on an incident.

    Notes have an author and a time, and are never changed or deleted. `trninv incidents --impact` and the explorer show
    them.
    """
    if not text.strip() or len(text) > MAX_LENGTH or has_forbidden_characters([text]) or not text.isprintable():
        raise InvalidArgumentError(f"text: write 1 to {MAX_LENGTH:,} printable characters, without line breaks")
    with change_transaction(connection, who=who, source=source) as time:
        if not _is_failure(connection, incident):
            _require_open(list_incidents(connection), incident)
        note = IncidentNote(incident, time, who, source, text)
        connection.execute(insert(_NOTE).values(id=next_id(connection, _NOTE), **asdict(note)))
    return note


def _require_open(incidents: Iterable[Incident], name: str) -> None:
    """Refuse a name that is not the id of an open incident; the message names those of the place with that address."""
    ids = list[str]()
    for incident in incidents:
        if incident.id == name:
            return
        if name in (incident.place, *incident.causes):
            ids.append(incident.id)
    names = " or ".join(ids[:3])
    hint = f"the incident there is {names}" if names else "write an id that trninv incidents lists"
    raise InvalidArgumentError(f"no incident {name[:100]!r}: {hint}")


def _is_failure(connection: Connection, number: str) -> bool:
    """Return whether this is the number of a change that made a part unhealthy: of an incident, open or closed."""
    if not (number.isascii() and number.isdecimal() and len(number) <= len(str(MAX_EVENT))):
        return False
    if str(int(number)) != number or int(number) > MAX_EVENT:
        return False
    is_first = and_(_EVENT.c.batch.is_(None), _EVENT.c.id == int(number))
    is_failure = _EVENT.c.kind.is_not(None), _EVENT.c.state != literal_column("'up'")
    query = select(_EVENT.c.id).where(or_(_EVENT.c.batch == int(number), is_first), *is_failure)
    return connection.scalar(query.limit(1)) is not None
