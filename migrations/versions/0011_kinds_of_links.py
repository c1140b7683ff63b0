"""Links by model, state, scope and what they carry: what is counted and added up of a large fleet is read from here.

Revision ID: 0011
Revises: 0010
"""

from alembic import op

revision = "0011"
down_revision = "0010"

COLUMNS = ["link_model_id", "state", "scope", "bandwidth_bytes_per_s", "cables"]


def upgrade() -> None:
    op.create_index("ix_link_kind", "link", COLUMNS)


def downgrade() -> None:
    op.drop_index("ix_link_kind", "link")
