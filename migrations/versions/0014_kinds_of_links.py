"""Links by model, state, scope and what they carry: what is counted and added up of a large fleet is read from here.

Revision ID: 0014
Revises: 0013
"""

from alembic import op

revision = "0014"
down_revision = "0013"

COLUMNS = ["link_model_id", "state", "scope", "bandwidth_bytes_per_s", "cables"]


def upgrade() -> None:
    op.create_index("ix_link_kind", "link", COLUMNS)


def downgrade() -> None:
    op.drop_index("ix_link_kind", "link")
