"""Alembic underneath: the schema's revisions, applied to the database at hand."""

import io
from contextlib import redirect_stdout

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, Engine

from trninv.errors import DatabaseError, UsageError
from trninv.inventory.database import make_directory, reaching
from trninv.settings import bundle


def head() -> str:
    """The newest revision that ships with trninv."""
    return str(ScriptDirectory.from_config(_config()).get_current_head())


def current(connection: Connection) -> str | None:
    """The database's revision, None if it has none."""
    return MigrationContext.configure(connection).get_current_revision()


def migrate(engine: Engine, to: str = "head") -> None:
    """Bring the schema up, or down, to a revision ("head", "base", or an identifier).

    Raises
    ------
    UsageError
        No such revision.
    DatabaseError
        SQLite reports rows that break a foreign key after the migration.

    """
    make_directory(engine)
    with reaching(engine):
        connection = engine.connect()
        current(connection)
        connection.rollback()
    with connection:
        if engine.dialect.name == "sqlite":
            # SQLite's batch mode makes tables anew, which its foreign keys would forbid
            connection.connection.cursor().execute("PRAGMA foreign_keys = OFF")
        config = _config(connection)
        try:
            (command.downgrade if _is_older(config, connection, to) else command.upgrade)(config, to)
        except CommandError as error:
            raise UsageError(f"{error}: (trninv migrate --to head, base, or a revision in migrations/)") from None
        connection.commit()
        _check_foreign_keys(connection)


def check(engine: Engine) -> str | None:
    """What `alembic check` would complain of: the difference between the schema and the database, else None."""
    with engine.connect() as connection, redirect_stdout(io.StringIO()):
        try:
            command.check(_config(connection))
        except CommandError as error:
            return str(error)
    return None


def sql(engine: Engine, to: str = "head") -> str:
    """The DDL of an upgrade from nothing, as text, for those who run it themselves."""
    out = io.StringIO()
    config = _config()
    config.output_buffer = out
    config.attributes["dialect"] = engine.dialect.name
    command.upgrade(config, to, sql=True)
    return out.getvalue()


def _config(connection: Connection | None = None) -> Config:
    config = Config(bundle() / "alembic.ini", stdout=io.StringIO())
    if connection is not None:
        config.attributes["connection"] = connection
    return config


def _is_older(config: Config, connection: Connection, to: str) -> bool:
    now = current(connection)
    connection.rollback()
    if to == "base" or to.startswith("-"):
        return True
    script = ScriptDirectory.from_config(config)
    if now is None or to == "head":
        return False
    revisions = [revision.revision for revision in script.iterate_revisions(now, "base")]
    return to != now and to in revisions


def _check_foreign_keys(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
        if broken:
            raise DatabaseError(f"{len(broken)} rows break a foreign key, the first in table {broken[0][0]}")
