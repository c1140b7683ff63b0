"""Which instance stands in which slot, and where what was seen differs from the design.

Revision ID: 0015
Revises: 0014
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

BINDING = "id, server_id, address, instance, host, since, how, confidence, evidence, who"
"""Columns of a binding that never change; the others are written when it ends."""
FINDING = "id, rule, severity, address, instance, expected, found, evidence, first_seen"
CHANGES = (("binding", BINDING, "until"), ("finding", FINDING, "cleared_at"))
"""Tables, what of them never changes, and what closes a row, after which nothing of it does."""
PLACES = ("server_id", "instance", "host")


def upgrade() -> None:
    _make(
        "binding",
        sa.Column("server_id", sa.Integer(), nullable=False),
        _text("address", required=True),
        *map(_text, ("instance", "host")),
        _text("since", required=True),
        _text("until"),
        _text("how", 16, required=True),
        _text("confidence", 16, required=True),
        _text("evidence"),
        _text("who", required=True),
        _text("ending", 16),
        _text("ended_by"),
        sa.CheckConstraint("instance IS NOT NULL OR host IS NOT NULL", name="named"),
    )
    _make(
        "finding",
        _text("rule", 24, required=True),
        _text("severity", 8, required=True),
        *map(_text, ("address", "instance", "expected", "found", "evidence")),
        _text("first_seen", required=True),
        _text("last_seen", required=True),
        _text("cleared_at"),
        sa.CheckConstraint("severity IN ('info', 'medium', 'high')", name="severity"),
    )
    for column in PLACES:
        _index(f"uq_binding_{column}_open", "binding", column, "until IS NULL", unique=True)
    op.create_index("ix_binding_address", "binding", ["address"])
    op.create_index("ix_finding_address", "finding", ["address"])
    _index("ix_finding_open", "finding", "rule", "cleared_at IS NULL")
    for table, columns, closed in CHANGES:
        _keep(table, columns, f"OLD.{closed} IS NOT NULL")


def _make(table: str, *parts: Any) -> None:
    op.create_table(
        table,
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        *parts,
        sa.PrimaryKeyConstraint("id", name=f"pk_{table}"),
    )


def _text(name: str, length: int | None = None, *, required: bool = False) -> sa.Column[str]:
    kind = sa.String(length) if length else sa.Text()
    ordered = sa.String(length, collation="C") if length else sa.Text(collation="C")
    return sa.Column(name, kind.with_variant(ordered, "postgresql"), nullable=not required)


def _index(name: str, table: str, column: str, where: str, *, unique: bool = False) -> None:
    condition = sa.text(where)
    op.create_index(name, table, [column], unique=unique, sqlite_where=condition, postgresql_where=condition)


def _keep(table: str, columns: str, is_closed: str) -> None:
    if op.get_context().dialect.name == "postgresql":
        refuse = "EXECUTE FUNCTION kept_for_ever()"
        op.execute(
            f"CREATE TRIGGER {table}_kept BEFORE UPDATE OF {columns} OR DELETE OR TRUNCATE ON {table} "
            f"FOR EACH STATEMENT {refuse}"
        )
        op.execute(f"CREATE TRIGGER {table}_closed BEFORE UPDATE ON {table} FOR EACH ROW WHEN ({is_closed}) {refuse}")
        return
    refuse = f"BEGIN SELECT RAISE(ABORT, '{table} is append only'); END"
    op.execute(f"CREATE TRIGGER {table}_no_update BEFORE UPDATE OF {columns} ON {table} {refuse}")
    op.execute(f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} {refuse}")
    op.execute(f"CREATE TRIGGER {table}_closed BEFORE UPDATE ON {table} WHEN {is_closed} {refuse}")


def downgrade() -> None:
    for table, _, _ in reversed(CHANGES):
        op.drop_table(table)
