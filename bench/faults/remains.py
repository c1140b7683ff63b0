"""Read what a killed command left in a database or directory, to compare it with what it should leave."""

from pathlib import Path
from typing import Any

from sqlalchemy import Connection, inspect, text

from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import database_file, file_exists, read_transaction, temporary_engine
from trninv.inventory.seeding.verification import verify

_VARYING_COLUMNS = {
    *("at", "created", "expires", "known_since", "revoked", "sha256", "taken_at", "seen_at", "since", "until"),
    *("first_seen", "last_seen", "cleared_at", "started_at", "ended_at"),
}
"""Columns with times or random values: only whether they have a value is compared."""
_SCHEMA = {
    "sqlite": ["SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2", "PRAGMA integrity_check"],
    "postgresql": [
        "SELECT relkind::text, relname FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1, 2",
        "SELECT viewname, definition FROM pg_views WHERE schemaname = 'public' ORDER BY 1",
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid <> 0 ORDER BY 1, 2",
        "SELECT tgname, tgenabled::text FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1",
    ],
}

Content = dict[str, Any]


def read_database(url: str) -> Content:
    """Read every row and the schema; return an empty dict if there are no tables."""
    with temporary_engine(url) as engine:
        file = database_file(engine)
        if file and not file_exists(file):
            return {}
        with engine.connect() as connection:
            content: Content = {name: _rows(connection, name) for name in inspect(connection).get_table_names()}
            if not content:
                return {}
            content["schema"] = [connection.execute(text(query)).all() for query in _SCHEMA[engine.dialect.name]]
    return content


def _rows(connection: Connection, table: str) -> list[tuple[Any, ...]]:
    rows = connection.execute(text(f"SELECT * FROM {table}"))  # noqa: S608 # a table's name
    names = list(rows.keys())
    plain = [
        tuple((v and True) if name in _VARYING_COLUMNS else v for name, v in zip(names, row, strict=True))
        for row in rows
    ]
    return sorted(plain, key=repr)


def check(url: str) -> None:
    """Fail if a database with clusters doesn't match the catalog."""
    with temporary_engine(url) as engine, read_transaction(engine) as connection:
        if connection.scalar(text("SELECT count(*) FROM cluster")):
            assert list(verify(connection, default_catalog(), default_systems())) == []


def read_files(directory: Path) -> dict[str, list[str]]:
    """Read the sorted lines of each file, except unfinished ones, whose names begin with a dot."""
    paths = [] if not directory.exists() else [file for file in directory.iterdir() if not file.name.startswith(".")]
    return {file.name: sorted(file.read_text().splitlines()) for file in paths}
