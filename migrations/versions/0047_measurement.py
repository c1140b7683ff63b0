"""Measurements: how fast collectives and transfers ran, beside the limit of the wiring at that moment.

Revision ID: 0047
Revises: 0046
"""

import sqlalchemy as sa
from alembic import op

revision = "0047"
down_revision = "0046"

KEEPS_READERS = True


def upgrade() -> None:
    collation = "C" if op.get_context().dialect.name == "postgresql" else None
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "measurement",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("observation_id", sa.Integer(), nullable=False),
        sa.Column("operation", sa.String(16, collation=collation), nullable=False),
        sa.Column("address", sa.Text(collation=collation), nullable=False),
        *(sa.Column(name, sa.Text(collation=collation)) for name in ("peer", "machine")),
        sa.Column("measured_at", sa.Text(collation=collation), nullable=False),
        sa.Column("event", sa.Integer(), nullable=False),
        sa.Column("chips", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.Integer()) for name in ("ranks", "logical_cores")),
        sa.Column("data_type", sa.String(16, collation=collation)),
        *(
            sa.Column(name, big, nullable=False)
            for name in ("bytes", "nanoseconds", "algorithm_bandwidth", "bus_bandwidth")
        ),
        sa.Column("limit_bandwidth", big),
        sa.CheckConstraint("bytes > 0", name=op.f("ck_measurement_bytes")),
        sa.CheckConstraint("nanoseconds > 0", name=op.f("ck_measurement_nanoseconds")),
        sa.ForeignKeyConstraint(
            ["observation_id"],
            ["observation.id"],
            name=op.f("fk_measurement_observation_id"),
            deferrable=True,
            initially="DEFERRED",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_measurement")),
    )
    op.create_index("ix_measurement_address", "measurement", ["address"])
    op.create_index("ix_measurement_observation_id", "measurement", ["observation_id"])


def downgrade() -> None:
    op.drop_table("measurement")
