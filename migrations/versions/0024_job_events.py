"""Jobs and closings leave events, in the one history: what was done, of which job, and where; and who held a chip once.

What jobs did before this revision left none. To go back is to lose them, and the seals since the first of them: the
next change seals the other events again.

Revision ID: 0024
Revises: 0023
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"

ACTIONS = "('hold', 'move', 'release', 'close', 'open')"
COLUMNS = (
    (
        "state_event",
        "action",
        f"VARCHAR(8){{c}} CONSTRAINT ck_state_event_action CHECK (action IS NULL OR action IN {ACTIONS})",
    ),
    ("state_event", "job", "TEXT{c}"),
    ("job", "place", "TEXT{c}"),
    ("job", "moved", "TEXT{c}"),
)
FIRST = "(SELECT min(id) FROM state_event WHERE action IS NOT NULL)"
GOING = (("event_seal", f"id >= {FIRST}"), ("state_event", "action IS NOT NULL"))


def upgrade() -> None:
    c = ' COLLATE "C"' if op.get_context().dialect.name == "postgresql" else ""
    for table, column, kind in COLUMNS:
        op.execute(f"ALTER TABLE {table} ADD COLUMN {column} {kind.format(c=c)}")
    op.drop_index("ix_allocation_job_id", "allocation")
    op.create_index("ix_allocation_job_id_chip_id", "allocation", ["job_id", "chip_id"])
    only = sa.text("action IS NOT NULL")
    op.create_index(
        "ix_state_event_action", "state_event", ["action", "part_id", "id"], sqlite_where=only, postgresql_where=only
    )


def downgrade() -> None:
    dialect = op.get_context().dialect.name
    for table, rows in GOING:
        if dialect == "postgresql":
            op.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
            op.execute(f"DELETE FROM {table} WHERE {rows}")
            op.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
            continue
        gone = "(SELECT coalesce(max(id), 0) FROM history_archive)"
        kept = f"WHEN NOT OLD.id {'<=' if table == 'state_event' else '<'} {gone} "
        refuse = f"SELECT RAISE(ABORT, '{table} is append only')"
        op.execute(f"DROP TRIGGER {table}_no_delete")
        op.execute(f"DELETE FROM {table} WHERE {rows}")
        op.execute(f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} {kept}BEGIN {refuse}; END")
    op.drop_index("ix_state_event_action", "state_event")
    op.drop_index("ix_allocation_job_id_chip_id", "allocation")
    op.create_index("ix_allocation_job_id", "allocation", ["job_id"])
    for table, column, _ in reversed(COLUMNS):
        op.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
