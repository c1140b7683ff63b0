"""Define the tables of webhooks: how far each receiver is, and messages that were given up."""

from sqlalchemy import Column, Index, Integer, Table, Text, UniqueConstraint

from trninv.database.tables.columns import BIGINT, METADATA, primary_key, required_column

# A receiver of TRNINV_WEBHOOKS (trninv.webhooks). ``last_event``: the number of the last event that was sent or not
# selected. ``incidents`` and ``checks``: JSON objects of the open incidents, and of whether checks pass, as far as the
# receiver knows. ``sent`` and ``failed``: accepted messages and failed attempts; ``error``: why the latest attempt
# failed, null if it did not.
Table(
    "webhook_receiver",
    METADATA,
    primary_key(),
    required_column("name", Text),
    required_column("last_event", BIGINT),
    required_column("incidents", Text),
    required_column("checks", Text),
    required_column("sent", BIGINT),
    required_column("failed", BIGINT),
    Column("error", Text),
    UniqueConstraint("name"),
)

# A message that was given up (dead letter): ``message`` is its id, which is the same whenever it is sent, ``body`` what
# is sent in the receiver's format. Neither table has a secret: URLs, which may be secrets, are not stored, and errors
# name hosts only. A row ends when the message is accepted after all (``trninv webhooks retry``).
Table(
    "webhook_dead_letter",
    METADATA,
    primary_key(),
    required_column("receiver", Text),
    required_column("message", Text),
    required_column("type", Text),
    required_column("body", Text),
    required_column("attempts", Integer),
    required_column("error", Text),
    required_column("failed_at", Text),
    Index("ix_webhook_dead_letter_receiver", "receiver"),
)
