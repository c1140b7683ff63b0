"""Record from which state the events of each cluster lead to the present one, and let events say which chips a job has.

The history of what is there when a database reaches this revision starts then: no event before has a job's chips. To go
back is to lose the starts, the chips in the events, and the seals since the first that covers any of them: the next
change seals those events again. An archive that has an event with chips is of a later state then.

Revision ID: 0028
Revises: 0027
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"

CAUSES = "('seed', 'grow', 'archive', 'migrate', 'unseed')"
COLUMNS = (
    ("state_event", "chip_ids", "TEXT{c}"),
    ("job", "chip_ids", "TEXT{c}"),
    ("event_seal", "starts", "INTEGER"),
)
COVERED = "(SELECT coalesce(max(starts), 0) FROM event_seal WHERE id = (SELECT max(id) FROM history_archive))"
"""The last start that the seal covers with which the history begins, since what is before is in an archive."""
MAY_GO = f"""{{0}}.id <= {COVERED}
    AND EXISTS (SELECT * FROM history_start AS later WHERE later.cluster = {{0}}.cluster AND later.id > {{0}}.id)"""
REFUSAL = "history_start is append only"
NOT_UP = """
SELECT 'server', server.id, state, factor_ppm, NULL, NULL, domain.cluster_id
    FROM server JOIN domain ON domain.id = server.domain_id WHERE state <> 'up' OR factor_ppm IS NOT NULL
UNION ALL SELECT kind, id, state, factor_ppm, own_state, own_factor_ppm, cluster_id
    FROM node WHERE state <> 'up' OR factor_ppm IS NOT NULL OR own_state IS NOT NULL
UNION ALL SELECT 'link', link.id, link.state, link.factor_ppm, NULL, NULL, node.cluster_id
    FROM link JOIN node ON node.id = link.a_id WHERE link.state <> 'up' OR link.factor_ppm IS NOT NULL
ORDER BY 1, 2"""
JOBS = """
SELECT job.id, job.name, coalesce(job.place, cluster.slug) AS place, job.cluster_id
    FROM job JOIN cluster ON cluster.id = job.cluster_id WHERE job.ended IS NULL ORDER BY job.id"""
HELD = """
SELECT allocation.job_id, allocation.chip_id, allocation.role
    FROM allocation JOIN job ON job.id = allocation.job_id AND job.ended IS NULL
    WHERE allocation.ended IS NULL ORDER BY allocation.job_id, allocation.chip_id"""
CLOSED = """
SELECT closing.server_id, domain.cluster_id
    FROM closing JOIN server ON server.id = closing.server_id JOIN domain ON domain.id = server.domain_id
    WHERE closing.until IS NULL ORDER BY closing.server_id"""
UNSEALING = """
DELETE FROM event_seal
    WHERE id > (SELECT coalesce(max(id), 0) FROM history_archive)
    AND (starts IS NOT NULL OR id >= (SELECT min(id) FROM state_event WHERE chip_ids IS NOT NULL))"""


def upgrade() -> None:
    context = op.get_context()
    is_lite = context.dialect.name == "sqlite"
    c = "" if is_lite else ' COLLATE "C"'
    for table, column, kind in COLUMNS:
        op.execute(f"ALTER TABLE {table} ADD COLUMN {column} {kind.format(c=c)}")
    text = sa.Text() if is_lite else sa.Text(collation="C")
    op.create_table(
        "history_start",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", text, nullable=False),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("event", "cluster_id")),
        sa.Column("cluster", text, nullable=False),
        sa.Column("cause", sa.String(8) if is_lite else sa.String(8, collation="C"), nullable=False),
        sa.Column("state", text, nullable=False),
        sa.CheckConstraint(f"cause IN {CAUSES}", name="cause"),
        sa.PrimaryKeyConstraint("id", name="pk_history_start"),
    )
    if not context.as_sql:
        _record(op.get_bind())
    for statement in _keeping(is_lite=is_lite):
        op.execute(statement)


def _record(connection: sa.Connection) -> None:
    """Record each cluster as it is, and the chips of jobs that have not ended."""
    parts, jobs, closed = (defaultdict[int, list[Any]](list) for _ in range(3))
    for *part, cluster in connection.execute(sa.text(NOT_UP)):
        parts[cluster].append(part)
    held = defaultdict[tuple[int, str], list[int]](list)
    for job, chip, role in connection.execute(sa.text(HELD)):
        held[job, role].append(chip)
    for key, name, place, cluster in connection.execute(sa.text(JOBS)).all():
        work, spare = (_ranges(held[key, role]) for role in ("work", "spare"))
        chips = f"{work};{spare}" if spare else work
        jobs[cluster].append([key, name, place, chips])
        connection.execute(sa.text("UPDATE job SET chip_ids = :chips WHERE id = :key"), {"chips": chips, "key": key})
    for server, cluster in connection.execute(sa.text(CLOSED)):
        closed[cluster].append(server)
    last = connection.scalar(sa.text("SELECT coalesce(max(id), 0) FROM state_event"))
    at = datetime.now(UTC).isoformat(timespec="microseconds")
    insert = sa.text("INSERT INTO history_start VALUES (:id, :at, :event, :cluster_id, :cluster, 'migrate', :state)")
    keys = "SELECT cluster.id, slug, coalesce(max(job.id), 0) AS job FROM cluster LEFT JOIN job ON job.cluster_id = "
    clusters = connection.execute(sa.text(f"{keys} cluster.id GROUP BY cluster.id, slug ORDER BY cluster.id")).all()
    for number, (key, slug, job) in enumerate(clusters, 1):
        state = {"parts": parts[key], "jobs": jobs[key], "closed": closed[key], "last_job": job}
        text = json.dumps(state, ensure_ascii=False, separators=(",", ":"))
        row = {"id": number, "at": at, "event": last, "cluster_id": key, "cluster": slug, "state": text}
        connection.execute(insert, row)


def _ranges(ids: list[int]) -> str:
    runs: list[list[int]] = []
    for key in ids:
        if runs and key == runs[-1][1] + 1:
            runs[-1][1] = key
        else:
            runs.append([key, key])
    return ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in runs)


def _keeping(*, is_lite: bool) -> Iterator[str]:
    if is_lite:
        refuse = f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
        yield f"CREATE TRIGGER history_start_no_update BEFORE UPDATE ON history_start {refuse}"
        may_go = MAY_GO.format("OLD")
        yield f"CREATE TRIGGER history_start_no_delete BEFORE DELETE ON history_start WHEN NOT ({may_go}) {refuse}"
        return
    yield (
        "CREATE TRIGGER history_start_kept BEFORE UPDATE OR TRUNCATE ON history_start "
        "FOR EACH STATEMENT EXECUTE FUNCTION kept_for_ever()"
    )
    yield f"""
CREATE FUNCTION history_start_superseded() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN
    IF EXISTS (SELECT FROM gone WHERE NOT ({MAY_GO.format("gone")})) THEN RAISE EXCEPTION '{REFUSAL}'; END IF;
    RETURN NULL;
END $$"""
    yield (
        "CREATE TRIGGER history_start_superseded AFTER DELETE ON history_start REFERENCING OLD TABLE AS gone "
        "FOR EACH STATEMENT EXECUTE FUNCTION history_start_superseded()"
    )


def downgrade() -> None:
    connection = op.get_bind()
    with _open_to_changes(connection):
        op.execute(UNSEALING)
    op.drop_table("history_start")
    if connection.dialect.name == "postgresql":
        op.execute("DROP FUNCTION history_start_superseded")
    for table, column, _ in reversed(COLUMNS):
        op.execute(f"ALTER TABLE {table} DROP COLUMN {column}")


@contextmanager
def _open_to_changes(connection: sa.Connection) -> Iterator[None]:
    """Without the triggers that let seals only be added."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("ALTER TABLE event_seal DISABLE TRIGGER USER")
        yield
        connection.exec_driver_sql("ALTER TABLE event_seal ENABLE TRIGGER USER")
        return
    triggers = sa.table("sqlite_master", *map(sa.column, ("name", "sql", "type", "tbl_name"))).c
    ours = triggers.type == "trigger", triggers.tbl_name == "event_seal"
    found = connection.execute(sa.select(triggers.name, triggers.sql).where(*ours)).all()
    for name, _ in found:
        connection.exec_driver_sql(f"DROP TRIGGER {name}")
    yield
    for _, sql in found:
        connection.exec_driver_sql(sql)
