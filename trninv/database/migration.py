"""Upgrade and downgrade the schema with Alembic."""

import io
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, Select, column, func, inspect, select, table

from trninv.database.engine import (
    create_directory,
    database_file,
    file_exists,
    newest_schema_version,
    temporary_engine,
    translate_connect_errors,
    translate_statement_errors,
)
from trninv.deadline import Progress, silent
from trninv.errors import DatabaseError, SchemaOutdatedError, UsageError
from trninv.settings import resource_directory
from trninv.units import pluralize

_MOVED = {"_token_digest": ("token", "sha256")}
"""Tables whose rows were a column of another table in older schema versions."""
_FORMER_NAMES = {
    "cordon": "closing",
    "domain_allocated": "domain_held",
    "job.submitted_at": "submitted",
    "job.started_at": "began",
    "job.ended_at": "ended",
    "job.first_started_at": "first_began",
    "job.moved_at": "moved",
    "allocation.started_at": "began",
    "allocation.ended_at": "ended",
    "binding.started_at": "since",
    "binding.ended_at": "until",
    "binding.method": "how",
    "finding.observed": "found",
    "fact.as_written": "written",
    "fact.reading_reason": "grounds",
}
"""Tables and columns that schema version 0033 renamed, each with its former name."""
_DERIVED = {"seal_restart"}
"""Tables whose rows say nothing in an older schema version."""
_USAGE = "trninv migrate --to head, base, or a revision in migrations/"


def schema_version(connection: Connection) -> str | None:
    """Return the schema version of a database, or None if it has none."""
    return MigrationContext.configure(connection).get_current_revision()


def migrate(engine: Engine, to: str = "head", progress: Progress = silent) -> None:
    """Upgrade or downgrade the schema to a version ("head", "base" or an identifier) in one transaction.

    On the newest version, stored facts are updated as well.

    Parameters
    ----------
    progress
        Called with the number of versions done and their total, on the way to "head".

    Raises
    ------
    UsageError
        There is no such version.
    SchemaOutdatedError
        The database has the schema of a newer trninv.
    DatabaseError
        A statement failed, or rows break a foreign key on SQLite after the migration.
    """
    if not to:
        raise UsageError(_USAGE)
    create_directory(engine)
    with translate_connect_errors(engine):
        connection = engine.connect().execution_options(writes=True)
        now = schema_version(connection)
        connection.rollback()
    with connection, translate_statement_errors(engine):
        config = _config(connection)
        if now is not None and now > newest_schema_version():
            raise SchemaOutdatedError(f"the database is at revision {now}, made by a newer trninv: upgrade trninv")
        with _foreign_keys_off(connection):
            try:
                if to == "head":
                    config.attributes["reached"] = _revision_counter(config, now, progress)
                (command.downgrade if _is_downgrade(config, now, to) else command.upgrade)(config, to)
            except CommandError as error:
                raise UsageError(f"{error}: {_USAGE}") from None
            _check_foreign_keys(connection)
            connection.commit()


def create_tables_if_missing(engine: Engine) -> None:
    """Create all tables in a database that has none of trninv's; leave any other database unchanged."""
    create_directory(engine)
    with translate_connect_errors(engine), engine.connect() as connection:
        now = schema_version(connection)
    if now is None:
        migrate(engine)


def data_loss(engine: Engine, to: str) -> list[str]:
    """List the tables and columns with data that a database would lose by migrating to a version.

    An empty database is migrated the same way to see which ones go, so that this one is not locked.
    """
    file = database_file(engine)
    if file and not file_exists(file):
        return []
    with translate_connect_errors(engine), engine.connect() as connection:
        now = schema_version(connection)
        if now is None or now > newest_schema_version():
            return []
        with temporary_engine("sqlite://") as trial:
            migrate(trial, now)
            before = _columns(trial)
            migrate(trial, to)
            with trial.connect() as trial_connection:
                if (schema_version(trial_connection) or "") >= now:  # an upgrade keeps all data
                    return []
            after = _columns(trial)
        return list(_lost_data(connection, before, after))


def _columns(engine: Engine) -> dict[str, set[str]]:
    with engine.connect() as connection:
        columns_by_table = inspect(connection).get_multi_columns()
    return {table: {column_["name"] for column_ in columns} for (_, table), columns in columns_by_table.items()}


def _lost_data(connection: Connection, before: dict[str, set[str]], after: dict[str, set[str]]) -> Iterator[str]:
    for name in sorted(before.keys() - {"alembic_version"} - _DERIVED):
        new_table, moved = _MOVED.get(name, ("", ""))
        if moved in after.get(new_table, ()) or _FORMER_NAMES.get(name) in after:
            continue
        if name not in after:
            yield from _non_empty(connection, name, select(func.count()).select_from(table(name)), "row")
            continue
        for lost_column in sorted(before[name] - after[name]):
            if _FORMER_NAMES.get(f"{name}.{lost_column}") in after[name]:
                continue
            values = select(func.count(column(lost_column))).select_from(table(name))
            yield from _non_empty(connection, f"{name}.{lost_column}", values, "value")


def _non_empty(connection: Connection, name: str, query: Select[int], thing: str) -> Iterator[str]:
    if size := connection.scalar(query):
        yield f"{name} ({pluralize(size, thing)})"


@contextmanager
def _foreign_keys_off(connection: Connection) -> Iterator[None]:
    """Switch SQLite's foreign keys off: they would keep its batch mode from recreating tables."""
    if connection.dialect.name != "sqlite":
        yield
        return
    cursor = connection.connection.cursor()
    cursor.execute("PRAGMA foreign_keys = OFF")
    try:
        yield
    finally:
        connection.rollback()
        if not connection.invalidated:  # an interrupt closes it
            cursor.execute("PRAGMA foreign_keys = ON")


def schema_differences(engine: Engine) -> str | None:
    """Return how the database differs from the schema, as `alembic check` reports it, or None."""
    with engine.connect() as connection, redirect_stdout(io.StringIO()):
        try:
            command.check(_config(connection))
        except CommandError as error:
            return str(error)
    return None


def upgrade_sql(engine: Engine, to: str = "head") -> str:
    """Return the DDL of an upgrade from an empty database, for running it by hand."""
    out = io.StringIO()
    config = _config()
    config.output_buffer = out
    config.attributes["dialect"] = engine.dialect.name
    try:
        command.upgrade(config, to, sql=True)
    except CommandError as error:
        raise UsageError(f"{error}: {_USAGE}") from None
    return out.getvalue()


def _config(connection: Connection | None = None) -> Config:
    config = Config(resource_directory() / "alembic.ini", stdout=io.StringIO())
    if connection is not None:
        config.attributes["connection"] = connection
    return config


def _revision_counter(config: Config, now: str | None, progress: Progress) -> Callable[[], None]:
    """Return the callback that counts finished versions up to the newest."""
    total = len(list(ScriptDirectory.from_config(config).iterate_revisions("head", now or "base")))
    done = itertools.count(1)
    return lambda: progress("revisions", next(done), total)


def _is_downgrade(config: Config, now: str | None, to: str) -> bool:
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
