"""Change a database as its owner can: with the triggers of tables off, and on again afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, bindparam, text

_NAMES = text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name IN :tables")


@contextmanager
def triggers_off(connection: Connection, *tables: str) -> Iterator[None]:
    """Let no trigger of some tables run; afterwards all are as they were."""
    if connection.dialect.name == "postgresql":
        for table in tables:
            connection.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER USER"))
        yield
        connection.execute(text("SET CONSTRAINTS ALL IMMEDIATE"))  # or their checks are still to come
        for table in tables:
            connection.execute(text(f"ALTER TABLE {table} ENABLE TRIGGER USER"))
        return
    triggers = connection.execute(_NAMES.bindparams(bindparam("tables", tables, expanding=True))).all()
    for name, _ in triggers:
        connection.execute(text(f"DROP TRIGGER {name}"))
    yield
    for _, sql in triggers:
        connection.exec_driver_sql(sql)


def tamper(engine: Engine, statements: str, *tables: str) -> None:
    """Run statements, with semicolons between, while the triggers of tables are off."""
    with engine.begin() as connection, triggers_off(connection, *tables):
        for statement in statements.split(";"):
            connection.execute(text(statement))
