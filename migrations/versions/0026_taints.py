"""Chips have the taints that Kubernetes has for their devices.

Revision ID: 0026
Revises: 0025
"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.add_column("observed_chip", sa.Column("taints", text, nullable=True))


def downgrade() -> None:
    op.drop_column("observed_chip", "taints")
