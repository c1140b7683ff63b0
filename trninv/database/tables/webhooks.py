"""Define the tables of webhooks: how far each receiver is, and messages that were given up."""

from sqlalchemy import Column, Index, Integer, Table, Text, UniqueConstraint

from trninv.database.tables.columns import BIGINT, METADATA, described, primary_key, required_column

# See trninv.webhooks. Neither table has a secret: URLs, which may be secrets, are not stored, and errors name hosts
# only.
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
    info=described(
        "a receiver that got something",
        last_event="the last event that was sent or not selected",
        incidents="JSON: the open ones that it knows",
        checks="JSON: whether each passes",
        sent="accepted messages",
        failed="failed attempts",
        error="of the latest attempt; null if it succeeded",
    ),
)

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
    info=described(
        "a message that was given up; it goes when the message is accepted after all",
        message="its id in each attempt",
        body="what is sent, in the receiver's format",
    ),
)
