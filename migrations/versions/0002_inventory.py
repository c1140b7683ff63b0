"""Clusters and everything in them: the graph.

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
NOT_UP = sa.text("state <> 'up'")
TABLES = (
    "cluster",
    "domain",
    "rack",
    "server",
    "tray",
    "node",
    "chip",
    "switch",
    "nic",
    "network_node",
    "core",
    "link",
)


def upgrade() -> None:
    op.create_table(
        "cluster",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("system", sa.Text(), nullable=False),
        sa.Column("domain_model_id", sa.Integer(), nullable=False),
        sa.Column("domains", sa.Integer(), nullable=False),
        sa.Column("first_domain_id", sa.Integer(), nullable=False),
        sa.Column("first_rack_id", sa.Integer(), nullable=False),
        sa.Column("first_server_id", sa.Integer(), nullable=False),
        sa.Column("first_tray_id", sa.Integer(), nullable=False),
        sa.Column("first_node_id", sa.Integer(), nullable=False),
        sa.Column("first_core_id", sa.Integer(), nullable=False),
        sa.Column("first_link_id", sa.Integer(), nullable=False),
        sa.CheckConstraint("domains > 0", name="domains"),
        sa.ForeignKeyConstraint(["domain_model_id"], ["domain_model.id"], name="fk_cluster_domain_model_id"),
        sa.PrimaryKeyConstraint("id", name="pk_cluster"),
        sa.UniqueConstraint("slug", name="uq_cluster_slug"),
    )
    op.create_index("ix_cluster_domain_model_id", "cluster", ["domain_model_id"])
    op.create_table(
        "domain",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("cluster_id", sa.Integer(), nullable=False),
        sa.Column("domain_model_id", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.CheckConstraint("ordinal >= 0", name="ordinal"),
        sa.ForeignKeyConstraint(["cluster_id"], ["cluster.id"], name="fk_domain_cluster_id"),
        sa.ForeignKeyConstraint(["domain_model_id"], ["domain_model.id"], name="fk_domain_domain_model_id"),
        sa.PrimaryKeyConstraint("id", name="pk_domain"),
        sa.UniqueConstraint("cluster_id", "ordinal", name="uq_domain_cluster_id_ordinal"),
    )
    op.create_table(
        "rack",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("cluster_id", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("rack_units", sa.Integer(), nullable=False),
        sa.CheckConstraint("ordinal >= 0", name="ordinal"),
        sa.CheckConstraint("rack_units > 0", name="rack_units"),
        sa.ForeignKeyConstraint(["cluster_id"], ["cluster.id"], name="fk_rack_cluster_id"),
        sa.PrimaryKeyConstraint("id", name="pk_rack"),
        sa.UniqueConstraint("cluster_id", "ordinal", name="uq_rack_cluster_id_ordinal"),
    )
    op.create_table(
        "server",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("domain_id", sa.Integer(), nullable=False),
        sa.Column("rack_id", sa.Integer(), nullable=False),
        sa.Column("server_model_id", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.CheckConstraint("ordinal >= 0", name="ordinal"),
        sa.ForeignKeyConstraint(["domain_id"], ["domain.id"], name="fk_server_domain_id"),
        sa.ForeignKeyConstraint(["rack_id"], ["rack.id"], name="fk_server_rack_id"),
        sa.ForeignKeyConstraint(["server_model_id"], ["server_model.id"], name="fk_server_server_model_id"),
        sa.PrimaryKeyConstraint("id", name="pk_server"),
        sa.UniqueConstraint("domain_id", "ordinal", name="uq_server_domain_id_ordinal"),
    )
    op.create_index("ix_server_rack_id", "server", ["rack_id"])
    op.create_table(
        "tray",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("server_id", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("rack_units", sa.Integer(), nullable=True),
        sa.CheckConstraint("kind IN ('head', 'compute')", name="kind"),
        sa.CheckConstraint("ordinal >= 0", name="ordinal"),
        sa.CheckConstraint("rack_units > 0", name="rack_units"),
        sa.ForeignKeyConstraint(["server_id"], ["server.id"], name="fk_tray_server_id"),
        sa.PrimaryKeyConstraint("id", name="pk_tray"),
        sa.UniqueConstraint("server_id", "ordinal", name="uq_tray_server_id_ordinal"),
    )
    op.create_table(
        "node",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("cluster_id", sa.Integer(), nullable=False),
        sa.Column("domain_id", sa.Integer(), nullable=True),
        sa.Column("state", sa.String(length=12), server_default="up", nullable=False),
        sa.CheckConstraint("kind IN ('chip', 'switch', 'nic', 'network_node')", name="kind"),
        sa.CheckConstraint("state IN ('up', 'degraded', 'down', 'maintenance')", name="state"),
        sa.ForeignKeyConstraint(["cluster_id"], ["cluster.id"], name="fk_node_cluster_id"),
        sa.ForeignKeyConstraint(["domain_id"], ["domain.id"], name="fk_node_domain_id"),
        sa.PrimaryKeyConstraint("id", name="pk_node"),
    )
    op.create_index("ix_node_cluster_id_kind", "node", ["cluster_id", "kind"])
    op.create_index("ix_node_domain_id", "node", ["domain_id"])
    op.create_index("ix_node_not_up", "node", ["id"], sqlite_where=NOT_UP, postgresql_where=NOT_UP)
    op.create_table(
        "chip",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("server_id", sa.Integer(), nullable=False),
        sa.Column("tray_id", sa.Integer(), nullable=True),
        sa.Column("chip_model_id", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.CheckConstraint("ordinal >= 0", name="ordinal"),
        sa.ForeignKeyConstraint(["chip_model_id"], ["chip_model.id"], name="fk_chip_chip_model_id"),
        sa.ForeignKeyConstraint(["id"], ["node.id"], name="fk_chip_id"),
        sa.ForeignKeyConstraint(["server_id"], ["server.id"], name="fk_chip_server_id"),
        sa.ForeignKeyConstraint(["tray_id"], ["tray.id"], name="fk_chip_tray_id"),
        sa.PrimaryKeyConstraint("id", name="pk_chip"),
        sa.UniqueConstraint("server_id", "ordinal", name="uq_chip_server_id_ordinal"),
    )
    op.create_index("ix_chip_tray_id", "chip", ["tray_id"])
    op.create_table(
        "switch",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("server_id", sa.Integer(), nullable=True),
        sa.Column("rack_id", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.CheckConstraint("ordinal >= 0", name="ordinal"),
        sa.ForeignKeyConstraint(["id"], ["node.id"], name="fk_switch_id"),
        sa.ForeignKeyConstraint(["rack_id"], ["rack.id"], name="fk_switch_rack_id"),
        sa.ForeignKeyConstraint(["server_id"], ["server.id"], name="fk_switch_server_id"),
        sa.PrimaryKeyConstraint("id", name="pk_switch"),
    )
    op.create_index("ix_switch_rack_id", "switch", ["rack_id"])
    op.create_index("ix_switch_server_id", "switch", ["server_id"])
    op.create_table(
        "nic",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("server_id", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("bandwidth_bytes_per_s", BIG, nullable=False),
        sa.CheckConstraint("bandwidth_bytes_per_s > 0", name="bandwidth_bytes_per_s"),
        sa.CheckConstraint("ordinal >= 0", name="ordinal"),
        sa.ForeignKeyConstraint(["id"], ["node.id"], name="fk_nic_id"),
        sa.ForeignKeyConstraint(["server_id"], ["server.id"], name="fk_nic_server_id"),
        sa.PrimaryKeyConstraint("id", name="pk_nic"),
        sa.UniqueConstraint("server_id", "ordinal", name="uq_nic_server_id_ordinal"),
    )
    op.create_table(
        "network_node",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("tier", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.CheckConstraint("ordinal >= 0", name="ordinal"),
        sa.CheckConstraint("tier BETWEEN 1 AND 3", name="tier"),
        sa.ForeignKeyConstraint(["id"], ["node.id"], name="fk_network_node_id"),
        sa.PrimaryKeyConstraint("id", name="pk_network_node"),
    )
    op.create_index("ix_network_node_tier_ordinal", "network_node", ["tier", "ordinal"])
    op.create_table(
        "core",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("chip_id", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.CheckConstraint("ordinal >= 0", name="ordinal"),
        sa.ForeignKeyConstraint(["chip_id"], ["chip.id"], name="fk_core_chip_id"),
        sa.PrimaryKeyConstraint("id", name="pk_core"),
        sa.UniqueConstraint("chip_id", "ordinal", name="uq_core_chip_id_ordinal"),
    )
    op.create_table(
        "link",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("a_id", sa.Integer(), nullable=False),
        sa.Column("b_id", sa.Integer(), nullable=False),
        sa.Column("domain_id", sa.Integer(), nullable=True),
        sa.Column("link_model_id", sa.Integer(), nullable=False),
        sa.Column("bandwidth_bytes_per_s", BIG, nullable=False),
        sa.Column("lanes", sa.Integer(), nullable=True),
        sa.Column("cables", sa.Integer(), server_default="1", nullable=False),
        sa.Column("technology", sa.Text(), nullable=False),
        sa.Column("scope", sa.String(length=8), nullable=False),
        sa.Column("state", sa.String(length=12), server_default="up", nullable=False),
        sa.CheckConstraint("scope IN ('server', 'rack', 'domain', 'host', 'fabric')", name="scope"),
        sa.CheckConstraint("state IN ('up', 'degraded', 'down', 'maintenance')", name="state"),
        sa.CheckConstraint("a_id < b_id", name="order"),
        sa.CheckConstraint("cables > 0", name="cables"),
        sa.CheckConstraint("bandwidth_bytes_per_s > 0", name="bandwidth_bytes_per_s"),
        sa.CheckConstraint("lanes > 0", name="lanes"),
        sa.ForeignKeyConstraint(["a_id"], ["node.id"], name="fk_link_a_id"),
        sa.ForeignKeyConstraint(["b_id"], ["node.id"], name="fk_link_b_id"),
        sa.ForeignKeyConstraint(["domain_id"], ["domain.id"], name="fk_link_domain_id"),
        sa.ForeignKeyConstraint(["link_model_id"], ["link_model.id"], name="fk_link_link_model_id"),
        sa.PrimaryKeyConstraint("id", name="pk_link"),
        sa.UniqueConstraint("a_id", "b_id", name="uq_link_a_id_b_id"),
    )
    op.create_index("ix_link_b_id", "link", ["b_id"])
    op.create_index("ix_link_domain_id", "link", ["domain_id"])
    op.create_index("ix_link_not_up", "link", ["id"], sqlite_where=NOT_UP, postgresql_where=NOT_UP)


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)
