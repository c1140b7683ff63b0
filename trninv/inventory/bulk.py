"""Bulk changes on PostgreSQL: keys, indexes and foreign keys are created after the rows, in the same transaction.

Maintained row by row they cost several times the load itself (PostgreSQL documentation, 14.4 Populating a Database).
Readers of the tables wait meanwhile; a kill leaves everything as it was. SQLite loads faster with its indexes in place.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import (
    Connection,
    ForeignKeyConstraint,
    PrimaryKeyConstraint,
    UniqueConstraint,
    func,
    select,
    text,
)
from sqlalchemy.schema import AddConstraint, DropConstraint

from trninv.inventory.layout import ORDER
from trninv.inventory.schema import TABLES

WORTH = 50_000
"""The number of rows from which recreating the indexes pays, unless more rows exist already."""


@contextmanager
def bulk(connection: Connection, rows: int, others: int) -> Iterator[None]:
    """Speed up inserting or deleting ``rows`` rows beside ``others``; does nothing if that would not pay."""
    if connection.dialect.name != "postgresql" or rows < max(WORTH, others):
        yield
        return
    tables = [TABLES[name] for name in ORDER]
    found = [constraint for table in tables for constraint in table.constraints]
    keys = [constraint for constraint in found if isinstance(constraint, PrimaryKeyConstraint | UniqueConstraint)]
    foreign = [constraint for constraint in found if isinstance(constraint, ForeignKeyConstraint)]
    indexes = [index for table in tables for index in table.indexes]
    for constraint in (*foreign, *keys):
        connection.execute(DropConstraint(constraint))
    for index in indexes:
        index.drop(connection)
    for setting in ("work_mem", "maintenance_work_mem"):
        connection.execute(text(f"SET LOCAL {setting} = '256MB'"))
    yield
    for constraint in keys:
        connection.execute(AddConstraint(constraint, isolate_from_table=False))
    for index in indexes:
        index.create(connection)
    for constraint in foreign:
        connection.execute(AddConstraint(constraint, isolate_from_table=False))


def size(connection: Connection) -> int:
    """Roughly how many rows there are: keys are handed out in blocks, starting from 1."""
    return sum(connection.scalar(select(func.coalesce(func.max(TABLES[name].c.id), 0))) or 0 for name in ORDER)
