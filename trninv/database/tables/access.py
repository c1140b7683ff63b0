"""Tables of principals, their tokens, and what happened to tokens."""

from sqlalchemy import Column, Index, Integer, String, Table, Text, UniqueConstraint

from trninv.database.tables.columns import (
    BIGINT,
    METADATA,
    check_one_of,
    described,
    foreign_key,
    primary_key,
    required_column,
)
from trninv.database.tables.vocabulary import TOKEN_ACTION_MEANINGS, TOKEN_SCOPES

Table(
    "principal",
    METADATA,
    primary_key(),
    required_column("name", Text),
    Column("quota_hour", Text),
    Column("quota_rows", Integer),
    Column("quota_bytes", BIGINT),
    UniqueConstraint("name"),
    info=described(
        "a person, program or machine that has tokens",
        quota_rows="what it has reported since `quota_hour` began",
        quota_bytes="likewise",
    ),
)

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
    info=described(
        "a bearer token",
        issued_by="null: created before tokens had one",
        last_used="to the hour",
    ),
)

# Datasette and similar tools do not list tables whose names start with an underscore.
Table(
    "_token_digest",
    METADATA,
    primary_key("token"),
    required_column("sha256", String(64)),
    UniqueConstraint("sha256"),
    info=described("the digest of a token"),
)

# Rows are never updated.
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
    info=described(
        "something that happened to a token",
        action="create, enroll, rotate, use, revoke",
    ),
)

PRIVATE_TABLES = frozenset({"principal", "token", "_token_digest", "token_event", "_change"})
"""Tables that users' queries may not read."""
