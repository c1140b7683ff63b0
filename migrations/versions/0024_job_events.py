"""Jobs and closings leave events, in the one history: what was done, of which job, and where; and who held a chip once.

What jobs did before this revision left none. To go back is to lose them, and the seals since the first of them: the
other events take their numbers, and the next change seals them again. An archive that has one of those is of a later
state then. Where only they follow what is in an archive alone, the last one stays, as an event of no part: the next one
is numbered after it.

Revision ID: 0024
Revises: 0023
"""

from collections.abc import Iterator
from contextlib import contextmanager

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
APPEND_ONLY = "state_event", "event_seal"
STAYS = """
SELECT max(id) FROM state_event
WHERE EXISTS (SELECT * FROM history_archive) HAVING count(*) = count(action)"""
GOING = """
CREATE TABLE _number (id BIGINT PRIMARY KEY, number BIGINT NOT NULL, goes INTEGER NOT NULL);
INSERT INTO _number SELECT id, id - sum(goes) OVER (ORDER BY id), goes
    FROM (SELECT id, CASE WHEN action IS NULL OR id = {stays} THEN 0 ELSE 1 END AS goes FROM state_event) AS event;
DELETE FROM event_seal WHERE id >= {first};
DELETE FROM state_event WHERE id IN (SELECT id FROM _number WHERE goes = 1);
UPDATE state_event SET part_id = NULL WHERE action IS NOT NULL;
UPDATE cluster SET known_from = (SELECT number FROM _number WHERE _number.id = known_from)
    WHERE known_from IN (SELECT id FROM _number);
UPDATE state_event SET id = -(SELECT number FROM _number WHERE _number.id = state_event.id),
    batch = coalesce((SELECT number + goes FROM _number WHERE _number.id = batch), batch),
    previous_id = coalesce((SELECT number FROM _number WHERE _number.id = previous_id), previous_id)
    WHERE id >= {first};
UPDATE state_event SET id = -id WHERE id < 0;
UPDATE state_event SET clock_went_back = coalesce(
    at < (SELECT at FROM state_event AS last WHERE last.id = state_event.id - 1), clock_went_back) WHERE id >= {first};
DROP TABLE _number"""
"""Numbers have no gaps: what reads the history takes one for events that are in an archive alone."""


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
    connection = op.get_bind()
    if first := connection.scalar(sa.text("SELECT min(id) FROM state_event WHERE action IS NOT NULL")):
        stays = connection.scalar(sa.text(STAYS)) or 0
        with _open_to_changes(connection):
            for statement in GOING.format(first=first, stays=stays).split(";"):
                op.execute(statement)
    op.drop_index("ix_state_event_action", "state_event")
    op.drop_index("ix_allocation_job_id_chip_id", "allocation")
    op.create_index("ix_allocation_job_id", "allocation", ["job_id"])
    for table, column, _ in reversed(COLUMNS):
        op.execute(f"ALTER TABLE {table} DROP COLUMN {column}")


@contextmanager
def _open_to_changes(connection: sa.Connection) -> Iterator[None]:
    """Without the triggers that let rows only be added."""
    if connection.dialect.name == "postgresql":
        disable, enable = (
            [f"ALTER TABLE {table} {verb} TRIGGER USER" for table in APPEND_ONLY] for verb in ("DISABLE", "ENABLE")
        )
    else:
        triggers = sa.table("sqlite_master", *map(sa.column, ("name", "sql", "type", "tbl_name"))).c
        ours = triggers.type == "trigger", triggers.tbl_name.in_(APPEND_ONLY)
        found = connection.execute(sa.select(triggers.name, triggers.sql).where(*ours)).all()
        disable, enable = [f"DROP TRIGGER {name}" for name, _ in found], [sql for _, sql in found]
    for statement in disable:
        connection.exec_driver_sql(statement)
    yield
    for statement in enable:
        connection.exec_driver_sql(statement)
