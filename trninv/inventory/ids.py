"""Ids come in blocks: docs/decisions/ids-in-blocks.md."""

from sqlalchemy import Connection, Table, func, select


def next_id(connection: Connection, table: Table) -> int:
    """The first id after the table's last one, where a new block starts. Callers hold the write lock."""
    return int(connection.scalar(select(func.coalesce(func.max(table.c.id), 0))) or 0) + 1
