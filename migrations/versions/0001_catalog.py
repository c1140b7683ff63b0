"""Sources, facts and hardware models.

Revision ID: 0001
Revises:
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TABLES = ("source", "fact", "chip_model", "server_model", "domain_model", "link_model")


def upgrade() -> None:
    op.create_table(
        "source",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("publisher", sa.Text(), nullable=False),
        sa.Column("date", sa.Text(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.CheckConstraint("kind IN ('seed', 'vendor', 'driver', 'third_party', 'assumed')", name="kind"),
        sa.PrimaryKeyConstraint("id", name="pk_source"),
        sa.UniqueConstraint("slug", name="uq_source_slug"),
    )
    op.create_table(
        "fact",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("attribute", sa.Text(), nullable=False),
        sa.Column("dimension", sa.Text(), nullable=False),
        sa.Column("source_id", sa.Integer(), nullable=False),
        sa.Column("written", sa.Text(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("quote", sa.Text(), nullable=False),
        sa.Column("reading_unit", sa.Text(), nullable=True),
        sa.Column("reading_direction", sa.Text(), nullable=True),
        sa.Column("grounds", sa.Text(), nullable=True),
        sa.Column("formula", sa.Text(), nullable=True),
        sa.Column("value", BIG, nullable=True),
        sa.Column("preference", sa.Integer(), nullable=False),
        sa.Column("disputed", sa.Boolean(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "reading_direction IS NULL OR reading_direction IN ('one', 'both')",
            name="reading_direction",
        ),
        sa.CheckConstraint("preference >= 0", name="preference"),
        sa.ForeignKeyConstraint(["source_id"], ["source.id"], name="fk_fact_source_id"),
        sa.PrimaryKeyConstraint("id", name="pk_fact"),
        sa.UniqueConstraint("subject", "attribute", "preference", name="uq_fact_subject_attribute_preference"),
    )
    op.create_index("ix_fact_source_id", "fact", ["source_id"])
    op.create_table(
        "chip_model",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("generation", sa.Text(), nullable=False),
        sa.Column("core_model", sa.Text(), nullable=False),
        sa.Column("cores", sa.Integer(), nullable=False),
        sa.Column("device_memory_bytes", BIG, nullable=False),
        sa.Column("device_memory_bandwidth_bytes_per_s", BIG, nullable=False),
        sa.Column("mxfp8_gflops", BIG, nullable=True),
        sa.Column("fp8_gflops", BIG, nullable=True),
        sa.Column("bf16_gflops", BIG, nullable=True),
        sa.Column("fp32_gflops", BIG, nullable=True),
        sa.Column("sparse_gflops", BIG, nullable=True),
        sa.Column("int8_gops", BIG, nullable=True),
        sa.CheckConstraint("cores > 0", name="cores"),
        sa.CheckConstraint(
            "device_memory_bandwidth_bytes_per_s > 0",
            name="device_memory_bandwidth_bytes_per_s",
        ),
        sa.CheckConstraint("device_memory_bytes > 0", name="device_memory_bytes"),
        sa.PrimaryKeyConstraint("id", name="pk_chip_model"),
        sa.UniqueConstraint("slug", name="uq_chip_model_slug"),
    )
    op.create_table(
        "server_model",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("chip_model_id", sa.Integer(), nullable=False),
        sa.Column("chips", sa.Integer(), nullable=False),
        sa.Column("vcpus", sa.Integer(), nullable=False),
        sa.Column("host_memory_bytes", BIG, nullable=False),
        sa.CheckConstraint("chips > 0", name="chips"),
        sa.CheckConstraint("host_memory_bytes > 0", name="host_memory_bytes"),
        sa.CheckConstraint("vcpus > 0", name="vcpus"),
        sa.ForeignKeyConstraint(["chip_model_id"], ["chip_model.id"], name="fk_server_model_chip_model_id"),
        sa.PrimaryKeyConstraint("id", name="pk_server_model"),
        sa.UniqueConstraint("slug", name="uq_server_model_slug"),
    )
    op.create_index("ix_server_model_chip_model_id", "server_model", ["chip_model_id"])
    op.create_table(
        "domain_model",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("server_model_id", sa.Integer(), nullable=False),
        sa.Column("wiring", sa.Text(), nullable=False),
        sa.Column("sides", sa.Text(), nullable=False),
        sa.Column("servers", sa.Integer(), nullable=False),
        sa.Column("chips", sa.Integer(), nullable=False),
        sa.CheckConstraint("wiring IN ('single', 'torus', 'switched')", name="wiring"),
        sa.CheckConstraint("chips > 0", name="chips"),
        sa.CheckConstraint("servers > 0", name="servers"),
        sa.ForeignKeyConstraint(["server_model_id"], ["server_model.id"], name="fk_domain_model_server_model_id"),
        sa.PrimaryKeyConstraint("id", name="pk_domain_model"),
        sa.UniqueConstraint("slug", name="uq_domain_model_slug"),
    )
    op.create_index("ix_domain_model_server_model_id", "domain_model", ["server_model_id"])
    op.create_table(
        "link_model",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("technology", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("lanes", sa.Integer(), nullable=True),
        sa.Column("bandwidth_bytes_per_s", BIG, nullable=False),
        sa.CheckConstraint("scope IN ('server', 'rack', 'domain', 'host', 'fabric')", name="scope"),
        sa.CheckConstraint("bandwidth_bytes_per_s > 0", name="bandwidth_bytes_per_s"),
        sa.CheckConstraint("lanes > 0", name="lanes"),
        sa.PrimaryKeyConstraint("id", name="pk_link_model"),
        sa.UniqueConstraint("slug", name="uq_link_model_slug"),
    )


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)
