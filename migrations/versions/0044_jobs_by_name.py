"""Jobs, and the events of jobs, are found by the job's name.

Revision ID: 0044
Revises: 0042
"""

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0042"

KEEPS_READERS = True
_HAS_JOB = sa.text("job IS NOT NULL")


def upgrade() -> None:
    op.create_index("ix_job_name", "job", ["name"])
    op.create_index(
        "ix_state_event_job", "state_event", ["job", "id"], sqlite_where=_HAS_JOB, postgresql_where=_HAS_JOB
    )


def downgrade() -> None:
    op.drop_index("ix_state_event_job", "state_event")
    op.drop_index("ix_job_name", "job")
