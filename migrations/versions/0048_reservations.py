"""Chips can be reserved for a time, and a job may say when it ends at the latest.

Revision ID: 0048
Revises: 0047
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

from trninv.errors import DatabaseError

revision = "0048"
down_revision = "0047"

ACTIONS = ("allocate", "move", "release", "cordon", "uncordon", "reserve", "unreserve")
FORMER_ACTIONS = ACTIONS[:5]


def upgrade() -> None:
    op.add_column("job", sa.Column("until_at", _text(), nullable=True))
    _create_table(
        "reservation",
        sa.Column("cluster_id", sa.Integer(), nullable=False),
        *(sa.Column(name, _text(), nullable=False) for name in ("name", "kind", "from_at", "until_at")),
        sa.Column("chips", sa.Integer(), nullable=False),
        *(sa.Column(name, _text(), nullable=False) for name in ("place", "chip_ids", "started_at")),
        sa.Column("ended_at", _text(), nullable=True),
        *(sa.Column(name, _text(), nullable=False) for name in ("who", "why")),
        sa.CheckConstraint("kind IN ('job', 'maintenance')", name=op.f("ck_reservation_kind")),
        sa.CheckConstraint("from_at < until_at", name=op.f("ck_reservation_until_at")),
        sa.ForeignKeyConstraint(["cluster_id"], ["cluster.id"], name="fk_reservation_cluster_id"),
    )
    _create_table(
        "reserved_chip",
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("reservation_id", "chip_id")),
        sa.ForeignKeyConstraint(["reservation_id"], ["reservation.id"], name="fk_reserved_chip_reservation_id"),
        sa.ForeignKeyConstraint(["chip_id"], ["chip.id"], name="fk_reserved_chip_chip_id"),
    )
    columns = {"reservation": ("cluster_id",), "reserved_chip": ("reservation_id", "chip_id")}
    for table, column in ((table, column) for table, names in columns.items() for column in names):
        op.create_index(f"ix_{table}_{column}", table, [column])
    _replace_action(ACTIONS, 12)


def downgrade() -> None:
    """Undo the upgrade; events of reservations, which stay after their cluster is removed, can't be in older tables."""
    events = sa.text("SELECT count(*) FROM state_event WHERE action IN ('reserve', 'unreserve')")
    if not op.get_context().as_sql and (number := op.get_bind().scalar(events)):
        raise DatabaseError(f"version {down_revision} has no reservations, of which the history has {number} events")
    op.drop_table("reserved_chip")
    op.drop_table("reservation")
    op.drop_column("job", "until_at")
    _replace_action(FORMER_ACTIONS, 8)


def _replace_action(actions: tuple[str, ...], length: int) -> None:
    """Allow other actions in ``state_event``; on SQLite, a column has its check with it, so a new one replaces it."""
    check = f"{{0}} IS NULL OR {{0}} IN ({', '.join(map(repr, actions))})"
    if op.get_context().dialect.name == "postgresql":
        op.execute("ALTER TABLE state_event DROP CONSTRAINT ck_state_event_action")
        op.execute(f'ALTER TABLE state_event ALTER COLUMN action TYPE VARCHAR({length}) COLLATE "C"')
        op.execute(f"ALTER TABLE state_event ADD CONSTRAINT ck_state_event_action CHECK ({check.format('action')})")
        return
    constraint = f"CONSTRAINT ck_state_event_action CHECK ({check.format('replaced')})"
    op.execute(f"ALTER TABLE state_event ADD COLUMN replaced VARCHAR({length}) {constraint}")
    op.execute("UPDATE state_event SET replaced = action WHERE action IS NOT NULL")
    op.drop_index("ix_state_event_action", "state_event")
    op.execute("ALTER TABLE state_event DROP COLUMN action")
    op.execute("ALTER TABLE state_event RENAME COLUMN replaced TO action")
    filled = sa.text("action IS NOT NULL")
    op.create_index("ix_state_event_action", "state_event", ["action", "part_id", "id"], sqlite_where=filled)


def _create_table(name: str, *parts: Any) -> None:
    key = sa.Column("id", sa.Integer(), autoincrement=False, nullable=False)
    op.create_table(name, key, *parts, sa.PrimaryKeyConstraint("id", name=f"pk_{name}"), sqlite_strict=True)


def _text() -> sa.Text:
    return sa.Text(collation="C" if op.get_context().dialect.name == "postgresql" else None)
