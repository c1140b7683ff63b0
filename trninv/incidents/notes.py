"""Read the notes on incidents."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Final

from sqlalchemy import Connection, select

from trninv.database.tables import TABLES
from trninv.incidents.model import IncidentNote

_NOTE = TABLES["incident_note"]
_COLUMNS: Final = tuple(_NOTE.c[name] for name in ("incident", "written_at", "who", "source", "text"))
_MAX_IDS: Final = 500
"""The most incidents that a query lists; if there are more, all notes are read and filtered here."""


def load_notes(connection: Connection, incidents: Collection[str]) -> Mapping[str, list[IncidentNote]]:
    """Return the notes on some incidents, by incident, oldest first."""
    query = select(*_COLUMNS).order_by(_NOTE.c.id)
    if len(incidents) <= _MAX_IDS:
        query = query.where(_NOTE.c.incident.in_(incidents))
    notes = defaultdict[str, list[IncidentNote]](list)
    for row in connection.execute(query):
        notes[row.incident].append(IncidentNote(*row))
    return notes
