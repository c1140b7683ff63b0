"""Tables, columns and the actions of events have the names that everything else has for them.

Actions are part of what seals are computed from, so the events are sealed again, each up to the same event as before,
after it was checked that the seals of before hold. ``seal_restart`` keeps the last of those. To go back is to do the
same with the old actions, which gives the seals of before again; ``seal_restart`` then has nothing to tell.

Revision ID: 0033
Revises: 0032
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain
from typing import Any

import sqlalchemy as sa
from alembic import op

from trninv.errors import DatabaseError

revision = "0033"
down_revision = "0032"

COLUMNS = {
    "job": {
        "submitted": "submitted_at",
        "began": "started_at",
        "ended": "ended_at",
        "first_began": "first_started_at",
        "moved": "moved_at",
    },
    "allocation": {"began": "started_at", "ended": "ended_at"},
    "binding": {"since": "started_at", "until": "ended_at", "how": "method"},
    "finding": {"found": "observed"},
    "fact": {"written": "as_written", "grounds": "reading_reason"},
}
RENAMED_TABLES = {
    "closing": ("cordon", {"since": "started_at", "until": "ended_at"}),
    "domain_held": ("domain_allocated", {f"held_{word}": f"allocated_{word}" for word in range(3)}),
}
CONSTRAINTS = {"cordon": ("pk_{}", "fk_{}_server_id"), "domain_allocated": ("pk_{}", "fk_{}_id")}
UNHEALTHY = ("node", "link")
OLD_ACTIONS = ("hold", "move", "release", "close", "open")
NEW_ACTIONS = ("allocate", "move", "release", "cordon", "uncordon")
FORMER_TRIGGERS = {
    "sqlite": (
        *("closing_begun_state_event", "closing_state_event", "closing_not_changed", "closing_not_deleted"),
        *("closing_author_inserted", "closing_author_updated"),
    ),
    "postgresql": ("closing_begun_state_event", "closing_state_event", "closing_not_deleted", "merge_held"),
}
"""Triggers of 0032 and, on PostgreSQL, functions, that the declarations of today do not name."""
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
SEALED = (
    *("id", "batch", "at", "source", "who", "why", "kind", "part_id", "previous_id", "address", "before"),
    *("factor_ppm_before", "state", "factor_ppm", "own_before", "own_factor_ppm_before", "own_state"),
    *("own_factor_ppm", "clock_went_back", "action", "job", "chip_ids"),
)
"""The columns of an event in the order in which they are hashed; the last one, and the last three, only if filled."""
ACTION = SEALED.index("action")
BATCH = 10_000
FAULT = (
    "events and seals do not match, and to seal them again would hide it: {fault}: nothing was migrated. "
    "Restore a copy of the database from before that change, or keep the trninv that made this one"
)


def upgrade() -> None:
    _drop_former_triggers()
    for table, columns in COLUMNS.items():
        _rename_columns(table, columns)
    for old, (new, columns) in RENAMED_TABLES.items():
        _rename_table(old, new, columns)
    _rename_unhealthy_indexes("not_up", "unhealthy")
    text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    digest = sa.String(64).with_variant(sa.String(64, collation="C"), "postgresql")
    op.create_table(
        "seal_restart",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", text, nullable=False),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("event", "archived")),
        sa.Column("sha256", digest, nullable=False),
        sa.Column("schema_version", text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_seal_restart"),
    )
    _rename_actions(OLD_ACTIONS, NEW_ACTIONS)
    if op.get_context().as_sql:  # the script is for an empty database
        return
    connection = op.get_bind()
    last = _seal_again(connection, OLD_ACTIONS, NEW_ACTIONS)
    if last is not None:
        row = {"at": datetime.now(UTC).isoformat(timespec="microseconds"), **last, "version": revision}
        connection.execute(
            sa.text("INSERT INTO seal_restart VALUES (1, :at, :event, :archived, :sha256, :version)"), row
        )


def downgrade() -> None:
    op.drop_table("seal_restart")
    _rename_actions(NEW_ACTIONS, OLD_ACTIONS)
    _seal_again(op.get_bind(), NEW_ACTIONS, OLD_ACTIONS)
    _rename_unhealthy_indexes("unhealthy", "not_up")
    for old, (new, columns) in RENAMED_TABLES.items():
        _rename_table(new, old, _reversed(columns))
    for table, columns in COLUMNS.items():
        _rename_columns(table, _reversed(columns))


def _reversed(names: Mapping[str, str]) -> dict[str, str]:
    return {new: old for old, new in names.items()}


def _is_sqlite() -> bool:
    return op.get_context().dialect.name == "sqlite"


def _drop_former_triggers() -> None:
    for name in FORMER_TRIGGERS[op.get_context().dialect.name]:
        op.execute(f"DROP TRIGGER IF EXISTS {name}" if _is_sqlite() else f"DROP FUNCTION IF EXISTS {name} CASCADE")


def _rename_columns(table: str, columns: Mapping[str, str]) -> None:
    for old, new in columns.items():
        op.execute(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")


def _rename_table(old: str, new: str, columns: Mapping[str, str]) -> None:
    """Rename a table with its constraints; SQLite can't rename those, and gets another table."""
    former, now = ("cordon", "closing") if new == "closing" else ("closing", "cordon")
    if not _is_sqlite():
        op.execute(f"ALTER TABLE {old} RENAME TO {new}")
        _rename_columns(new, columns)
        for constraint in CONSTRAINTS.get(old) or CONSTRAINTS[new]:
            op.execute(f"ALTER TABLE {new} RENAME CONSTRAINT {constraint.format(old)} TO {constraint.format(new)}")
        if new == now:
            op.execute(f"ALTER INDEX uq_{former}_server_id_now RENAME TO uq_{now}_server_id_now")
        return
    names = list(columns.values())
    if new == now:
        listed = ["server_id", *names, "who", "why"]
        parts: list[Any] = [
            sa.Column("server_id", sa.Integer(), nullable=False),
            sa.Column(names[0], sa.Text(), nullable=False),
            sa.Column(names[1], sa.Text(), nullable=True),
            *(sa.Column(name, sa.Text(), nullable=False) for name in ("who", "why")),
            sa.ForeignKeyConstraint(["server_id"], ["server.id"], name=f"fk_{new}_server_id"),
        ]
    else:
        listed = names
        parts = [
            *(sa.Column(name, BIG, nullable=False) for name in names),
            sa.ForeignKeyConstraint(["id"], ["domain.id"], name=f"fk_{new}_id"),
        ]
    op.create_table(
        new,
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        *parts,
        sa.PrimaryKeyConstraint("id", name=f"pk_{new}"),
        sqlite_strict=True,
    )
    back = _reversed(columns)
    op.execute(
        f"INSERT INTO {new} (id, {', '.join(listed)}) "
        f"SELECT id, {', '.join(back.get(name, name) for name in listed)} FROM {old}"
    )
    op.drop_table(old)
    if new == now:
        is_open = sa.text(f"{names[1]} IS NULL")
        op.create_index(f"uq_{new}_server_id_now", new, ["server_id"], unique=True, sqlite_where=is_open)


def _rename_unhealthy_indexes(old: str, new: str) -> None:
    for table in UNHEALTHY:
        if not _is_sqlite():
            op.execute(f"ALTER INDEX ix_{table}_{old} RENAME TO ix_{table}_{new}")
            continue
        op.drop_index(f"ix_{table}_{old}", table)
        op.create_index(f"ix_{table}_{new}", table, ["id"], sqlite_where=sa.text("state <> 'up'"))


def _rename_actions(old: tuple[str, ...], new: tuple[str, ...]) -> None:
    check = f"action IS NULL OR action IN ({', '.join(map(repr, new))})"
    renamed = [pair for pair in zip(old, new, strict=True) if pair[0] != pair[1]]
    cases = " ".join(f"WHEN '{before}' THEN '{after}'" for before, after in renamed)
    if not _is_sqlite():
        op.execute("ALTER TABLE state_event DROP CONSTRAINT ck_state_event_action")
        listed = ", ".join(f"'{before}'" for before, _ in renamed)
        op.execute(f"UPDATE state_event SET action = CASE action {cases} END WHERE action IN ({listed})")
        op.execute(f"ALTER TABLE state_event ADD CONSTRAINT ck_state_event_action CHECK ({check})")
        return
    # a column has its check with it: another column is far less than another table with its indexes
    constraint = f"CONSTRAINT ck_state_event_action CHECK ({check.replace('action', 'renamed')})"
    op.execute(f"ALTER TABLE state_event ADD COLUMN renamed VARCHAR(8) {constraint}")
    op.execute(f"UPDATE state_event SET renamed = CASE action {cases} ELSE action END WHERE action IS NOT NULL")
    op.drop_index("ix_state_event_action", "state_event")
    op.execute("ALTER TABLE state_event DROP COLUMN action")
    op.execute("ALTER TABLE state_event RENAME COLUMN renamed TO action")
    filled = sa.text("action IS NOT NULL")
    op.create_index("ix_state_event_action", "state_event", ["action", "part_id", "id"], sqlite_where=filled)


def _seal_again(connection: sa.Connection, old: tuple[str, ...], new: tuple[str, ...]) -> dict[str, Any] | None:
    """Check every seal with the old actions and write it with the new ones; return the last one, if any changed."""
    archive = "SELECT id, sha256 FROM history_archive ORDER BY id DESC LIMIT 1"
    archived, digest = connection.execute(sa.text(archive)).first() or (0, "")
    base = connection.execute(sa.text("SELECT id, sha256, starts FROM event_seal ORDER BY id LIMIT 1")).first()
    if archived and (base is None or (base.id, base.sha256) != (archived, digest)):
        raise DatabaseError(FAULT.format(fault=f"the seal of event {archived}, with which the history begins"))
    former = now = digest
    covered, last = (base.starts or 0) if archived and base else 0, archived
    former_words = dict(zip(new, old, strict=True))
    starts, events = _starts(connection, covered), _events(connection, archived)
    for seals in _batches(connection, archived):
        changed: list[dict[str, Any]] = []
        for end, sealed, covers in seals:
            first = last + 1
            pending = chain(_take("start", starts, covered, covers or 0), _take("event", events, last, end))
            for kind, number, row in pending:
                if row is None:
                    raise DatabaseError(FAULT.format(fault=f"{kind} {number} is gone"))
                line = _line(row)
                is_renamed = len(row) == len(SEALED) and row[ACTION] in former_words
                former_row = (*row[:ACTION], former_words[row[ACTION]], *row[ACTION + 1 :]) if is_renamed else row
                former = _next(former, _line(former_row) if is_renamed else line)
                now = _next(now, line)
            covered, last = covers or covered, end
            if former != sealed:
                raise DatabaseError(FAULT.format(fault=f"events {first} to {end} are not as they were sealed"))
            if now != former:
                changed.append({"id": end, "sha256": now})
        _write(connection, changed)
    return None if now == former else {"event": last, "archived": archived, "sha256": former}


def _take(kind: str, rows: Iterator[Any], last: int, end: int) -> Iterator[tuple[str, int, Any]]:
    """Yield the rows after one number up to another, in order, with their kind; None for the first that is missing."""
    for number in range(last + 1, end + 1):
        row = next(rows, None)
        if row is None or row[0] != number:
            yield kind, number, None
            return
        yield kind, number, tuple(row)


def _starts(connection: sa.Connection, after: int) -> Iterator[Any]:
    query = "SELECT id, at, event, cluster_id, cluster, cause, state FROM history_start WHERE id > :after ORDER BY id"
    yield from connection.execute(sa.text(query), {"after": after}).all()


def _events(connection: sa.Connection, after: int) -> Iterator[Any]:
    kinds = {"clock_went_back": sa.Boolean()}
    event = sa.table("state_event", *(sa.column(name, kinds.get(name)) for name in SEALED))
    while rows := connection.execute(
        sa.select(event).where(event.c.id > after).order_by(event.c.id).limit(BATCH)
    ).all():
        yield from rows
        after = rows[-1][0]


def _batches(connection: sa.Connection, after: int) -> Iterator[Iterable[Any]]:
    query = sa.text(f"SELECT id, sha256, starts FROM event_seal WHERE id > :after ORDER BY id LIMIT {BATCH}")
    while seals := connection.execute(query, {"after": after}).all():
        yield seals
        after = seals[-1].id


def _write(connection: sa.Connection, seals: list[dict[str, Any]]) -> None:
    if not seals:
        return
    if _is_sqlite():
        connection.execute(sa.text("UPDATE event_seal SET sha256 = :sha256 WHERE id = :id"), seals)
        return
    ids, digests = ([seal[name] for seal in seals] for name in ("id", "sha256"))
    given = "unnest(CAST(:ids AS integer[]), CAST(:digests AS text[])) AS given (id, sha256)"
    update = f"UPDATE event_seal SET sha256 = given.sha256 FROM {given} WHERE event_seal.id = given.id"
    connection.execute(sa.text(update), {"ids": ids, "digests": digests})


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _line(row: tuple[Any, ...]) -> bytes:
    """Return what is hashed of an event, without columns that older seals do not cover, or of a start."""
    if len(row) == len(SEALED):
        for added in (1, 2):
            if any(value is not None for value in row[-added:]):
                break
            row = row[:-added]
    return _encode(row).encode()


def _next(digest: str, line: bytes) -> str:
    return sha256(f"{digest}\n".encode() + line).hexdigest()
