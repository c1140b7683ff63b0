"""Run migrations: Alembic executes this file for each of its commands.

The connection comes from `trninv.database.migration`; for a plain ``alembic`` command it is opened from the settings.

A migration may rebuild any table, and no migration contains views, triggers or the catalog. So the views of
`trninv.reports.views` and the triggers of `trninv.inventory.triggers.registry` are dropped before the first migration.
At the newest schema version they are created again, and stored facts and legal sets are updated from the catalog.
"""

from collections.abc import Collection, Iterable
from typing import Any, cast

from alembic import context
from sqlalchemy import Connection, make_url, select, text

from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import create_directory, temporary_engine
from trninv.database.migration import oldest_reader, take_over
from trninv.database.migration_lock import lock_migrations, lock_schema
from trninv.database.part_counts import is_uncounted, store_counts
from trninv.database.tables import METADATA
from trninv.inventory.seeding.catalog_rows import store_facts, store_legal_sets
from trninv.inventory.state import hash_chain
from trninv.inventory.triggers import registry
from trninv.reports import grants, views
from trninv.settings import Settings


def offline_dialect() -> str:
    dialect = context.config.attributes.get("dialect")
    return dialect or make_url(Settings.load().database_url).get_backend_name()


def run(connection: Connection | None) -> None:
    current = set[str]()

    def record_version(*, heads: Collection[str], **_: object) -> None:
        current.clear()
        current.update(heads)
        context.config.attributes.get("on_version", lambda: None)()

    context.configure(
        connection=connection,
        dialect_name=None if connection else offline_dialect(),
        dialect_opts={"paramstyle": "named"},  # in SQL for psql: other styles would double each %
        target_metadata=METADATA,
        render_as_batch=True,
        compare_server_default=True,
        literal_binds=connection is None,
        transactional_ddl=True,
        on_version_apply=cast("Any", record_version),  # Alembic's type is narrower than its calls, which use keywords
    )
    with context.begin_transaction():
        if connection is not None:
            lock_migrations(connection)
        if connection is not None and connection.dialect.name == "postgresql":
            # no name may mean a table or function of another installation that is on the search path too
            connection.execute(text("SELECT set_config('search_path', quote_ident(current_schema()), true)"))
        if connection is not None and is_migration():
            take_over(connection, context.script)
        current.update(context.get_context().get_current_heads())
        if is_nothing_to_do(connection, current):
            context.run_migrations()
            if connection is not None and is_migration():
                update_catalog(connection)
            return
        if connection is not None:
            lock_schema(connection)
        is_counted = connection is not None and has_counts(connection, current)
        dialect = context.get_context().dialect.name
        execute([*registry.drop_statements(dialect), *views.drop_statements(dialect, connection)])
        context.run_migrations()
        if current == set(context.script.get_heads()):
            complete(connection, dialect, is_counted=is_counted)


def complete(connection: Connection | None, dialect: str, *, is_counted: bool) -> None:
    """Create what no migration contains, and bring stored counts, seals and facts up to date."""
    execute([*views.create_statements(dialect), *registry.create_statements(dialect)])
    if dialect == "postgresql":
        execute(grants.grant_statements())
    execute([f"UPDATE alembic_version SET oldest_reader = '{oldest_reader(context.script)}'"])
    if connection is None:
        return
    if not is_counted:
        store_counts(connection)
    hash_chain.lock_events(connection)
    hash_chain.seal_events(connection)
    update_catalog(connection)


def update_catalog(connection: Connection) -> None:
    """Update the catalog's facts and legal sets, if there are any and they differ."""
    if connection.scalar(select(METADATA.tables["source"].c.id).limit(1)):
        store_facts(connection, default_catalog())
        store_legal_sets(connection, (system.domain for system in default_systems().systems))


def is_migration() -> bool:
    """Return whether the command has a target version, as ``upgrade`` and unlike ``check``."""
    try:
        context.get_revision_argument()
    except KeyError:
        return False
    return True


def is_nothing_to_do(connection: Connection | None, current: set[str]) -> bool:
    """Return whether the command migrates nothing, or the database is up to date with its target."""
    if not is_migration():
        return True
    if connection is None or not current == {context.get_revision_argument()} == set(context.script.get_heads()):
        return False
    return not (views.outdated_views(connection) or registry.outdated(connection) or is_uncounted(connection))


def has_counts(connection: Connection, current: set[str]) -> bool:
    """Return whether the stored counts will still be right: they were kept, and the migrations only add.

    Counting takes seconds in a large fleet, while no other connection can read.
    """
    only_add = bool(current) and min(current) >= oldest_reader(context.script)
    return only_add and not is_uncounted(connection) and not registry.outdated_counting(connection)


def execute(statements: Iterable[str]) -> None:
    for statement in statements:
        context.execute(statement.replace(":", r"\:"))  # an unescaped colon begins the name of a parameter


if context.is_offline_mode():
    run(None)
elif connection := context.config.attributes.get("connection"):
    run(connection)
else:
    with temporary_engine(Settings.load().database_url) as engine:
        create_directory(engine)
        with engine.connect().execution_options(writes=True) as connection:
            run(connection)
            connection.commit()
