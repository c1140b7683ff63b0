"""Upgrade and downgrade the schema with Alembic, for `trninv migrate`.

A schema version is the number of a file in ``migrations/versions``; Alembic calls it a revision.
"""

import io
import itertools
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import Script, ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, Select, column, func, inspect, select, table, update

from trninv.database import sqlite
from trninv.database.engine import (
    create_directory,
    database_file,
    file_exists,
    newest_schema_version,
    temporary_engine,
    translate_connect_errors,
    translate_statement_errors,
)
from trninv.database.privileges import require_privileges
from trninv.database.stored_changes import STORED
from trninv.deadline import Progress, silent
from trninv.errors import DatabaseError, SchemaOutdatedError, UsageError
from trninv.settings import resource_directory
from trninv.units import pluralize

_DISPENSABLE = {"part_count"}
"""Tables whose rows can be computed from others."""
_LAST_COMMIT_WITH_OLDER_VERSIONS = "ff8707bd"
"""The commit that upgrades a database of any version before the first release to the last of them."""


def _usage() -> str:
    """Return what `trninv migrate --to` takes."""
    versions = [revision.revision for revision in ScriptDirectory.from_config(_config()).walk_revisions()]
    return f"trninv migrate --to head, base, {', '.join(versions[:0:-1])} or {versions[0]}"


def schema_version(connection: Connection) -> str | None:
    """Return the schema version of a database, or None if it has none."""
    return MigrationContext.configure(connection).get_current_revision()


def migrate(engine: Engine, to: str = "head", progress: Progress = silent) -> None:
    """Upgrade or downgrade the schema to a version ("head", "base" or a number) in one transaction.

    At the newest version, facts and legal sets of chips in the database are updated from the catalog as well.

    Parameters
    ----------
    progress
        Called with the number of finished and of all versions, if the schema is upgraded to "head".

    Raises
    ------
    UsageError
        There is no such version.
    SchemaOutdatedError
        The database has the schema of a newer trninv, or one from before the first release that is not the last.
    DatabaseError
        A statement failed, or rows break a foreign key on SQLite after the migration.
    """
    if not to:
        raise UsageError(_usage())
    create_directory(engine)
    with translate_connect_errors(engine):
        connection = engine.connect().execution_options(writes=True)
    with connection, translate_statement_errors(engine):
        current = _migratable_version(connection)
        if current and current != schema_version(connection):  # it is taken over
            _require_columns(connection, current)
        require_privileges(connection)
        connection.rollback()
        config = _config(connection)
        with sqlite.foreign_keys_off(connection):  # they would prevent Alembic from recreating a table
            try:
                if to == "head":
                    config.attributes["on_version"] = _version_counter(config, current, progress)
                change_schema = command.downgrade if _is_downgrade(config, current, to) else command.upgrade
                change_schema(config, to)
            except CommandError as error:
                raise UsageError(f"there is no schema version {to[:40]}: {_usage()}") from error
            _check_foreign_keys(connection)
            with STORED.storing():
                connection.commit()


def oldest_reader(script: ScriptDirectory) -> str:
    """Return the oldest schema version whose releases can read the newest one.

    A migration after which releases of the version before can still read, because it only adds, has KEEPS_READERS. The
    first one has the tables of the version that it replaces.
    """
    revision = script.get_revision("head")
    while getattr(revision.module, "KEEPS_READERS", False):
        revision = script.get_revision(str(revision.down_revision))
    return getattr(revision.module, "REPLACES", revision.revision)


def take_over(connection: Connection, script: ScriptDirectory) -> None:
    """Give a database of the version that the first one replaces, which has the same tables, the first one's number."""
    first = _first_version(script)
    versions = table("alembic_version", column("version_num"))
    if inspect(connection).has_table(versions.name):
        is_replaced = versions.c.version_num == first.module.REPLACES
        connection.execute(update(versions).where(is_replaced).values(version_num=first.revision))


def _first_version(script: ScriptDirectory) -> Script:
    """Return the migration that creates all tables."""
    return script.get_revision(str(script.get_base()))


def _migratable_version(connection: Connection) -> str | None:
    """Return the schema version from which Alembic migrates a database, which is None if it has no tables."""
    current = schema_version(connection)
    first = _first_version(ScriptDirectory.from_config(_config()))
    if current is None or first.revision <= current <= newest_schema_version():
        return current
    problem = f"the database has schema version {current}"
    if current > newest_schema_version():
        raise SchemaOutdatedError(f"{problem} of a newer trninv: upgrade trninv")
    if current != first.module.REPLACES:
        raise SchemaOutdatedError(
            f"{problem} from before the first release: back it up, upgrade it to {first.module.REPLACES} in a checkout "
            f"of trninv (git checkout {_LAST_COMMIT_WITH_OLDER_VERSIONS} && ./run trninv migrate), then migrate again"
        )
    return first.revision


def _require_columns(connection: Connection, version: str) -> None:
    """Raise DatabaseError if a database lacks a column that a schema version has."""
    with temporary_engine("sqlite://") as trial:
        migrate(trial, version)
        with trial.connect() as trial_connection:
            expected = _columns(trial_connection)
    columns = _columns(connection)
    missing = [
        f"{name}.{lost}" for name in sorted(expected) for lost in sorted(expected[name] - columns.get(name, set()))
    ]
    if missing:
        raise DatabaseError(f"the database lacks {', '.join(missing)}: restore a backup")


def upgrade_effect(engine: Engine) -> str | None:
    """Return what an upgrade to the newest schema version means for running services, or None if it changes nothing."""
    file = database_file(engine)
    if file and not file_exists(file):
        return None
    with translate_connect_errors(engine), engine.connect() as connection:
        _migratable_version(connection)
        current = schema_version(connection)
    if current is None or current >= newest_schema_version():
        return None
    if oldest_reader(ScriptDirectory.from_config(_config())) <= current:
        return (
            f"services of schema version {current} go on reading, but their changes are refused until you upgrade them"
        )
    return f"stop services of schema version {current} first, or they refuse all requests until you upgrade them"


def create_tables_if_missing(engine: Engine) -> None:
    """Create all tables in a database without trninv tables; leave any other database unchanged."""
    create_directory(engine)
    with translate_connect_errors(engine), engine.connect() as connection:
        current = schema_version(connection)
    if current is None:
        migrate(engine)


def data_loss(engine: Engine, to: str) -> list[str]:
    """List the tables and columns with data that a database would lose by migrating to a version.

    To find them, an empty database in memory is migrated the same way, so that the engine's database is not locked.

    Raises
    ------
    DatabaseError
        The rows allow no migration to that version, even with this loss.
    """
    file = database_file(engine)
    if file and not file_exists(file):
        return []
    with translate_connect_errors(engine), engine.connect() as connection:
        current = _migratable_version(connection)
        if current is None:
            return []
        with temporary_engine("sqlite://") as trial:
            migrate(trial, current)
            with trial.connect() as trial_connection:
                before = _columns(trial_connection)
            migrate(trial, to)
            with trial.connect() as trial_connection:
                if (schema_version(trial_connection) or "") >= current:  # an upgrade keeps all data
                    return []
                after = _columns(trial_connection)
        script = ScriptDirectory.from_config(_config())
        for revision in script.iterate_revisions(current, to, select_for_downgrade=True):
            if require := getattr(revision.module, "require_downgrade", None):
                require(connection)
        return list(_lost_data(connection, before, after))


def _columns(connection: Connection) -> dict[str, set[str]]:
    """Return the names of the columns of each table."""
    columns_by_table = inspect(connection).get_multi_columns()
    return {table: {column_["name"] for column_ in columns} for (_, table), columns in columns_by_table.items()}


def _lost_data(connection: Connection, before: dict[str, set[str]], after: dict[str, set[str]]) -> Iterator[str]:
    """Yield the tables and columns with data that `before` has and `after` lacks."""
    for name in sorted(before.keys() - {"alembic_version"} - _DISPENSABLE):
        if name not in after:
            yield from _non_empty(connection, name, select(func.count()).select_from(table(name)), "row")
            continue
        for lost_column in sorted(before[name] - after[name]):
            values = select(func.count(column(lost_column))).select_from(table(name))
            yield from _non_empty(connection, f"{name}.{lost_column}", values, "value")


def _non_empty(connection: Connection, name: str, query: Select[int], thing: str) -> Iterator[str]:
    """Yield the name with the number that `query` counts, unless that is 0."""
    if number := connection.scalar(query):
        yield f"{name} ({pluralize(number, thing)})"


def schema_differences(engine: Engine) -> str | None:
    """Return the first differences between database and schema, as `alembic check` reports them, or None."""
    with engine.connect() as connection, redirect_stdout(io.StringIO()):
        try:
            command.check(_config(connection))
        except CommandError as error:
            return str(error)
    return None


def upgrade_sql(engine: Engine, to: str = "head") -> str:
    """Return the SQL that creates the schema of a version in an empty database, to be run by hand."""
    out = io.StringIO()
    config = _config()
    config.output_buffer = out
    config.attributes["dialect"] = engine.dialect.name
    try:
        command.upgrade(config, to, sql=True)
    except CommandError as error:
        raise UsageError(f"{error}: {_usage()}") from None
    return out.getvalue()


def _config(connection: Connection | None = None) -> Config:
    config = Config(resource_directory() / "alembic.ini", stdout=io.StringIO())
    if connection is not None:
        config.attributes["connection"] = connection
    return config


def _version_counter(config: Config, current: str | None, progress: Progress) -> Callable[[], None]:
    """Return a function to call after each version; it reports progress towards the newest one."""
    total = len(list(ScriptDirectory.from_config(config).iterate_revisions("head", current or "base")))
    done = itertools.count(1)
    return lambda: progress("schema versions", next(done), total)


def _is_downgrade(config: Config, current: str | None, to: str) -> bool:
    """Return whether a version is older than the current one."""
    if to == "base" or to.startswith("-"):  # "-1" is one version back
        return True
    if current is None or to == "head":
        return False
    script = ScriptDirectory.from_config(config)
    versions = [revision.revision for revision in script.iterate_revisions(current, "base")]
    return to != current and to in versions


def _check_foreign_keys(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
        if broken:
            raise DatabaseError(f"{len(broken)} rows break a foreign key, the first in table {broken[0][0]}")
