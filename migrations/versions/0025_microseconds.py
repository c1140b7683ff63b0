"""Times of whole seconds are written to the microsecond, as all others, so that texts compare as the times do.

Events stay as they are: seals are of their texts.

Revision ID: 0025
Revises: 0024
"""

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"

COLUMNS = {
    "observation": ("at", "taken_at", "seen_at"),
    "binding": ("since", "until"),
    "finding": ("first_seen", "last_seen", "cleared_at"),
    "comparison": ("at",),
    "job": ("submitted", "began", "ended", "first_began", "moved"),
    "allocation": ("began", "ended"),
    "closing": ("since", "until"),
    "token": ("created", "expires", "revoked"),
}
SHORT, LONG = "+00:00", ".000000+00:00"


def upgrade() -> None:
    _rewrite(SHORT, LONG)


def downgrade() -> None:
    """Write whole seconds as before; times between them stay."""
    _rewrite(LONG, SHORT)


def _rewrite(old: str, new: str) -> None:
    context = op.get_context()
    if context.as_sql:  # the script is for an empty database
        return
    with _without_triggers(op.get_bind()):
        for table, columns in COLUMNS.items():
            for column in columns:
                op.execute(
                    f"UPDATE {table} SET {column} = substr({column}, 1, 19) || '{new}' "  # names of ours
                    f"WHERE length({column}) = {19 + len(old)} AND substr({column}, 20) = '{old}'".replace(":", r"\:")
                )


@contextmanager
def _without_triggers(connection: sa.Connection) -> Iterator[None]:
    """Drop or disable the triggers that keep rows as they are, and put them back."""
    if connection.dialect.name == "postgresql":
        close = [f"ALTER TABLE {table} DISABLE TRIGGER USER" for table in COLUMNS]
        reopen = [f"ALTER TABLE {table} ENABLE TRIGGER USER" for table in COLUMNS]
    else:
        master = sa.table("sqlite_master", *map(sa.column, ("name", "sql", "type", "tbl_name"))).c
        query = sa.select(master.name, master.sql).where(master.type == "trigger", master.tbl_name.in_(COLUMNS))
        rows = connection.execute(query).all()
        close, reopen = [f"DROP TRIGGER {row.name}" for row in rows], [row.sql for row in rows]
    for statement in close:
        connection.exec_driver_sql(statement)
    yield
    for statement in reopen:
        connection.exec_driver_sql(statement)
