"""Tables of webhooks: how far each receiver is, and messages that were given up.

Revision ID: 0101
Revises: 0100
"""

from alembic import op

from trninv.database.first_schema.ddl import BIGINT, INTEGER, TEXT, create_index, create_table, optional, required

revision = "0101"
down_revision = "0100"

KEEPS_READERS = True


def upgrade() -> None:
    create_table(
        "webhook_receiver",
        *required(TEXT, "name"),
        *required(BIGINT, "last_event"),
        *required(TEXT, "incidents", "checks"),
        *required(BIGINT, "sent", "failed"),
        *optional(TEXT, "error"),
        unique=("name",),
    )
    create_table(
        "webhook_dead_letter",
        *required(TEXT, "receiver", "message", "type", "body"),
        *required(INTEGER, "attempts"),
        *required(TEXT, "error", "failed_at"),
    )
    create_index("webhook_dead_letter", "receiver")


def downgrade() -> None:
    op.drop_table("webhook_dead_letter")
    op.drop_table("webhook_receiver")
