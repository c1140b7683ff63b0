"""When what was seen was last compared with the design.

Revision ID: 0021
Revises: 0020
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Take the time from the findings: when one was last seen, or when the last one was cleared."""
    op.create_table(
        "comparison",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), nullable=False),
        sa.CheckConstraint("id = 1", name="one"),
        sa.PrimaryKeyConstraint("id", name="pk_comparison"),
    )
    last = "SELECT max(last_seen) AS at FROM finding UNION ALL SELECT max(cleared_at) FROM finding"
    op.execute(f"INSERT INTO comparison (id, at) SELECT 1, max(at) FROM ({last}) AS told HAVING max(at) IS NOT NULL")


def downgrade() -> None:
    op.drop_table("comparison")
