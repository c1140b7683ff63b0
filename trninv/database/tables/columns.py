"""Hold the metadata of all tables, and create the columns, constraints and indexes that several tables share."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ColumnElement,
    ForeignKey,
    FromClause,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    literal_column,
    text,
)

from trninv.database.tables.vocabulary import STATES

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

TABLES: Mapping[str, Table] = METADATA.tables

BIGINT = BigInteger().with_variant(Integer(), "sqlite")
"""A 64-bit integer: SQLite's INTEGER is one, PostgreSQL's has 32 bits."""

_IS_UNHEALTHY = text("state <> 'up'")
IS_OPEN = text("ended_at IS NULL")


def shared_alias(table: Table, name: str) -> FromClause:
    """Return an alias for a module's constant, with its columns.

    SQLAlchemy makes the columns of an alias at their first use. Two threads would make other ones each, and a join with
    columns of both fails.
    """
    alias = table.alias(name)
    list(alias.c)
    return alias


def check_one_of(column: str, values: tuple[str, ...], *, nullable: bool = False) -> CheckConstraint:
    """Return the constraint that a column holds one of ``values``."""
    quoted = ", ".join(f"'{value}'" for value in values)
    test = f"{column} IN ({quoted})"
    return CheckConstraint(f"{column} IS NULL OR {test}" if nullable else test, name=column)


def check_positive(column: str) -> CheckConstraint:
    """Return the constraint that a column is positive."""
    return CheckConstraint(f"{column} > 0", name=column)


def check_ordinal(column: str = "ordinal") -> CheckConstraint:
    """Return the constraint that a column is not negative."""
    return CheckConstraint(f"{column} >= 0", name=column)


def is_unhealthy(table: FromClause) -> ColumnElement[bool]:
    """Return the condition for unhealthy rows, with a literal, since with a parameter `unhealthy_index` is not used."""
    return table.c.state != literal_column("'up'")


def unhealthy_index(table: str) -> Index:
    """Return an index over the unhealthy rows, which are few, by state."""
    return Index(f"ix_{table}_unhealthy", "state", "id", sqlite_where=_IS_UNHEALTHY)


def unique_while_open(table: str, *columns: str) -> Index:
    """Return an index that allows only one open row (``ended_at`` is null) for each combination of values."""
    name = f"uq_{table}_{'_'.join(columns)}_now"
    return Index(name, *columns, unique=True, sqlite_where=IS_OPEN)


def make_indexes_partial() -> None:
    """Make SQLite's partial indexes partial on PostgreSQL too; called only for that, as it imports its dialect."""
    for table in TABLES.values():
        for index in table.indexes:
            if (where := index.dialect_options["sqlite"]["where"]) is not None:
                index.dialect_kwargs["postgresql_where"] = where


def condition_columns(prefix: str = "") -> list[Column[Any] | CheckConstraint]:
    """Return the columns of a state and of a degraded part's remaining capacity in millionths, with constraints."""
    state, factor = f"{prefix}state", f"{prefix}factor_ppm"
    in_range = CheckConstraint(f"{factor} > 0 AND {factor} < 1000000", name=factor)
    if prefix:  # a node's own condition while its server is not up, else null
        return [
            Column(state, String(12)),
            Column(factor, Integer),
            check_one_of(state, STATES, nullable=True),
            in_range,
        ]
    return [
        required_column(state, String(12), server_default="up"),
        Column(factor, Integer),
        check_one_of(state, STATES),
        in_range,
    ]


def required_column(name: str, kind: Any, **options: Any) -> Column[Any]:
    """Return a column that is never null."""
    return Column(name, kind, nullable=False, **options)


def described(row: str, **columns: str) -> dict[str, Any]:
    """Return the description of a table for docs/reference/schema.md: what a row is, and the meanings of columns."""
    return {"row": row, "columns": columns}


def primary_key(parent: str | None = None) -> Column[int]:
    """Return the primary key, which is also a foreign key to `parent` if the table extends that table."""
    references = [ForeignKey(f"{parent}.id")] if parent else []
    return Column("id", Integer, *references, primary_key=True, autoincrement=False)


def foreign_key(name: str, table: str, *, nullable: bool = False) -> Column[int]:
    """Return a foreign key to the id of a table."""
    return Column(name, ForeignKey(f"{table}.id"), nullable=nullable)


def deferred_foreign_key(name: str, table: str) -> Column[int]:
    """Return a foreign key that is checked on commit, for rows written before the row that they refer to."""
    return Column(name, ForeignKey(f"{table}.id", deferrable=True, initially="DEFERRED"), nullable=False)
