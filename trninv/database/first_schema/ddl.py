"""Create a table or an index in a migration, on SQLite or PostgreSQL, with the names of `METADATA`'s convention.

On PostgreSQL, text is sorted by code point, as on SQLite.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa
from alembic import op

INTEGER: Final = sa.Integer()
BIGINT: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
BOOLEAN: Final = sa.Boolean()
TEXT: Final = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def varchar(length: int) -> sa.String:
    """Return the type of texts up to a length, which SQLite does not check."""
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


def required(kind: Any, *names: str, default: str | bool | None = None) -> Iterator[sa.Column[Any]]:
    """Yield columns that are never null."""
    server_default = sa.text(str(default).lower()) if isinstance(default, bool) else default
    return (sa.Column(name, kind, nullable=False, server_default=server_default, autoincrement=False) for name in names)


def optional(kind: Any, *names: str) -> Iterator[sa.Column[Any]]:
    """Yield columns that may be null."""
    return (sa.Column(name, kind, nullable=True) for name in names)


def create_table(
    name: str,
    *columns: sa.Column[Any],
    key: Sequence[str] = (),
    checks: Mapping[str, str] | None = None,
    references: Mapping[str, str] | None = None,
    deferred: bool = False,
    unique: Sequence[str] = (),
    **options: Any,
) -> None:
    """Create a table.

    Parameters
    ----------
    key
        Columns of the primary key; by default a first column ``id``.
    checks
        Conditions by the last part of the constraint's name.
    references
        The tables to whose ``id`` columns refer.
    deferred
        Whether references are checked on commit.
    unique
        Columns of which no two rows have the same values.
    options
        Further options of ``op.create_table``.
    """
    deferral: dict[str, Any] = {"deferrable": True, "initially": "DEFERRED"} if deferred else {}
    constraints: list[sa.Constraint] = [
        *(sa.CheckConstraint(test, name=op.f(f"ck_{name}_{part}")) for part, test in (checks or {}).items()),
        *(
            sa.ForeignKeyConstraint([column], [f"{table}.id"], name=op.f(f"fk_{name}_{column}"), **deferral)
            for column, table in (references or {}).items()
        ),
        sa.PrimaryKeyConstraint(*(key or ("id",)), name=op.f(f"pk_{name}")),
    ]
    if unique:
        constraints.append(sa.UniqueConstraint(*unique, name=op.f(f"uq_{name}_{'_'.join(unique)}")))
    op.create_table(name, *(() if key else required(INTEGER, "id")), *columns, *constraints, **options)


def create_index(
    table: str, *columns: str, name: str | None = None, unique: bool = False, where: str | None = None
) -> None:
    """Create an index, which has only the rows for which `where` is true."""
    condition = None if where is None else sa.text(where)
    op.create_index(
        name or f"ix_{table}_{'_'.join(columns)}",
        table,
        list(columns),
        unique=unique,
        sqlite_where=condition,
        postgresql_where=condition,
    )
