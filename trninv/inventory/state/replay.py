"""Compare the tables with the state that the history leads to.

Bindings have no events: `trninv.inventory.state.binding_check` checks their rows against each other.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, or_, select

from trninv.database.tables import JOB_ACTIONS, TABLES
from trninv.inventory.address.expressions import address_expression, concat, node_address_expression, node_addresses
from trninv.inventory.state import chip_ids
from trninv.inventory.state.event_fold import (
    KINDS_BY_TABLE,
    EventSpan,
    discontinuities,
    event_spans,
    fold_events,
    last_actions,
)
from trninv.inventory.state.history_start import UP, ClusterState, Condition, Part, latest_starts
from trninv.inventory.state.replay_allocations import (
    allocation_differences,
    count_unreadable_chips,
    current_allocations,
)

_CLUSTER, _SERVER, _DOMAIN, _NODE, _LINK, _JOB, _CORDON = (
    TABLES[name] for name in ("cluster", "server", "domain", "node", "link", "job", "cordon")
)
MAX_EXAMPLES: Final = 3
_MAX_LENGTH: Final = 200


class HistoryMismatch(NamedTuple):
    """A difference between the tables and the history; the cluster is empty if the history itself is at fault."""

    cluster: str
    table: str
    kind: str
    detail: str


def replay_history(connection: Connection) -> Iterator[HistoryMismatch]:
    """Yield the differences of every cluster."""
    yield from _start_mismatches(connection)
    yield from _unreadable_starts(connection)
    for span in event_spans(connection):
        expected = fold_events(connection, span)
        for table in KINDS_BY_TABLE:
            yield from _part_mismatches(connection, span, table, expected)
            yield from _discontinuity_mismatches(connection, span, table)
        yield from _job_mismatches(connection, span, expected)
        yield from _cordon_mismatches(connection, span, expected)


def unverifiable(connection: Connection) -> Iterator[str]:
    """Yield descriptions of rows that cannot be compared because no event covers them."""
    for span in event_spans(connection):
        earlier_jobs = select(_JOB.c.id).where(_JOB.c.cluster_id == span.cluster_id, _JOB.c.id <= span.state.last_job)
        jobs_with_events = {row.part_id for row in last_actions(connection, span, JOB_ACTIONS)} | span.state.jobs.keys()
        if number := len(set(connection.scalars(earlier_jobs)) - jobs_with_events):
            yield f"{span.slug}: {_pluralize(number, 'job')} that ended before event {span.start + 1}"
        if number := count_unreadable_chips(connection, span):
            yield f"{span.slug}: chips of {_pluralize(number, 'job')} that no event tells"


def _start_mismatches(connection: Connection) -> Iterator[HistoryMismatch]:
    """Yield clusters whose start differs from the recorded one, and clusters that are gone."""
    starts_by_slug = latest_starts(connection)
    clusters = {row.slug: row for row in connection.execute(select(_CLUSTER).order_by(_CLUSTER.c.id))}
    for slug, row in starts_by_slug.items():
        if row.cause != "unseed" and slug not in clusters:
            yield HistoryMismatch(
                slug, "cluster", "missing", f"it is gone, and the history has it since event {row.event}"
            )
    for slug, cluster in clusters.items():
        start = starts_by_slug.get(slug)
        if start is None or start.cause == "unseed" or start.cluster_id != cluster.id:
            yield HistoryMismatch(slug, "history_start", "missing", "no start of its history is recorded")
        elif start.event != cluster.known_from and not (start.cause == "migrate" and start.event > cluster.known_from):
            message = f"its history is known from event {cluster.known_from}, and its recorded start is {start.event}"
            yield HistoryMismatch(slug, "cluster", "changed", message)


def _unreadable_starts(connection: Connection) -> Iterator[HistoryMismatch]:
    """Yield recorded starts with an unreadable state, whose clusters cannot be compared."""
    for row in latest_starts(connection).values():
        if row.cause != "unseed" and ClusterState.parse(row.state) is None:
            yield HistoryMismatch("", "history_start", "changed", f"the start of {row.cluster} cannot be read")


def _part_mismatches(
    connection: Connection, span: EventSpan, table: str, expected_state: ClusterState
) -> Iterator[HistoryMismatch]:
    expected = {part: condition for part, condition in expected_state.parts.items() if part[0] in KINDS_BY_TABLE[table]}
    actual = _unhealthy_parts(connection, span, table)
    wrong = sorted(part for part in expected.keys() | actual.keys() if expected.get(part, UP) != actual.get(part, UP))
    if wrong:
        names = _addresses(connection, table, [key for _, key in wrong[:MAX_EXAMPLES]])
        yield _summarize(
            span.slug,
            table,
            wrong,
            lambda part: (
                f"{names.get(part[1], '{} {}'.format(*part))} is {_format_condition(actual.get(part, UP))}, "
                f"by its events {_format_condition(expected.get(part, UP))}"
            ),
        )


def _discontinuity_mismatches(connection: Connection, span: EventSpan, table: str) -> Iterator[HistoryMismatch]:
    if events := list(discontinuities(connection, span, table)):
        yield _summarize(
            span.slug,
            "state_event",
            events,
            lambda row: f"event {row.id} says that {row.address} was {row.before}, which no event before it made it",
        )


def _unhealthy_parts(connection: Connection, span: EventSpan, table: str) -> dict[Part, Condition]:
    table_ = TABLES[table]
    own = [table_.c.own_state, table_.c.own_factor_ppm] if table == "node" else []
    differs = or_(
        *(
            column.is_distinct_from(value)
            for column, value in zip((table_.c.state, table_.c.factor_ppm, *own), UP, strict=False)
        )
    )  # servers and links have two
    kind = [table_.c.kind] if table == "node" else []
    query = select(table_.c.id, table_.c.state, table_.c.factor_ppm, *own, *kind).where(
        table_.c.id.between(*span.blocks[table]), differs
    )
    return {
        (row.kind if kind else table, row.id): (row.state, row.factor_ppm, *(row[3:5] if own else (None, None)))
        for row in connection.execute(query)
    }


def _job_mismatches(connection: Connection, span: EventSpan, expected: ClusterState) -> Iterator[HistoryMismatch]:
    rows = {row.id: row for row in connection.execute(select(_JOB).where(_JOB.c.cluster_id == span.cluster_id))}
    last = {row.part_id: row for row in last_actions(connection, span, JOB_ACTIONS)}
    names = {key: name for key, (name, _, _) in span.state.jobs.items()} | {key: row.job for key, row in last.items()}
    wrong = [
        message
        for key in sorted(rows.keys() | names.keys())
        if (message := _job_problem(rows.get(key), names.get(key), last.get(key), expected.jobs.get(key), span))
    ]
    if wrong:
        yield _summarize(span.slug, "job", wrong, str)
    allocated = current_allocations(connection, span.cluster_id)
    chips = {
        key: (chip_ids.format_chip_ids(allocated.get(key, {})), expected.jobs[key][2] if key in expected.jobs else "")
        for key in allocated.keys() | expected.jobs.keys()
        if key not in expected.jobs or expected.jobs[key][2]
    }
    if differing := sorted(
        key for key, (actual_chips, expected_chips) in chips.items() if actual_chips != expected_chips
    ):
        yield _summarize(
            span.slug, "allocation", differing, lambda key: _chips_message(names.get(key, str(key)), *chips[key])
        )
    if unexplained := list(allocation_differences(connection, span, rows.keys())):
        yield _summarize(
            span.slug,
            "allocation",
            unexplained,
            lambda row: f"job {names.get(row[0], row[0])} never had chip {row[1]}",
        )


def _job_problem(
    row: Any, name: str | None, last: Any, live: tuple[str, str, str] | None, span: EventSpan
) -> str | None:
    """Return how a job's row differs from its events, or None."""
    if row is None:
        return f"job {name} is gone"
    if name is None:
        return f"job {row.name} has no event" if row.id > span.state.last_job or row.ended_at is None else None
    status = "has chips" if row.ended_at is None else "has ended"
    checks = {
        f"job {row.name} is {name} in its events": row.name == name,
        f"job {name} {status}, not by its events": (row.ended_at is None) == (live is not None),
    }
    if live is not None:
        checks[f"job {name} is at {row.place}, by its events at {live[1]}"] = row.place in (live[1], None)
    elif last is not None and last.source != "sql":
        checks[f"job {name} ended at {row.ended_at}, by its events at {last.at}"] = row.ended_at == last.at
    return next((message for message, holds in checks.items() if not holds), None)


def _chips_message(name: str, actual: str, expected: str) -> str:
    one, other = (f"{chips[:_MAX_LENGTH]}{'…' * (len(chips) > _MAX_LENGTH)}" or "none" for chips in (actual, expected))
    return f"job {name} has chips {one}, by its events {other}"


def _cordon_mismatches(connection: Connection, span: EventSpan, expected: ClusterState) -> Iterator[HistoryMismatch]:
    query = select(_CORDON.c.server_id).where(_CORDON.c.ended_at.is_(None))
    first, last = span.blocks["server"]
    cordoned = set(connection.scalars(query.where(_CORDON.c.server_id.between(first, last))))
    if wrong := sorted(cordoned ^ expected.cordoned):
        names = _addresses(connection, "server", wrong[:MAX_EXAMPLES])
        yield _summarize(
            span.slug,
            "cordon",
            wrong,
            lambda key: (
                f"{names.get(key, key)} is {'cordoned' if key in cordoned else 'not cordoned'}, not by its events"
            ),
        )


def _format_condition(condition: Condition) -> str:
    state, factor, own, own_factor = condition
    own_text = f" (its own state: {own}{_format_factor(own_factor)})" if own else ""
    return f"{state}{_format_factor(factor)}{own_text}"


def _format_factor(factor: int | None) -> str:
    return "" if factor is None else f" to {factor / 1_000_000:g}"


def _summarize(cluster: str, table: str, rows: Sequence[Any], describe: Callable[[Any], str]) -> HistoryMismatch:
    more = "; …" if len(rows) > MAX_EXAMPLES else ""
    detail = "; ".join(map(describe, rows[:MAX_EXAMPLES]))
    return HistoryMismatch(cluster, table, "changed", f"{_pluralize(len(rows), 'row')}: {detail}{more}")


def _pluralize(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'s' * (number != 1)}"


def _addresses(connection: Connection, table: str, ids: Iterable[int]) -> dict[int, str]:
    ids = list(ids)
    if table == "node":
        query: Any = node_addresses().where(_NODE.c.id.in_(ids))
    elif table == "server":
        joined = _SERVER.join(_DOMAIN, _DOMAIN.c.id == _SERVER.c.domain_id).join(
            _CLUSTER, _CLUSTER.c.id == _DOMAIN.c.cluster_id
        )
        query = select(_SERVER.c.id, address_expression("server")).select_from(joined).where(_SERVER.c.id.in_(ids))
    else:
        address: ColumnElement[str] = concat(
            node_address_expression(_LINK.c.a_id), "--", node_address_expression(_LINK.c.b_id)
        )
        query = select(_LINK.c.id, address).where(_LINK.c.id.in_(ids))
    return {row[0]: row[1] for row in connection.execute(query)}
