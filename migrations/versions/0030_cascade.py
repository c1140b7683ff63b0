"""Triggers let the parts of a server follow it, whoever writes its state.

Revision ID: 0030
Revises: 0029
"""

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    """Change no table: the triggers are created anew, and trninv writes servers alone from here on."""


def downgrade() -> None:
    """Change no table."""
