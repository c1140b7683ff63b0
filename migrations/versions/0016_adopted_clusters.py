"""Clusters that are adopted: of domains of several models, under network nodes with ids of their own in any tiers.

Revision ID: 0016
Revises: 0015
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"

TIER = "ck_network_node_tier"
FIRST_MODEL = """
UPDATE cluster SET domain_model_id = (
    SELECT domain.domain_model_id FROM domain WHERE domain.cluster_id = cluster.id ORDER BY domain.ordinal LIMIT 1
) WHERE domain_model_id IS NULL"""
FIRSTS = [f"first_{name}_id" for name in ("domain", "rack", "server", "tray", "node", "core", "link")]


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.alter_column("cluster", "domain_model_id", nullable=True)
        op.execute('ALTER TABLE network_node ADD COLUMN vendor_id TEXT COLLATE "C"')
        _tier("tier > 0")
        return
    _cluster(model_is_needed=False)
    _network_node("tier > 0", sa.Column("vendor_id", sa.Text(), nullable=True))


def downgrade() -> None:
    op.execute(FIRST_MODEL)
    if op.get_context().dialect.name == "postgresql":
        op.alter_column("cluster", "domain_model_id", nullable=False)
        op.drop_column("network_node", "vendor_id")
        _tier("tier BETWEEN 1 AND 3")
        return
    _cluster(model_is_needed=True)
    _network_node("tier BETWEEN 1 AND 3")


def _tier(test: str) -> None:
    op.drop_constraint(TIER, "network_node")
    op.create_check_constraint(op.f(TIER), "network_node", test)


def _cluster(*, model_is_needed: bool) -> None:
    op.execute("PRAGMA defer_foreign_keys = ON")  # SQLite changes no constraint in place, and others refer to the table
    op.execute("CREATE TEMPORARY TABLE kept AS SELECT * FROM cluster")
    op.drop_table("cluster")
    op.create_table(
        "cluster",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("system", sa.Text(), nullable=False),
        sa.Column("domain_model_id", sa.Integer(), nullable=not model_is_needed),
        sa.Column("domains", sa.Integer(), nullable=False),
        *(sa.Column(first, sa.Integer(), nullable=False) for first in FIRSTS),
        sa.CheckConstraint("domains > 0", name="domains"),
        sa.ForeignKeyConstraint(["domain_model_id"], ["domain_model.id"], name="fk_cluster_domain_model_id"),
        sa.PrimaryKeyConstraint("id", name="pk_cluster"),
        sa.UniqueConstraint("slug", name="uq_cluster_slug"),
    )
    op.create_index("ix_cluster_domain_model_id", "cluster", ["domain_model_id"])
    op.execute("INSERT INTO cluster SELECT * FROM kept")
    op.execute("DROP TABLE kept")


def _network_node(tier: str, *more: sa.Column[str]) -> None:
    op.execute("CREATE TEMPORARY TABLE kept AS SELECT id, tier, ordinal FROM network_node")
    op.drop_table("network_node")
    op.create_table(
        "network_node",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("tier", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        *more,
        sa.CheckConstraint("ordinal >= 0", name="ordinal"),
        sa.CheckConstraint(tier, name="tier"),
        sa.ForeignKeyConstraint(["id"], ["node.id"], name="fk_network_node_id"),
        sa.PrimaryKeyConstraint("id", name="pk_network_node"),
    )
    op.create_index("ix_network_node_tier_ordinal", "network_node", ["tier", "ordinal"])
    op.execute("INSERT INTO network_node (id, tier, ordinal) SELECT id, tier, ordinal FROM kept")
    op.execute("DROP TABLE kept")
