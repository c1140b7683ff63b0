"""Conditions: servers have one, degraded things carry a fraction, and every change is kept.

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

STATES = "IN ('up', 'degraded', 'down', 'maintenance')"
COLUMNS = (
    ("server", "state", f"VARCHAR(12) DEFAULT 'up' NOT NULL CONSTRAINT ck_server_state CHECK (state {STATES})"),
    ("server", "factor_ppm", "INTEGER"),
    ("node", "factor_ppm", "INTEGER"),
    ("node", "own_state", f"VARCHAR(12) CONSTRAINT ck_node_own_state CHECK (own_state IS NULL OR own_state {STATES})"),
    ("node", "own_factor_ppm", "INTEGER"),
    ("link", "factor_ppm", "INTEGER"),
)
"""Columns that are added in place: recreating the tables would take minutes for a large cluster."""

REFUSE = "state_event is append only"
FUNCTION = f"""
CREATE FUNCTION state_event_append_only() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN RAISE EXCEPTION '{REFUSE}'; END $$
"""
TRIGGER = """
CREATE TRIGGER state_event_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON state_event
FOR EACH STATEMENT EXECUTE FUNCTION state_event_append_only()
"""


def upgrade() -> None:
    for table, column, kind in COLUMNS:
        check = f" CONSTRAINT ck_{table}_{column} CHECK ({column} > 0 AND {column} < 1000000)"
        op.execute(f"ALTER TABLE {table} ADD COLUMN {column} {kind}{check if kind == 'INTEGER' else ''}")
    op.create_table(
        "state_event",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("before", sa.String(length=12), nullable=False),
        sa.Column("factor_ppm_before", sa.Integer(), nullable=True),
        sa.Column("state", sa.String(length=12), server_default="up", nullable=False),
        sa.Column("factor_ppm", sa.Integer(), nullable=True),
        sa.CheckConstraint(f"state {STATES}", name="state"),
        sa.CheckConstraint("factor_ppm > 0 AND factor_ppm < 1000000", name="factor_ppm"),
        sa.CheckConstraint(f"before {STATES}", name="before"),
        sa.PrimaryKeyConstraint("id", name="pk_state_event"),
    )
    op.create_index("ix_state_event_address", "state_event", ["address"])
    if op.get_context().dialect.name == "postgresql":
        op.execute(FUNCTION)
        op.execute(TRIGGER)
        return
    for verb in ("UPDATE", "DELETE"):
        name = f"state_event_no_{verb.lower()}"
        op.execute(f"CREATE TRIGGER {name} BEFORE {verb} ON state_event BEGIN SELECT RAISE(ABORT, '{REFUSE}'); END")


def downgrade() -> None:
    op.drop_table("state_event")
    if op.get_context().dialect.name == "postgresql":
        op.execute("DROP FUNCTION state_event_append_only")
    for table, column, _ in reversed(COLUMNS):
        op.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
