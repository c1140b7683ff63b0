"""Digests of tokens are in a table of their own, whose name begins with _: Datasette does not list such.

Revision ID: 0009
Revises: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

SCOPE = "scope IN ('read', 'sql', 'operate', 'admin')"
KEPT = "id, name, scope, created, expires, revoked"


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        _make_digests("token")
        op.drop_column("token", "sha256")
        return
    op.execute("CREATE TEMPORARY TABLE kept AS SELECT * FROM token")  # SQLite drops no column with a constraint
    op.drop_table("token")
    _make_token()
    op.execute(f"INSERT INTO token ({KEPT}) SELECT {KEPT} FROM kept")
    _make_digests("kept")
    op.execute("DROP TABLE kept")


def _make_digests(source: str) -> None:
    op.create_table(
        "_token_digest",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["id"], ["token.id"], name="fk__token_digest_id"),
        sa.PrimaryKeyConstraint("id", name="pk__token_digest"),
        sa.UniqueConstraint("sha256", name="uq__token_digest_sha256"),
    )
    op.execute(f"INSERT INTO _token_digest (id, sha256) SELECT id, sha256 FROM {source}")


def _make_token(*digest: sa.Column[str] | sa.UniqueConstraint) -> None:
    op.create_table(
        "token",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        *digest,
        sa.Column("scope", sa.String(length=8), nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.Column("expires", sa.Text(), nullable=True),
        sa.Column("revoked", sa.Text(), nullable=True),
        sa.CheckConstraint(SCOPE, name="scope"),
        sa.PrimaryKeyConstraint("id", name="pk_token"),
        sa.UniqueConstraint("name", name="uq_token_name"),
    )


def downgrade() -> None:
    digest = "SELECT sha256 FROM _token_digest WHERE _token_digest.id"
    if op.get_context().dialect.name == "postgresql":
        op.add_column("token", sa.Column("sha256", sa.String(length=64), nullable=True))
        op.execute(f"UPDATE token SET sha256 = ({digest} = token.id)")
        op.alter_column("token", "sha256", nullable=False)
        op.create_unique_constraint("uq_token_sha256", "token", ["sha256"])
        op.drop_table("_token_digest")
        return
    op.execute(f"CREATE TEMPORARY TABLE kept AS SELECT token.*, ({digest} = token.id) AS sha256 FROM token")
    op.drop_table("_token_digest")
    op.drop_table("token")
    _make_token(
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.UniqueConstraint("sha256", name="uq_token_sha256"),
    )
    op.execute(f"INSERT INTO token ({KEPT}, sha256) SELECT {KEPT}, sha256 FROM kept")
    op.execute("DROP TABLE kept")
