"""Alembic environment: the connection is handed over by trninv.database.migration, or made from the settings.

The views of `trninv.reports.views` and the triggers of `trninv.inventory.triggers.registry` are dropped before the
first revision and, where the last one is the newest, created again: a revision may rebuild any table, and none holds a
view or such a trigger. Nor does any hold the catalog, so facts and legal sets that are there are then brought up to
date with it.
"""

from collections.abc import Collection, Iterable
from typing import Any, cast

from alembic import context
from sqlalchemy import Connection, make_url, select, text

from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import create_directory, temporary_engine
from trninv.database.tables import METADATA
from trninv.inventory.seeding.catalog_rows import store_facts, store_legal_sets
from trninv.inventory.state import hash_chain
from trninv.inventory.triggers import registry
from trninv.reports import views
from trninv.settings import Settings


def offline_dialect() -> str:
    given = context.config.attributes.get("dialect")
    return given or make_url(Settings.load().database_url).get_backend_name()


def run(connection: Connection | None) -> None:
    reached = set[str]()

    def keep(*, heads: Collection[str], **_: object) -> None:
        reached.clear()
        reached.update(heads)
        context.config.attributes.get("reached", lambda: None)()

    context.configure(
        connection=connection,
        dialect_name=None if connection else offline_dialect(),
        dialect_opts={"paramstyle": "named"},  # of a script that psql reads: a % is one %
        target_metadata=METADATA,
        render_as_batch=True,
        compare_server_default=True,
        literal_binds=connection is None,
        transactional_ddl=True,
        on_version_apply=cast("Any", keep),  # Alembic declares it with arguments that it names
    )
    with context.begin_transaction():
        if connection is not None and connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(7474)"))  # one migration at a time
        reached.update(context.get_context().get_current_heads())
        if is_nothing_to_do(connection, reached):
            context.run_migrations()
            return
        dialect = context.get_context().dialect.name
        execute([*registry.dropping(dialect), *views.drop_statements(dialect, connection)])
        context.run_migrations()
        if reached == set(context.script.get_heads()):
            execute([*views.create_statements(dialect), *registry.creating(dialect)])
            if connection is not None:
                hash_chain.seal_events(connection)
            if connection is not None and connection.scalar(select(METADATA.tables["source"].c.id).limit(1)):
                store_facts(connection, default_catalog())
                store_legal_sets(connection, (system.domain for system in default_systems().systems))


def is_nothing_to_do(connection: Connection | None, at: set[str]) -> bool:
    """Whether the command goes to no revision (as check and current do), or to where all is as it should be."""
    try:
        to = context.get_revision_argument()
    except KeyError:
        return True
    if connection is None or not at == {to} == set(context.script.get_heads()):
        return False
    return not (views.outdated_views(connection) or registry.outdated(connection))


def execute(statements: Iterable[str]) -> None:
    for statement in statements:
        context.execute(statement.replace(":", r"\:"))  # which else begins the name of a parameter


if context.is_offline_mode():
    run(None)
elif given := context.config.attributes.get("connection"):
    run(given)
else:
    with temporary_engine(Settings.load().database_url) as engine:
        create_directory(engine)
        with engine.connect().execution_options(writes=True) as own:
            run(own)
            own.commit()
