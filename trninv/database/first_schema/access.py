"""Create the tables of principals and their tokens."""

from trninv.database.first_schema.ddl import (
    BIGINT,
    INTEGER,
    TEXT,
    create_index,
    create_table,
    optional,
    required,
    varchar,
)

TABLES = ("principal", "token", "_token_digest", "token_event")


def create() -> None:
    """Create the tables with their indexes."""
    create_table(
        "principal",
        *required(TEXT, "name"),
        *optional(TEXT, "quota_hour"),
        *optional(INTEGER, "quota_rows"),
        *optional(BIGINT, "quota_bytes"),
        unique=("name",),
    )
    create_table(
        "token",
        *required(INTEGER, "principal_id"),
        *required(varchar(8), "scope"),
        *required(TEXT, "created"),
        *optional(TEXT, "expires", "revoked", "issued_by", "last_used", "revoked_by"),
        checks={"scope": "scope IN ('read', 'sql', 'operate', 'observe', 'admin')"},
        references={"principal_id": "principal"},
    )
    create_index("token", "principal_id")
    create_table("_token_digest", *required(varchar(64), "sha256"), references={"id": "token"}, unique=("sha256",))
    create_table(
        "token_event",
        *required(INTEGER, "token_id"),
        *required(TEXT, "at", "who"),
        *required(varchar(6), "action"),
        *optional(TEXT, "detail"),
        checks={"action": "action IN ('create', 'enroll', 'rotate', 'use', 'revoke')"},
        references={"token_id": "token"},
    )
    create_index("token_event", "token_id")
