"""Tokens may have the scope sql.

Revision ID: 0008
Revises: 0007
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

NAME = "ck_token_scope"
NEW = "scope IN ('read', 'sql', 'operate', 'admin')"
OLD = "scope IN ('read', 'operate', 'admin')"


def upgrade() -> None:
    _check(NEW)


def downgrade() -> None:
    """Tokens of scope sql may read: what else they could do is no longer there to be done."""
    op.execute("UPDATE token SET scope = 'read' WHERE scope = 'sql'")
    _check(OLD)


def _check(allowed: str) -> None:
    if op.get_context().dialect.name == "postgresql":
        op.drop_constraint(NAME, "token")
        op.create_check_constraint(op.f(NAME), "token", allowed)
        return
    op.execute("CREATE TEMPORARY TABLE kept AS SELECT * FROM token")  # SQLite changes no constraint in place
    op.drop_table("token")
    op.create_table(
        "token",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("scope", sa.String(length=8), nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.Column("expires", sa.Text(), nullable=True),
        sa.Column("revoked", sa.Text(), nullable=True),
        sa.CheckConstraint(allowed, name="scope"),
        sa.PrimaryKeyConstraint("id", name="pk_token"),
        sa.UniqueConstraint("name", name="uq_token_name"),
        sa.UniqueConstraint("sha256", name="uq_token_sha256"),
    )
    op.execute("INSERT INTO token SELECT * FROM kept")
    op.execute("DROP TABLE kept")
