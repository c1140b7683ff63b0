"""Applies the schema's revisions to a database, with Alembic underneath."""

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, Engine

from trninv.errors import DatabaseError, NotMigratedError, UsageError
from trninv.inventory.database import failing, make_directory, newest_revision, reaching
from trninv.settings import bundle

_REVISIONS = "trninv migrate --to head, base, or a revision in migrations/"


def current(connection: Connection) -> str | None:
    """The revision of a database, or None if it has none."""
    return MigrationContext.configure(connection).get_current_revision()


def migrate(engine: Engine, to: str = "head") -> None:
    """Upgrade or downgrade the schema to a revision ("head", "base" or an identifier) in one transaction.

    Raises
    ------
    UsageError
        There is no such revision.
    NotMigratedError
        The database is at a revision of a newer trninv.
    DatabaseError
        A statement failed, or SQLite reports rows that break a foreign key after the migration.

    """
    if not to:
        raise UsageError(_REVISIONS)
    make_directory(engine)
    with reaching(engine):
        connection = engine.connect().execution_options(writes=True)
        now = current(connection)
        connection.rollback()
    with connection, failing(engine):
        config = _config(connection)
        if now is not None and now > newest_revision():
            raise NotMigratedError(f"the database is at revision {now}, made by a newer trninv: upgrade trninv")
        with _foreign_keys_off(connection):
            try:
                (command.downgrade if _is_older(config, now, to) else command.upgrade)(config, to)
            except CommandError as error:
                raise UsageError(f"{error}: {_REVISIONS}") from None
            _check_foreign_keys(connection)
            connection.commit()


@contextmanager
def _foreign_keys_off(connection: Connection) -> Iterator[None]:
    """Switch SQLite's foreign keys off: they would forbid its batch mode to recreate tables."""
    if connection.dialect.name != "sqlite":
        yield
        return
    cursor = connection.connection.cursor()
    cursor.execute("PRAGMA foreign_keys = OFF")
    try:
        yield
    finally:
        connection.rollback()
        cursor.execute("PRAGMA foreign_keys = ON")


def check(engine: Engine) -> str | None:
    """What `alembic check` would report: how the database differs from the schema; None if it does not."""
    with engine.connect() as connection, redirect_stdout(io.StringIO()):
        try:
            command.check(_config(connection))
        except CommandError as error:
            return str(error)
    return None


def sql(engine: Engine, to: str = "head") -> str:
    """The DDL of an upgrade from an empty database, as text to run by hand."""
    out = io.StringIO()
    config = _config()
    config.output_buffer = out
    config.attributes["dialect"] = engine.dialect.name
    try:
        command.upgrade(config, to, sql=True)
    except CommandError as error:
        raise UsageError(f"{error}: {_REVISIONS}") from None
    return out.getvalue()


def _config(connection: Connection | None = None) -> Config:
    config = Config(bundle() / "alembic.ini", stdout=io.StringIO())
    if connection is not None:
        config.attributes["connection"] = connection
    return config


def _is_older(config: Config, now: str | None, to: str) -> bool:
    if to == "base" or to.startswith("-"):
        return True
    if now is None or to == "head":
        return False
    script = ScriptDirectory.from_config(config)
    revisions = [revision.revision for revision in script.iterate_revisions(now, "base")]
    return to != now and to in revisions


def _check_foreign_keys(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
        if broken:
            raise DatabaseError(f"{len(broken)} rows break a foreign key, the first in table {broken[0][0]}")
