"""Targets that discovery pulls, and the group of servers that a scheduler has a server in.

Revision ID: 0046
Revises: 0044
"""

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0044"


def upgrade() -> None:
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    optional = ("read_at", "late_at", "result", "error", "holder")
    op.create_table(
        "discovery",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("target", _text(), nullable=False),
        sa.Column("identity", _text()),
        sa.Column("every_seconds", sa.Integer()),
        sa.Column("started_at", _text(), nullable=False),
        *(sa.Column(name, _text()) for name in optional),
        sa.Column("renewed", big),
        sa.PrimaryKeyConstraint("id", name="pk_discovery"),
        sa.UniqueConstraint("target", name="uq_discovery_target"),
    )
    op.add_column("observed_server", sa.Column("scheduler_block", _text()))


def downgrade() -> None:
    op.execute("ALTER TABLE observed_server DROP COLUMN scheduler_block")  # no batch: triggers stay
    op.drop_table("discovery")


def _text() -> sa.Text:
    return sa.Text(collation="C" if op.get_context().dialect.name == "postgresql" else None)
