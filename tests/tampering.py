"""Change a database as its owner can: with the triggers of tables off, and on again afterwards."""

from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import Connection, Engine, text

from trninv.inventory.transfer import without_triggers


def triggers_off(connection: Connection, *tables: str) -> AbstractContextManager[None]:
    """Let no trigger of some tables run; afterwards all are as they were."""
    return without_triggers(connection, tables)


def tamper(engine: Engine, statements: str, *tables: str, **values: Any) -> None:
    """Run statements, with semicolons between, while the triggers of tables are off."""
    with engine.begin() as connection, triggers_off(connection, *tables):
        for statement in statements.split(";"):
            connection.execute(text(statement if values else statement.replace(":", r"\:")), values)
