"""Declare the triggers that keep rows, and those that limit who and why in plain SQL.

Each protected table is declared here once; copying a database lifts the triggers of these tables.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from trninv.inventory.state.author import MAX_LENGTH
from trninv.inventory.triggers.declaration import Function, Trigger
from trninv.settings import LEAST_OBSERVATIONS

_ARCHIVED: Final = "(SELECT coalesce(max(id), 0) FROM history_archive)"
_COVERED: Final = "(SELECT coalesce(max(starts), 0) FROM event_seal WHERE id = (SELECT max(id) FROM history_archive))"
"""The last start covered by the seal with which the history begins; earlier starts are in an archive."""
_FOLLOWED: Final = """EXISTS (SELECT * FROM history_start AS later
        WHERE later.cluster = {row}.cluster AND later.id > {row}.id)"""
_IN_CHANGE: Final = "EXISTS (SELECT * FROM _change)"
_REFUSE: Final = Function("refuse_change", " BEGIN RAISE EXCEPTION '%', TG_ARGV[0]; END ")
_IDENTITY: Final = "id, {}, who"
_LATER: Final = """SELECT later.id FROM observation AS later
        WHERE later.source = {row}.source AND later.speaker = {row}.speaker"""
_SUPERSEDED: Final = f"""{{row}}.speaker IS NOT NULL AND NOT {{row}}.is_cited
    AND EXISTS ({_LATER} AND later.id > {{row}}.id)
    AND (SELECT count(*) FROM ({_LATER} AND (later.seen_at, later.id) > ({{row}}.seen_at, {{row}}.id)
        LIMIT {LEAST_OBSERVATIONS}) AS newest) = {LEAST_OBSERVATIONS}"""  # noqa: S608 # only our own names
"""True of an observation that no finding cites and whose machine has enough newer ones from the same source."""
_ORPHANED: Final = "NOT EXISTS (SELECT * FROM {parent} AS parent WHERE parent.id = {{row}}.{parent}_id)"


@dataclass(frozen=True, slots=True)
class Guard:
    """How the rows of a table are protected.

    Attributes
    ----------
    fixed
        Columns that never change; empty: no column does.
    closed
        A column that freezes its row once it is written.
    may_go
        A condition, in SQL, on the row ``{row}`` under which it may be deleted; empty: never.
    ended
        The column that is written to end a row instead of deleting it; only trninv itself deletes such rows.
    """

    fixed: str = ""
    closed: str = ""
    may_go: str = ""
    ended: str = ""


GUARDS: Final[Mapping[str, Guard]] = {
    "state_event": Guard(may_go=f"{{row}}.id <= {_ARCHIVED}"),
    "event_seal": Guard(may_go=f"{{row}}.id < {_ARCHIVED}"),
    "history_start": Guard(may_go=f"{{row}}.id <= {_COVERED} AND {_FOLLOWED}"),
    "history_archive": Guard(),
    "seal_restart": Guard(),
    "observation": Guard(
        "id, at, source, name, sha256, taken_at, is_whole, servers, chips, speaker", may_go=_SUPERSEDED
    ),
    "observed_server": Guard(may_go=_ORPHANED.format(parent="observation")),
    "observed_chip": Guard(may_go=_ORPHANED.format(parent="observed_server")),
    "observed_link": Guard(may_go=_ORPHANED.format(parent="observation")),
    "binding": Guard(
        "id, server_id, address, instance, host, started_at, method, confidence, evidence, who", closed="ended_at"
    ),
    "finding": Guard(
        "id, rule, severity, address, instance, expected, observed, evidence, first_seen", closed="cleared_at"
    ),
    "job": Guard(
        _IDENTITY.format("cluster_id, name, system, external_id, submitted_at, started_at, first_started_at"),
        ended="ended_at",
    ),
    "allocation": Guard("id, job_id, chip_id, role, started_at", ended="ended_at"),
    "cordon": Guard(_IDENTITY.format("server_id, started_at, why"), ended="ended_at"),
}
"""The protected tables."""


def guard_triggers(dialect: str) -> Iterator[Trigger]:
    """Declare the triggers of every guard."""
    declare = _in_sqlite if dialect == "sqlite" else _in_postgresql
    for table, guard in GUARDS.items():
        yield from declare(table, guard)


def _refusals(table: str, guard: Guard) -> tuple[str, str]:
    """Return the messages that refuse a change and a deletion."""
    if not guard.ended:
        return (f"{table} is append only",) * 2
    changed = f"{table}: {guard.fixed} never change: set {guard.ended}, and begin another row"
    return changed, f"{table}: rows are kept: set {guard.ended} instead"


def _in_sqlite(table: str, guard: Guard) -> Iterator[Trigger]:
    changed, deleted = (f"SELECT RAISE(ABORT, '{refusal}');" for refusal in _refusals(table, guard))
    columns = f" OF {guard.fixed}" if guard.fixed else ""
    yield Trigger.lite(f"{table}_not_changed", table, f"BEFORE UPDATE{columns}", changed)
    if guard.closed:
        when = f"BEFORE UPDATE | OLD.{guard.closed} IS NOT NULL"
        yield Trigger.lite(f"{table}_not_reopened", table, when, changed)
    may_go = _IN_CHANGE if guard.ended else guard.may_go.format(row="OLD")
    yield Trigger.lite(f"{table}_not_deleted", table, "BEFORE DELETE" + (may_go and f" | NOT ({may_go})"), deleted)


def _in_postgresql(table: str, guard: Guard) -> Iterator[Trigger]:
    changed, deleted = _refusals(table, guard)
    columns = f" OF {guard.fixed}" if guard.fixed else ""
    yield Trigger.statement_level(f"{table}_not_changed", table, f"BEFORE UPDATE{columns}", _REFUSE, changed)
    if guard.closed:
        when = f"old.{guard.closed} IS NOT NULL"
        yield Trigger.row_level(f"{table}_not_reopened", table, "BEFORE UPDATE", _REFUSE, changed, when=when)
    name = f"{table}_not_deleted"
    if guard.ended:
        body = f" BEGIN\n    IF {_IN_CHANGE} THEN RETURN NULL; END IF;\n    RAISE EXCEPTION '{deleted}';\nEND "
        function = Function(name, body, sees_change=True)
        yield Trigger.statement_level(name, table, "BEFORE DELETE OR TRUNCATE", function)
    elif guard.may_go:
        stays = f"EXISTS (SELECT FROM gone WHERE NOT ({guard.may_go.format(row='gone')}))"
        body = f" BEGIN\n    IF {stays} THEN RAISE EXCEPTION '{deleted}'; END IF;\n    RETURN NULL;\nEND "
        yield Trigger.statement_level(name, table, "AFTER DELETE", Function(name, body), tables="OLD TABLE AS gone")
        yield Trigger.statement_level(f"{table}_not_truncated", table, "BEFORE TRUNCATE", _REFUSE, deleted)
    else:
        yield Trigger.statement_level(name, table, "BEFORE DELETE OR TRUNCATE", _REFUSE, deleted)


def evidence_triggers(dialect: str) -> Iterator[Trigger]:
    """Declare the triggers that mark observations cited by findings, and keep the mark."""
    refusal = "observation is append only"
    if dialect == "sqlite":
        ids = "SELECT value FROM json_each('[' || replace(NEW.evidence, ' ', ',') || ']')"
        cite = f"UPDATE observation SET is_cited = true WHERE NOT is_cited AND id IN ({ids});"  # noqa: S608 # only our own names
        yield Trigger.lite("finding_cites", "finding", "AFTER INSERT | NEW.evidence IS NOT NULL", cite)
        when = "BEFORE UPDATE OF is_cited | OLD.is_cited AND NOT NEW.is_cited"
        yield Trigger.lite("observation_stays_cited", "observation", when, f"SELECT RAISE(ABORT, '{refusal}');")
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
    "binding": ("who", "ended_by"),
}
"""Columns that say who changed something, and why, by table."""
_BODY: Final = f" BEGIN RAISE EXCEPTION '%: write at most {MAX_LENGTH:,} characters', TG_ARGV[0]; END "
_REFUSE_AUTHOR: Final = Function("refuse_author", _BODY)


def author_triggers(dialect: str) -> Iterator[Trigger]:
    """Declare the triggers for new and changed rows; stored rows keep longer texts."""
    for table, columns in AUTHORS.items():
        names, written = ", ".join(columns), f"UPDATE OF {', '.join(columns)}"
        if dialect == "sqlite":
            refuse = f"SELECT RAISE(ABORT, '{names}: write at most {MAX_LENGTH:,} characters');"
            # length() counts up to the first character 0
            tests = (f"length(NEW.{name}) > {MAX_LENGTH} OR instr(NEW.{name}, char(0))" for name in columns)
            when = " OR ".join(tests)
            yield Trigger.lite(f"{table}_author_inserted", table, f"BEFORE INSERT | {when}", refuse)
            yield Trigger.lite(f"{table}_author_updated", table, f"BEFORE {written} | {when}", refuse)
            continue
        when = " OR ".join(f"length(new.{name}) > {MAX_LENGTH}" for name in columns)
        verb = f"BEFORE INSERT OR {written}"
        yield Trigger.row_level(f"{table}_author", table, verb, _REFUSE_AUTHOR, names, when=when)
