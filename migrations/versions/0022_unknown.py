"""PostgreSQL's views of the past leave out clusters that were not known at the moment.

Revision ID: 0022
Revises: 0021
"""

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Whatever the revision, migrating drops the views and creates them anew."""


def downgrade() -> None:
    """As upgrading."""
