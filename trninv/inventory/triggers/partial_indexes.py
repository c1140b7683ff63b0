"""Compare the partial indexes in the database with their declarations, for `trninv verify` and `migrate --check`."""

import re
from collections.abc import Mapping
from typing import Final

from sqlalchemy import Connection, text

from trninv.database.tables import TABLES

_STORED_INDEXES: Final = {
    "sqlite": "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL",
    "postgresql": """
        SELECT relname AS name, pg_get_indexdef(indexrelid, 0, true)
            || CASE WHEN indisvalid AND indisready THEN '' ELSE ' INVALID' END AS sql
        FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
        WHERE relnamespace = to_regnamespace(quote_ident(current_schema()))""",
}
_CAST: Final = re.compile(r"::\w+|[()]")
"""The casts and parentheses that PostgreSQL adds to a condition."""


def outdated(connection: Connection) -> dict[str, str]:
    """Return the names of partial indexes that differ from their declaration, each with "missing" or "replaced"."""
    stored = {row.name: row.sql for row in connection.execute(text(_STORED_INDEXES[connection.dialect.name]))}
    return {
        name: "replaced" if name in stored else "missing"
        for name, declared in _declared_indexes().items()
        if declared != (_parse_definition(stored[name]) if name in stored else None)
    }


def _declared_indexes() -> Mapping[str, tuple[bool, str, str]]:
    """Return uniqueness, columns and condition of every declared partial index, by name."""
    return {
        str(index.name): (index.unique, ", ".join(index.columns.keys()), str(condition))
        for table in TABLES.values()
        for index in table.indexes
        if (condition := index.dialect_options["sqlite"]["where"]) is not None
    }


def _parse_definition(sql: str) -> tuple[bool, str, str]:
    """Parse uniqueness, columns and condition from an index definition as the database prints it."""
    head, _, condition = sql.partition(" WHERE ")
    columns = head[head.index("(") + 1 : head.rindex(")")]
    return sql.startswith("CREATE UNIQUE "), columns, _CAST.sub("", condition)
