"""A server's observation keeps which fields its source should report and did not; older ones did not record it.

Revision ID: 0027
Revises: 0026
"""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    op.add_column(
        "observed_server",
        sa.Column("missing_fields", sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), nullable=True),
    )


def downgrade() -> None:
    op.drop_column("observed_server", "missing_fields")
