"""Table of the notes that people write on incidents."""

from sqlalchemy import Index, String, Table, Text

from trninv.database.tables.columns import METADATA, check_one_of, described, primary_key, required_column
from trninv.database.tables.vocabulary import EVENT_SOURCES

Table(
    "incident_note",
    METADATA,
    primary_key(),
    required_column("incident", Text),
    required_column("written_at", Text),
    required_column("who", Text),
    required_column("source", String(8)),
    required_column("text", Text),
    check_one_of("source", EVENT_SOURCES),
    Index(None, "incident"),
    info=described(
        "a [note](incidents.md#notes) on an incident; rows are never updated or deleted",
        incident="its id: the number of its first event, or an address",
    ),
)
