"""Indexes over some rows: they allow a chip one holder and a slot one binding, so each has to have its condition."""

import re
from collections.abc import Mapping
from typing import Final

from sqlalchemy import Connection, text

from trninv.inventory.schema import TABLES

_STANDING: Final = {
    "sqlite": "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL",
    "postgresql": """
        SELECT relname AS name, pg_get_indexdef(indexrelid, 0, true)
            || CASE WHEN indisvalid AND indisready THEN '' ELSE ' INVALID' END AS sql
        FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
        WHERE relnamespace = to_regnamespace(current_schema())""",
}
_CAST: Final = re.compile(r"::\w+|[()]")


def outdated(connection: Connection) -> dict[str, str]:
    """Return which index over some rows is missing, or is not as declared."""
    standing = {row.name: row.sql for row in connection.execute(text(_STANDING[connection.dialect.name]))}
    return {
        name: "replaced" if name in standing else "missing"
        for name, declared in _declared().items()
        if declared != (_read(standing[name]) if name in standing else None)
    }


def _declared() -> Mapping[str, tuple[bool, str, str]]:
    """Return whether an index is unique, its columns and its condition, by its name."""
    return {
        str(index.name): (index.unique, ", ".join(index.columns.keys()), str(condition))
        for table in TABLES.values()
        for index in table.indexes
        if (condition := index.dialect_options["sqlite"]["where"]) is not None
    }


def _read(sql: str) -> tuple[bool, str, str]:
    """Return the same of an index as its database prints it."""
    head, _, condition = sql.partition(" WHERE ")
    columns = head[head.index("(") + 1 : head.rindex(")")]
    return sql.startswith("CREATE UNIQUE "), columns, _CAST.sub("", condition)
