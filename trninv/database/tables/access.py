"""Tables of principals, their tokens, and what happened to tokens."""

from sqlalchemy import Column, Index, Integer, String, Table, Text, UniqueConstraint

from trninv.database.tables.columns import (
    BIGINT,
    METADATA,
    check_one_of,
    foreign_key,
    primary_key,
    required_column,
)
from trninv.database.tables.vocabulary import TOKEN_ACTION_MEANINGS, TOKEN_SCOPES

# A person, program or machine for which tokens were created, and the rows and bytes that it reported in the hour that
# began at ``quota_hour``.
Table(
    "principal",
    METADATA,
    primary_key(),
    required_column("name", Text),
    Column("quota_hour", Text),
    Column("quota_rows", Integer),
    Column("quota_bytes", BIGINT),
    UniqueConstraint("name"),
)

# A bearer token of a principal; a principal may have several. ``issued_by``: null if it was created before
# tokens had one. ``last_used`` is written at most once an hour.
Table(
    "token",
    METADATA,
    primary_key(),
    foreign_key("principal_id", "principal"),
    required_column("scope", String(8)),
    required_column("created", Text),
    Column("issued_by", Text),
    Column("expires", Text),
    Column("last_used", Text),
    Column("revoked", Text),
    Column("revoked_by", Text),
    check_one_of("scope", TOKEN_SCOPES),
    Index(None, "principal_id"),
)

# A token's digest. Datasette and similar tools do not list tables whose names start with an underscore.
Table(
    "_token_digest", METADATA, primary_key("token"), required_column("sha256", String(64)), UniqueConstraint("sha256")
)

# What happened to a token: who created, rotated or revoked it, or that it was first used. Rows are never updated.
Table(
    "token_event",
    METADATA,
    primary_key(),
    foreign_key("token_id", "token"),
    required_column("at", Text),
    required_column("who", Text),
    required_column("action", String(6)),
    Column("detail", Text),
    check_one_of("action", tuple(TOKEN_ACTION_MEANINGS)),
    Index(None, "token_id"),
)

PRIVATE_TABLES = frozenset({"principal", "token", "_token_digest", "token_event", "_change"})
"""Tables that users' queries may not read."""
