"""Chips and servers have an index by model, so that lists ordered by their model's columns read few rows.

The table ``part_count`` also counts allocated chips; ``migrations/env.py`` counts again.

Revision ID: 0042
Revises: 0041
"""

from alembic import op

revision = "0042"
down_revision = "0041"


def upgrade() -> None:
    for table in ("chip", "server"):
        op.create_index(f"ix_{table}_{table}_model_id_id", table, [f"{table}_model_id", "id"])


def downgrade() -> None:
    for table in ("chip", "server"):
        op.drop_index(f"ix_{table}_{table}_model_id_id", table)
    op.execute("DELETE FROM part_count WHERE kind = 'allocation'")
