"""Parts are counted by cluster, kind, model, scope and state, so that totals need no scan.

The table is filled where ``migrations/env.py`` creates the triggers that keep it current. The index of all links by
model was for such totals. Lists by state find unhealthy rows by their state, servers too.

Revision ID: 0036
Revises: 0035
"""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"

_LINK_COLUMNS = ["link_model_id", "state", "scope", "bandwidth_bytes_per_s", "cables"]


def upgrade() -> None:
    collation = "C" if op.get_context().dialect.name == "postgresql" else None
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "part_count",
        sa.Column("cluster_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(12, collation=collation), nullable=False),
        sa.Column("model_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("scope", sa.String(8, collation=collation), nullable=False),
        sa.Column("state", sa.String(12, collation=collation), nullable=False),
        *(sa.Column(name, big, nullable=False) for name in ("number", "cables", "bandwidth_bytes_per_s")),
        sa.ForeignKeyConstraint(["cluster_id"], ["cluster.id"], name="fk_part_count_cluster_id"),
        sa.PrimaryKeyConstraint("cluster_id", "kind", "model_id", "scope", "state", name="pk_part_count"),
        sqlite_with_rowid=False,
    )
    _index_unhealthy("server", ["state", "id"])
    for table in ("node", "link"):
        op.drop_index(f"ix_{table}_unhealthy", table)
        _index_unhealthy(table, ["state", "id"])
    op.drop_index("ix_link_kind", "link")


def downgrade() -> None:
    op.create_index("ix_link_kind", "link", _LINK_COLUMNS)
    for table in ("server", "node", "link"):
        op.drop_index(f"ix_{table}_unhealthy", table)
    for table in ("node", "link"):
        _index_unhealthy(table, ["id"])
    op.drop_table("part_count")


def _index_unhealthy(table: str, columns: list[str]) -> None:
    where = sa.text("state <> 'up'")
    op.create_index(f"ix_{table}_unhealthy", table, columns, sqlite_where=where, postgresql_where=where)
