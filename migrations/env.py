"""Alembic environment: takes the connection from trninv.inventory.migrate, or makes one from the settings."""

from alembic import context
from sqlalchemy import Connection, make_url, text

from trninv.inventory.database import connect, make_directory
from trninv.inventory.schema import METADATA
from trninv.settings import Settings


def offline_dialect() -> str:
    given = context.config.attributes.get("dialect")
    return given or make_url(Settings.load().database_url).get_backend_name()


def run(connection: Connection | None) -> None:
    context.configure(
        connection=connection,
        dialect_name=None if connection else offline_dialect(),
        target_metadata=METADATA,
        render_as_batch=True,
        compare_server_default=True,
        literal_binds=connection is None,
        transactional_ddl=True,
    )
    with context.begin_transaction():
        if connection is not None and connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(7474)"))  # one migration at a time
        context.run_migrations()


if context.is_offline_mode():
    run(None)
elif given := context.config.attributes.get("connection"):
    run(given)
else:
    with connect(Settings.load().database_url) as engine:
        make_directory(engine)
        with engine.connect().execution_options(writes=True) as own:
            run(own)
            own.commit()
