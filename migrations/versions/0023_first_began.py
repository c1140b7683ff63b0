"""A job that moves keeps its beginning; what moved before this revision did not record it.

Revision ID: 0023
Revises: 0022
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.add_column(
        "job", sa.Column("first_began", sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), nullable=True)
    )


def downgrade() -> None:
    op.drop_column("job", "first_began")
