"""Tokens belong to principals, of which each may have several; events say who created, used and revoked them.

Revision ID: 0039
Revises: 0036
"""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0036"

_SCOPE = "scope IN ('read', 'sql', 'operate', 'observe', 'admin')"
_ACTION = "action IN ('create', 'enroll', 'rotate', 'use', 'revoke')"
_QUOTA = "quota_hour, quota_rows, quota_bytes"
_NEWEST = """SELECT max(id) FROM token AS latest WHERE latest.principal_id = token.principal_id
    AND (latest.revoked IS NULL) = (SELECT max(CASE WHEN revoked IS NULL THEN 1 ELSE 0 END) = 1
        FROM token AS sibling WHERE sibling.principal_id = token.principal_id)"""
"""The newest token of a principal: one that is not revoked, if there is one."""


def upgrade() -> None:
    op.create_table(
        "principal",
        _id(),
        sa.Column("name", _text(), nullable=False),
        *_quota(),
        sa.PrimaryKeyConstraint("id", name="pk_principal"),
        sa.UniqueConstraint("name", name="uq_principal_name"),
    )
    op.execute(f"INSERT INTO principal (id, name, {_QUOTA}) SELECT id, name, {_QUOTA} FROM token")
    _rename_aside()
    _create_token(
        sa.Column("principal_id", sa.Integer(), nullable=False),
        sa.Column("issued_by", _text()),
        sa.Column("last_used", _text()),
        sa.Column("revoked_by", _text()),
        sa.ForeignKeyConstraint(["principal_id"], ["principal.id"], name="fk_token_principal_id"),
    )
    _fill("id, scope, created, expires, revoked", principal_id="id")
    op.create_index("ix_token_principal_id", "token", ["principal_id"])
    op.create_table(
        "token_event",
        _id(),
        sa.Column("token_id", sa.Integer(), nullable=False),
        sa.Column("at", _text(), nullable=False),
        sa.Column("who", _text(), nullable=False),
        sa.Column("action", _text(6), nullable=False),
        sa.Column("detail", _text()),
        sa.CheckConstraint(_ACTION, name=op.f("ck_token_event_action")),
        sa.ForeignKeyConstraint(["token_id"], ["token.id"], name="fk_token_event_token_id"),
        sa.PrimaryKeyConstraint("id", name="pk_token_event"),
    )
    op.create_index("ix_token_event_token_id", "token_event", ["token_id"])


def downgrade() -> None:
    """Of a principal's tokens the newest stays, which has the principal's name; what happened to tokens is lost."""
    op.drop_table("token_event")
    op.drop_index("ix_token_principal_id", "token")
    op.execute(f"CREATE TEMPORARY TABLE kept_ids AS SELECT id FROM token WHERE id = ({_NEWEST})")
    for table in ("_token_digest", "token"):
        op.execute(f"DELETE FROM {table} WHERE id NOT IN (SELECT id FROM kept_ids)")
    op.execute("DROP TABLE kept_ids")
    _rename_aside()
    _create_token(
        sa.Column("name", _text(), nullable=False),
        *_quota(),
        sa.UniqueConstraint("name", name="uq_token_name"),
    )
    theirs = "(SELECT {} FROM principal WHERE principal.id = former_token.principal_id)"
    names = ("name", *_QUOTA.split(", "))
    _fill("id, scope, created, expires, revoked", **{name: theirs.format(name) for name in names})
    op.drop_table("principal")


def _rename_aside() -> None:
    """Keep the rows of both tables in temporary ones: SQLite drops no column with a constraint."""
    for table in ("_token_digest", "token"):
        op.execute(f"CREATE TEMPORARY TABLE former_{table.strip('_')} AS SELECT * FROM {table}")
        op.drop_table(table)


def _create_token(owner: sa.Column[int] | sa.Column[str], *further: sa.schema.SchemaItem) -> None:
    op.create_table(
        "token",
        _id(),
        owner,
        sa.Column("scope", _text(8), nullable=False),
        sa.Column("created", _text(), nullable=False),
        sa.Column("expires", _text()),
        sa.Column("revoked", _text()),
        *further,
        sa.CheckConstraint(_SCOPE, name=op.f("ck_token_scope")),
        sa.PrimaryKeyConstraint("id", name="pk_token"),
    )
    op.create_table(
        "_token_digest",
        _id(),
        sa.Column("sha256", _text(64), nullable=False),
        sa.ForeignKeyConstraint(["id"], ["token.id"], name="fk__token_digest_id"),
        sa.PrimaryKeyConstraint("id", name="pk__token_digest"),
        sa.UniqueConstraint("sha256", name="uq__token_digest_sha256"),
    )


def _fill(columns: str, **expressions: str) -> None:
    names, values = (", ".join((columns, *texts)) for texts in (expressions, expressions.values()))
    op.execute(f"INSERT INTO token ({names}) SELECT {values} FROM former_token")
    op.execute("INSERT INTO _token_digest (id, sha256) SELECT id, sha256 FROM former_token_digest")
    for table in ("former_token", "former_token_digest"):
        op.execute(f"DROP TABLE {table}")


def _id() -> sa.Column[int]:
    return sa.Column("id", sa.Integer(), autoincrement=False, nullable=False)


def _quota() -> tuple[sa.Column[str], sa.Column[int], sa.Column[int]]:
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    return sa.Column("quota_hour", _text()), sa.Column("quota_rows", sa.Integer()), sa.Column("quota_bytes", big)


def _text(length: int | None = None) -> sa.String:
    collation = "C" if op.get_context().dialect.name == "postgresql" else None
    return sa.Text(collation=collation) if length is None else sa.String(length, collation=collation)
