"""What machines and their managers report, beside the design.

Revision ID: 0013
Revises: 0012
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

TABLES = ("observation", "observed_server", "observed_chip", "observed_link")
LASTING = "id, at, source, name, sha256, taken_at, is_whole, servers, chips"
"""Columns of an observation that never change."""
STATES = "IN ('up', 'degraded', 'down', 'maintenance')"
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
FUNCTION = """
CREATE FUNCTION kept_for_ever() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN RAISE EXCEPTION '% is append only', TG_TABLE_NAME; END $$
"""


def upgrade() -> None:
    _make(
        "observation",
        _text("at", required=True),
        _text("source", 16, required=True),
        _text("name", required=True),
        _text("sha256", 64, required=True),
        _text("taken_at", required=True),
        _text("seen_at", required=True),
        sa.Column("is_whole", sa.Boolean(), nullable=False),
        sa.Column("servers", sa.Integer(), nullable=False),
        sa.Column("chips", sa.Integer(), nullable=False),
        sa.UniqueConstraint("source", "sha256", name="uq_observation_source_sha256"),
    )
    words = ("instance", "host", "instance_type", "zone", "reservation", "capacity_block", "network_nodes")
    _make(
        "observed_server",
        sa.Column("observation_id", sa.Integer(), nullable=False),
        *map(_text, (*words, "ultraserver")),
        sa.Column("position", sa.Integer(), nullable=True),
        _text("ultraserver_mode"),
        _text("state", 12),
        _text("reason"),
        sa.Column("logical_cores", sa.Integer(), nullable=True),
        sa.Column("chip_count", sa.Integer(), nullable=True),
        sa.Column("is_partial", sa.Boolean(), nullable=False),
        sa.CheckConstraint(f"state IS NULL OR state {STATES}", name="state"),
        sa.CheckConstraint("instance IS NOT NULL OR host IS NOT NULL", name="named"),
        _of("observed_server", "observation"),
    )
    _make(
        "observed_chip",
        sa.Column("observed_server_id", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        _text("bdf"),
        _text("serial"),
        sa.Column("memory_bytes", BIG, nullable=True),
        sa.Column("cores", sa.Integer(), nullable=True),
        sa.Column("numa_node", sa.Integer(), nullable=True),
        _text("neighbours"),
        _text("efa_bdf"),
        sa.Column("ecc_uncorrected", BIG, nullable=True),
        sa.CheckConstraint("ordinal >= 0", name="ordinal"),
        sa.UniqueConstraint("observed_server_id", "ordinal", name="uq_observed_chip_observed_server_id_ordinal"),
        _of("observed_chip", "observed_server"),
    )
    _make(
        "observed_link",
        sa.Column("observation_id", sa.Integer(), nullable=False),
        _text("host"),
        _text("capacity_block"),
        _text("part", 12, required=True),
        _text("state", 20, required=True),
        sa.CheckConstraint("part IN ('H', 'V', 'interconnect')", name="part"),
        _of("observed_link", "observation"),
    )
    for table, column in (
        ("observed_server", "observation_id"),
        ("observed_server", "instance"),
        ("observed_server", "host"),
        ("observed_link", "observation_id"),
    ):
        op.create_index(f"ix_{table}_{column}", table, [column])
    _keep()


def _make(table: str, *parts: Any) -> None:
    op.create_table(
        table,
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        *parts,
        sa.PrimaryKeyConstraint("id", name=f"pk_{table}"),
    )


def _text(name: str, length: int | None = None, *, required: bool = False) -> sa.Column[str]:
    kind = sa.String(length) if length else sa.Text()
    ordered = sa.String(length, collation="C") if length else sa.Text(collation="C")
    return sa.Column(name, kind.with_variant(ordered, "postgresql"), nullable=not required)


def _of(table: str, parent: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_{parent}_id"
    return sa.ForeignKeyConstraint([f"{parent}_id"], [f"{parent}.id"], name=name, deferrable=True, initially="DEFERRED")


def _keep() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(FUNCTION)
        for table in TABLES:
            columns = f" OF {LASTING}" if table == "observation" else ""
            op.execute(
                f"CREATE TRIGGER {table}_kept BEFORE UPDATE{columns} OR DELETE OR TRUNCATE ON {table} "
                "FOR EACH STATEMENT EXECUTE FUNCTION kept_for_ever()"
            )
        return
    for table in TABLES:
        update = f"UPDATE OF {LASTING}" if table == "observation" else "UPDATE"
        for verb, name in ((update, "update"), ("DELETE", "delete")):
            refuse = f"SELECT RAISE(ABORT, '{table} is append only')"
            op.execute(f"CREATE TRIGGER {table}_no_{name} BEFORE {verb} ON {table} BEGIN {refuse}; END")


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)
    if op.get_context().dialect.name == "postgresql":
        op.execute("DROP FUNCTION kept_for_ever")
