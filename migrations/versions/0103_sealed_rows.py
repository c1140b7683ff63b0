"""Seals of incident notes and events of tokens, and the clusters that a target of discovery reports about.

Revision ID: 0103
Revises: 0102
"""

import sqlalchemy as sa
from alembic import op

from trninv.database.first_schema.ddl import TEXT, optional
from trninv.errors import DatabaseError

revision = "0103"
down_revision = "0102"

KEEPS_READERS = True


def upgrade() -> None:
    for table, name in (("event_seal", "sealed_rows"), ("discovery", "clusters")):
        op.add_column(table, *optional(TEXT, name))


def require_downgrade(connection: sa.Connection) -> None:
    """Refuse a downgrade after which the history would not verify."""
    if connection.scalar(sa.text("SELECT max(id) FROM event_seal WHERE sealed_rows IS NOT NULL")):
        raise DatabaseError(
            "seals cover notes on incidents or events of tokens, which schema version 0102 does not know: "
            "restore a backup from before instead"
        )


def downgrade() -> None:
    require_downgrade(op.get_bind())
    for table, name in (("event_seal", "sealed_rows"), ("discovery", "clusters")):
        op.drop_column(table, name)
