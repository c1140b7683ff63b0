"""Tokens may have the scope observe.

Revision ID: 0018
Revises: 0017
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"

NAME = "ck_token_scope"
NEW = "scope IN ('read', 'sql', 'operate', 'observe', 'admin')"
OLD = "scope IN ('read', 'sql', 'operate', 'admin')"


def upgrade() -> None:
    _check(NEW)


def downgrade() -> None:
    """Tokens of scope observe are gone: no other scope allows so little."""
    ours = "SELECT id FROM token WHERE scope = 'observe'"
    op.execute(f"DELETE FROM _token_digest WHERE id IN ({ours})")
    op.execute("DELETE FROM token WHERE scope = 'observe'")
    _check(OLD)


def _check(allowed: str) -> None:
    if op.get_context().dialect.name == "postgresql":
        op.drop_constraint(NAME, "token")
        op.create_check_constraint(op.f(NAME), "token", allowed)
        return
    for table in ("_token_digest", "token"):  # SQLite changes no constraint in place, and one table names the other
        op.execute(f"CREATE TEMPORARY TABLE kept_{table} AS SELECT * FROM {table}")
        op.drop_table(table)
    op.create_table(
        "token",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("scope", sa.String(length=8), nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.Column("expires", sa.Text(), nullable=True),
        sa.Column("revoked", sa.Text(), nullable=True),
        sa.CheckConstraint(allowed, name="scope"),
        sa.PrimaryKeyConstraint("id", name="pk_token"),
        sa.UniqueConstraint("name", name="uq_token_name"),
    )
    op.create_table(
        "_token_digest",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["id"], ["token.id"], name="fk__token_digest_id"),
        sa.PrimaryKeyConstraint("id", name="pk__token_digest"),
        sa.UniqueConstraint("sha256", name="uq__token_digest_sha256"),
    )
    for table in ("token", "_token_digest"):
        op.execute(f"INSERT INTO {table} SELECT * FROM kept_{table}")
        op.execute(f"DROP TABLE kept_{table}")
