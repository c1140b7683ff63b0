"""Facts have a value formatted for people; tokens.

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op

from trninv.catalog.facts import render_value

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("fact", sa.Column("shown", sa.Text(), nullable=True))
    if not op.get_context().as_sql:  # offline, there are no facts yet
        _fill(op.get_bind())
    op.create_table(
        "token",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("scope", sa.String(length=8), nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.Column("expires", sa.Text(), nullable=True),
        sa.Column("revoked", sa.Text(), nullable=True),
        sa.CheckConstraint("scope IN ('read', 'operate', 'admin')", name="scope"),
        sa.PrimaryKeyConstraint("id", name="pk_token"),
        sa.UniqueConstraint("name", name="uq_token_name"),
        sa.UniqueConstraint("sha256", name="uq_token_sha256"),
    )


def _fill(connection: sa.Connection) -> None:
    fact = sa.table("fact", *map(sa.column, ("id", "value", "dimension", "written", "shown")))
    for row in connection.execute(sa.select(fact)).all():
        shown = row.written if row.value is None else render_value(row.value, row.dimension)
        connection.execute(sa.update(fact).where(fact.c.id == row.id).values(shown=shown))


def downgrade() -> None:
    op.drop_table("token")
    op.drop_column("fact", "shown")
