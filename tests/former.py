"""Small fleets as a former trninv left them: of schema version 0048, which the first replaces, and of releases."""

import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

from public_surface import RELEASES
from sqlalchemy import text

from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.migration import create_tables_if_missing, migrate, schema_version
from trninv.inventory.transfer import copy_database

_DIRECTORY = Path(__file__).parent / "golden" / "schema-0048"
ARCHIVE = _DIRECTORY / "archive"
"""An archive of its first two events, written before actions were renamed and sealed again."""
LATER_TABLES = ("webhook_receiver", "webhook_dead_letter", "incident_note")
"""Tables that later migrations add."""
_LATER_COLUMNS = {"event_seal": "sealed_rows", "discovery": "clusters"}
FORMER_SEALS = {
    1: "23a0a97407ac77bf29368a0bd854b39d022a611456417ee7b9ae0f7277922283",
    7: "6dd3b7d5fd2c34f7b881e6acd0840f5f26ad0e07be9ed50cea817bdfa0a5b9ac",
    8: "eeaa4ccf2f64a75691c684e4ea662c3b4593531369ce71cd2b175e6eb38e1aaa",
}
"""Seals of before, by event; the restart of the chain names the last one."""


def make_former(url: str) -> None:
    """Replace an empty database with it; PostgreSQL gets a copy without events of tokens and what was added later."""
    if _unpack(_DIRECTORY / "fleet.db.gz", url, has_sealed_rows=False) is not None:
        with temporary_engine(url) as target, target.begin() as connection:
            connection.execute(text(f"DROP TABLE {', '.join(LATER_TABLES)} CASCADE"))
            for table, name in _LATER_COLUMNS.items():
                connection.execute(text(f"ALTER TABLE {table} DROP COLUMN {name} CASCADE"))
            connection.execute(text("UPDATE alembic_version SET version_num = '0048'"))


def make_last_release(url: str) -> None:
    """Replace an empty database with that of the last release, or with the former before the first release."""
    if files := [*RELEASES.glob("*.db.gz")]:
        unpack_release(max(files, key=lambda file: [int(number) for number in file.name.split(".")[:3]]), url)
    else:
        make_former(url)


def unpack_release(packed: Path, url: str) -> None:
    """Replace an empty database with that of a release, in its schema version."""
    if version := _unpack(packed, url):
        with temporary_engine(url) as target:
            migrate(target, version)


def _unpack(packed: Path, url: str, *, has_sealed_rows: bool = True) -> str | None:
    """Replace an empty database; PostgreSQL gets a copy in the newest schema version, and the file's is returned.

    Without sealed rows, events of tokens are removed, which the new seals of a copy would cover.
    """
    content = gzip.decompress(packed.read_bytes())
    if url.startswith("sqlite"):
        Path(url.removeprefix("sqlite:///")).write_bytes(content)
        return None
    with TemporaryDirectory() as directory:
        file = Path(directory) / "fleet.db"
        file.write_bytes(content)
        with temporary_engine(f"sqlite:///{file}") as source, temporary_engine(url) as target:
            with source.connect() as connection:
                version = schema_version(connection)
                if not has_sealed_rows:
                    connection.execute(text("DROP TRIGGER token_event_not_deleted"))  # migrate makes it again
                    connection.execute(text("DELETE FROM token_event"))
                    connection.commit()
            migrate(source)
            create_tables_if_missing(target)
            with read_transaction(source) as source_connection, write_transaction(target) as target_connection:
                copy_database(source_connection, target_connection)
    return version
