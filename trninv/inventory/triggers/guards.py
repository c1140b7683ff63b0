"""Declare the triggers that protect rows from changes and deletions, and those that limit `who` and `why` in plain SQL.

Each protected table is declared here once. Copying a database (`trninv.inventory.transfer`) disables these triggers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from trninv.inventory.state.author import MAX_LENGTH
from trninv.inventory.triggers.declaration import Function, Trigger
from trninv.setting_parsers import LEAST_OBSERVATIONS

_LAST_ARCHIVED_EVENT: Final = "(SELECT coalesce(max(id), 0) FROM history_archive)"
"""The number of the last event that has been archived."""
_LAST_ARCHIVED_START: Final = (
    "(SELECT coalesce(max(starts), 0) FROM event_seal WHERE id = (SELECT max(id) FROM history_archive))"
)
"""The number of the last recorded start of a cluster's history that the seal of the last archived event covers."""
_HAS_LATER_START: Final = """EXISTS (SELECT * FROM history_start AS later
        WHERE later.cluster = {row}.cluster AND later.id > {row}.id)"""
_HAS_CHANGE_ROW: Final = "EXISTS (SELECT * FROM _change)"
"""True while trninv itself makes a change."""
_REFUSE: Final = Function("refuse_change", " BEGIN RAISE EXCEPTION '%', TG_ARGV[0]; END ")
_LATER_OBSERVATIONS: Final = """SELECT later.id FROM observation AS later
        WHERE later.source = {row}.source AND later.speaker = {row}.speaker"""
_SUPERSEDED: Final = f"""{{row}}.speaker IS NOT NULL AND NOT {{row}}.is_cited
    AND EXISTS ({_LATER_OBSERVATIONS} AND later.id > {{row}}.id)
    AND (SELECT count(*) FROM ({_LATER_OBSERVATIONS} AND (later.seen_at, later.id) > ({{row}}.seen_at, {{row}}.id)
        LIMIT {LEAST_OBSERVATIONS}) AS newest) = {LEAST_OBSERVATIONS}"""  # noqa: S608 # only our own names
"""True of an observation that no finding cites, if its machine has newer ones from the same source.

There must be LEAST_OBSERVATIONS newer ones, and one that was stored later.
"""
_ORPHANED: Final = "NOT EXISTS (SELECT * FROM {parent} AS parent WHERE parent.id = {{row}}.{parent}_id)"
"""True of a row whose parent row has been deleted."""


@dataclass(frozen=True, slots=True)
class Guard:
    """The protection of a table's rows.

    Attributes
    ----------
    fixed_columns
        Columns that may not be updated; empty: no column may be updated.
    closing_column
        A column that closes the row: once it is set, no column of the row may be updated.
    deletable_if
        A condition, in SQL, on the row ``{row}`` under which it may be deleted; empty: never.
    end_column
        The column that is written to end a row instead of deleting it; only trninv itself deletes such rows.
    """

    fixed_columns: str = ""
    closing_column: str = ""
    deletable_if: str = ""
    end_column: str = ""


GUARDS: Final[Mapping[str, Guard]] = {
    "state_event": Guard(deletable_if=f"{{row}}.id <= {_LAST_ARCHIVED_EVENT}"),
    # the seal of the last archived event stays: the chain of seals begins with it
    "event_seal": Guard(deletable_if=f"{{row}}.id < {_LAST_ARCHIVED_EVENT}"),
    "history_start": Guard(deletable_if=f"{{row}}.id <= {_LAST_ARCHIVED_START} AND {_HAS_LATER_START}"),
    "history_archive": Guard(),
    "seal_restart": Guard(),
    "token_event": Guard(),
    "observation": Guard(
        "id, at, source, name, sha256, taken_at, is_whole, servers, chips, speaker", deletable_if=_SUPERSEDED
    ),
    "observed_server": Guard(deletable_if=_ORPHANED.format(parent="observation")),
    "observed_chip": Guard(deletable_if=_ORPHANED.format(parent="observed_server")),
    "observed_link": Guard(deletable_if=_ORPHANED.format(parent="observation")),
    "measurement": Guard(),
    "incident_note": Guard(),
    "binding": Guard(
        "id, server_id, address, instance, host, started_at, method, confidence, evidence, who",
        closing_column="ended_at",
    ),
    "finding": Guard(
        "id, rule, severity, address, instance, expected, observed, evidence, first_seen", closing_column="cleared_at"
    ),
    "job": Guard(
        "id, cluster_id, name, system, external_id, submitted_at, started_at, first_started_at, until_at, who",
        end_column="ended_at",
    ),
    "allocation": Guard("id, job_id, chip_id, role, started_at", end_column="ended_at"),
    "cordon": Guard("id, server_id, started_at, why, who", end_column="ended_at"),
    "reservation": Guard(
        "id, cluster_id, name, kind, from_at, until_at, chips, place, chip_ids, started_at, who, why",
        closing_column="ended_at",
        end_column="ended_at",
    ),
    "reserved_chip": Guard(deletable_if=_HAS_CHANGE_ROW),
}
"""The guard of each protected table."""


def guard_triggers(dialect: str) -> Iterator[Trigger]:
    """Yield the triggers of every guard."""
    declare = _in_sqlite if dialect == "sqlite" else _in_postgresql
    for table, guard in GUARDS.items():
        yield from declare(table, guard)


def _refusals(table: str, guard: Guard) -> tuple[str, str]:
    """Return the messages of a refused change and of a refused deletion."""
    if not guard.end_column:
        return (f"{table} is append only",) * 2
    changed = f"{table}: {guard.fixed_columns} never change: set {guard.end_column}, and begin another row"
    return changed, f"{table}: rows are kept: set {guard.end_column} instead"


def _in_sqlite(table: str, guard: Guard) -> Iterator[Trigger]:
    changed, deleted = (f"SELECT RAISE(ABORT, '{refusal}');" for refusal in _refusals(table, guard))
    columns = f" OF {guard.fixed_columns}" if guard.fixed_columns else ""
    yield Trigger.in_sqlite(f"{table}_not_changed", table, f"BEFORE UPDATE{columns}", changed)
    if guard.closing_column:
        when = f"BEFORE UPDATE | OLD.{guard.closing_column} IS NOT NULL"
        yield Trigger.in_sqlite(f"{table}_not_reopened", table, when, changed)
    deletable_if = _HAS_CHANGE_ROW if guard.end_column else guard.deletable_if.format(row="OLD")
    condition = f" | NOT ({deletable_if})" if deletable_if else ""
    yield Trigger.in_sqlite(f"{table}_not_deleted", table, f"BEFORE DELETE{condition}", deleted)


def _in_postgresql(table: str, guard: Guard) -> Iterator[Trigger]:
    """Yield the triggers of one guard; all but one run once per statement, not per row."""
    changed, deleted = _refusals(table, guard)
    columns = f" OF {guard.fixed_columns}" if guard.fixed_columns else ""
    yield Trigger.statement_level(f"{table}_not_changed", table, f"BEFORE UPDATE{columns}", _REFUSE, changed)
    if guard.closing_column:
        when = f"old.{guard.closing_column} IS NOT NULL"
        yield Trigger.row_level(f"{table}_not_reopened", table, "BEFORE UPDATE", _REFUSE, changed, when=when)
    name = f"{table}_not_deleted"
    if guard.end_column:
        body = f" BEGIN\n    IF {_HAS_CHANGE_ROW} THEN RETURN NULL; END IF;\n    RAISE EXCEPTION '{deleted}';\nEND "
        function = Function(name, body, sees_change=True)
        yield Trigger.statement_level(name, table, "BEFORE DELETE OR TRUNCATE", function)
    elif guard.deletable_if:
        has_protected_row = f"EXISTS (SELECT FROM gone WHERE NOT ({guard.deletable_if.format(row='gone')}))"
        body = f" BEGIN\n    IF {has_protected_row} THEN RAISE EXCEPTION '{deleted}'; END IF;\n    RETURN NULL;\nEND "
        function = Function(name, body, sees_change=_HAS_CHANGE_ROW in guard.deletable_if)
        yield Trigger.statement_level(name, table, "AFTER DELETE", function, tables="OLD TABLE AS gone")
        yield Trigger.statement_level(f"{table}_not_truncated", table, "BEFORE TRUNCATE", _REFUSE, deleted)
    else:
        yield Trigger.statement_level(name, table, "BEFORE DELETE OR TRUNCATE", _REFUSE, deleted)


def evidence_triggers(dialect: str) -> Iterator[Trigger]:
    """Yield the triggers that mark observations that a finding cites, and refuse to remove the mark."""
    refusal = "observation is append only"
    if dialect == "sqlite":
        ids = "SELECT value FROM json_each('[' || replace(NEW.evidence, ' ', ',') || ']')"
        cite = f"UPDATE observation SET is_cited = true WHERE NOT is_cited AND id IN ({ids});"  # noqa: S608 # only our own names
        yield Trigger.in_sqlite("finding_cites", "finding", "AFTER INSERT | NEW.evidence IS NOT NULL", cite)
        when = "BEFORE UPDATE OF is_cited | OLD.is_cited AND NOT NEW.is_cited"
        yield Trigger.in_sqlite("observation_stays_cited", "observation", when, f"SELECT RAISE(ABORT, '{refusal}');")
        return
    ids = "SELECT CAST(unnest(string_to_array(evidence, ' ')) AS bigint) FROM made"
    cite = f"UPDATE observation SET is_cited = true WHERE NOT is_cited AND id IN ({ids});"  # noqa: S608 # only our own names
    function = Function("finding_cites", f" BEGIN\n    {cite}\n    RETURN NULL;\nEND ")
    yield Trigger.statement_level("finding_cites", "finding", "AFTER INSERT", function, tables="NEW TABLE AS made")
    when = "old.is_cited AND NOT new.is_cited"
    verb = "BEFORE UPDATE OF is_cited"
    yield Trigger.row_level("observation_stays_cited", "observation", verb, _REFUSE, refusal, when=when)


AUTHORS: Final = {
    "_change": ("who", "why"),
    "state_event": ("who", "why"),
    "history_archive": ("who",),
    "job": ("who",),
    "cordon": ("who", "why"),
    "reservation": ("who", "why"),
    "binding": ("who", "ended_by"),
    "incident_note": ("who", "text"),
}
"""The columns with the author and the reason of a change, by table."""
_AUTHOR_BODY: Final = f" BEGIN RAISE EXCEPTION '%: write at most {MAX_LENGTH:,} characters', TG_ARGV[0]; END "
_REFUSE_AUTHOR: Final = Function("refuse_author", _AUTHOR_BODY)


def author_triggers(dialect: str) -> Iterator[Trigger]:
    """Yield the triggers that refuse an overlong author or reason in new and changed rows; older rows may keep theirs.

    On SQLite they also refuse NUL characters.
    """
    for table, columns in AUTHORS.items():
        names, written = ", ".join(columns), f"UPDATE OF {', '.join(columns)}"
        if dialect == "sqlite":
            refuse = f"SELECT RAISE(ABORT, '{names}: write at most {MAX_LENGTH:,} characters');"
            # length() stops at the first NUL character
            tests = (f"length(NEW.{name}) > {MAX_LENGTH} OR instr(NEW.{name}, char(0))" for name in columns)
            when = " OR ".join(tests)
            yield Trigger.in_sqlite(f"{table}_author_inserted", table, f"BEFORE INSERT | {when}", refuse)
            yield Trigger.in_sqlite(f"{table}_author_updated", table, f"BEFORE {written} | {when}", refuse)
            continue
        when = " OR ".join(f"length(new.{name}) > {MAX_LENGTH}" for name in columns)
        verb = f"BEFORE INSERT OR {written}"
        yield Trigger.row_level(f"{table}_author", table, verb, _REFUSE_AUTHOR, names, when=when)
