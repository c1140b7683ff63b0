"""Sweeps of the service are rows, no longer files of a directory.

Revision ID: 0034
Revises: 0033
"""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"

_STATES = "state IN ('running', 'done', 'failed', 'cancelled')"


def upgrade() -> None:
    collation = "C" if op.get_context().dialect.name == "postgresql" else None
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "sweep",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("state", sa.String(9, collation=collation), server_default="running", nullable=False),
        *(sa.Column(name, sa.Text(collation=collation), nullable=False) for name in ("arguments", "started_at")),
        sa.Column("attempt", sa.Integer(), server_default="1", nullable=False),
        sa.Column("renewed", big, nullable=False),
        sa.Column("done", sa.Integer(), server_default="0", nullable=False),
        sa.Column("total", sa.Integer()),
        *(sa.Column(name, sa.Text(collation=collation)) for name in ("error", "answer")),
        sa.CheckConstraint(_STATES, name=op.f("ck_sweep_state")),
        sa.PrimaryKeyConstraint("id", name="pk_sweep"),
    )


def downgrade() -> None:
    op.drop_table("sweep")
