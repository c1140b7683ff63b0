"""Compare the tables with the state that the recorded events lead to, for `trninv verify`.

Bindings have no events: `trninv.inventory.state.binding_check` checks their rows against each other.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, or_, select

from trninv.database.tables import JOB_ACTIONS, TABLES
from trninv.inventory.address.expressions import address_by_id, concat, node_address_expression, node_addresses
from trninv.inventory.state import chip_ids
from trninv.inventory.state.event_fold import (
    KINDS_BY_TABLE,
    EventSpan,
    discontinuities,
    event_spans,
    fold_events,
    last_actions,
)
from trninv.inventory.state.history_start import UP, ClusterState, Part, PartCondition, latest_starts
from trninv.inventory.state.replay_allocations import (
    allocation_differences,
    count_unreadable_chips,
    current_allocations,
)

_CLUSTER, _SERVER, _DOMAIN, _NODE, _LINK, _JOB, _CORDON = (
    TABLES[name] for name in ("cluster", "server", "domain", "node", "link", "job", "cordon")
)
MAX_EXAMPLES: Final = 3
"""The maximum number of differing rows that one mismatch describes."""
_MAX_LENGTH: Final = 200
"""The maximum number of characters of a job's list of chips in a message."""


class HistoryMismatch(NamedTuple):
    """A difference between the tables and the history; the cluster is empty if the history itself is damaged.

    `kind` is "missing" or "changed".
    """

    cluster: str
    table: str
    kind: str
    detail: str


def replay_history(connection: Connection) -> Iterator[HistoryMismatch]:
    """Yield the differences between the tables and the events, cluster by cluster."""
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
            yield f"{span.slug}: chips of {_pluralize(number, 'job')} that no event names"


def _start_mismatches(connection: Connection) -> Iterator[HistoryMismatch]:
    """Yield clusters whose start differs from the recorded one or is not recorded, and clusters that are missing.

    The migration that began to record starts may have recorded one that is later than the start of a cluster's history.
    """
    starts_by_slug = latest_starts(connection)
    clusters = {row.slug: row for row in connection.execute(select(_CLUSTER).order_by(_CLUSTER.c.id))}
    for slug, row in starts_by_slug.items():
        if row.cause != "unseed" and slug not in clusters:
            yield HistoryMismatch(
                slug, "cluster", "missing", f"it is missing, but its history starts at event {row.event} and has no end"
            )
    for slug, cluster in clusters.items():
        start = starts_by_slug.get(slug)
        if start is None or start.cause == "unseed" or start.cluster_id != cluster.id:
            yield HistoryMismatch(slug, "history_start", "missing", "no start of its history is recorded")
        elif start.event != cluster.known_from and not (start.cause == "migrate" and start.event > cluster.known_from):
            message = (
                f"its history starts at event {cluster.known_from}, but the recorded start is at event {start.event}"
            )
            yield HistoryMismatch(slug, "cluster", "changed", message)


def _unreadable_starts(connection: Connection) -> Iterator[HistoryMismatch]:
    """Yield recorded starts with an unreadable state, whose clusters cannot be compared."""
    for row in latest_starts(connection).values():
        if row.cause != "unseed" and ClusterState.parse(row.state) is None:
            yield HistoryMismatch("", "history_start", "changed", f"the start of {row.cluster} cannot be read")


def _part_mismatches(
    connection: Connection, span: EventSpan, table: str, expected_state: ClusterState
) -> Iterator[HistoryMismatch]:
    """Yield one mismatch for all parts in a table whose condition differs from that by the events."""
    expected = {
        (kind, key): condition
        for (kind, key), condition in expected_state.parts.items()
        if kind in KINDS_BY_TABLE[table]
    }
    actual = _unhealthy_parts(connection, span, table)
    differing = sorted(
        part for part in expected.keys() | actual.keys() if expected.get(part, UP) != actual.get(part, UP)
    )
    if not differing:
        return
    addresses = _addresses(connection, table, [key for _, key in differing[:MAX_EXAMPLES]])

    def describe(part: Part) -> str:
        kind, key = part
        actual_text, expected_text = (_format_condition(parts.get(part, UP)) for parts in (actual, expected))
        return f"{addresses.get(key, f'{kind} {key}')} is {actual_text}, but {expected_text} by its events"

    yield _summarize(span.slug, table, differing, describe)


def _discontinuity_mismatches(connection: Connection, span: EventSpan, table: str) -> Iterator[HistoryMismatch]:
    if events := list(discontinuities(connection, span, table)):
        yield _summarize(
            span.slug,
            "state_event",
            events,
            lambda row: (
                f"event {row.id} says that {row.address} was {row.before}, which contradicts the history before it"
            ),
        )


def _unhealthy_parts(connection: Connection, span: EventSpan, table: str) -> dict[Part, PartCondition]:
    """Return the parts of a table that are unhealthy, or whose own state is recorded, with their condition."""
    columns = TABLES[table].c
    is_node = table == "node"
    condition_columns = [columns.state, columns.factor_ppm]
    if is_node:
        condition_columns += [columns.own_state, columns.own_factor_ppm]
    # UP has four values; servers and links have columns for the first two only
    differs = or_(*(column.is_distinct_from(value) for column, value in zip(condition_columns, UP, strict=False)))
    query = select(columns.id, *([columns.kind] if is_node else []), *condition_columns)
    parts = dict[Part, PartCondition]()
    for row in connection.execute(query.where(columns.id.between(*span.blocks[table]), differs)):
        own = (row.own_state, row.own_factor_ppm) if is_node else (None, None)
        parts[row.kind if is_node else table, row.id] = (row.state, row.factor_ppm, *own)
    return parts


def _job_mismatches(connection: Connection, span: EventSpan, expected: ClusterState) -> Iterator[HistoryMismatch]:
    """Yield mismatches of jobs, of their open allocations, and of the allocations that they ever had."""
    rows = {row.id: row for row in connection.execute(select(_JOB).where(_JOB.c.cluster_id == span.cluster_id))}
    last_events = {row.part_id: row for row in last_actions(connection, span, JOB_ACTIONS)}
    names = {key: name for key, (name, _place, _chips) in span.state.jobs.items()}
    names |= {key: row.job for key, row in last_events.items()}
    problems = [
        message
        for key in sorted(rows.keys() | names.keys())
        if (message := _job_problem(rows.get(key), names.get(key), last_events.get(key), expected.jobs.get(key), span))
    ]
    if problems:
        yield _summarize(span.slug, "job", problems, str)
    allocated = current_allocations(connection, span.cluster_id)
    chip_problems = list[str]()
    for key in sorted(allocated.keys() | expected.jobs.keys()):
        _name, _place, expected_chips = expected.jobs.get(key, ("", "", ""))
        actual_chips = chip_ids.format_chip_ids(allocated.get(key, {}))
        is_comparable = key not in expected.jobs or expected_chips  # some events do not name the job's chips
        if is_comparable and actual_chips != expected_chips:
            chip_problems.append(_chips_message(names.get(key, str(key)), actual_chips, expected_chips))
    if chip_problems:
        yield _summarize(span.slug, "allocation", chip_problems, str)
    if unexplained := list(allocation_differences(connection, span, rows.keys())):
        messages = [
            f"job {names.get(job, job)} has {'no row' if is_in_events else 'a row'} for chip {chip}, which it "
            f"{'had' if is_in_events else 'never had'} by its events"
            for job, chip, is_in_events in unexplained
        ]
        yield _summarize(span.slug, "allocation", messages, str)


def _job_problem(
    row: Any, name: str | None, last_event: Any, running: tuple[str, str, str] | None, span: EventSpan
) -> str | None:
    """Return how a job's row differs from its events, or None.

    Some differences are allowed: a job that ended before the recorded start may have no events, a row may lack the
    place, and plain SQL may write a time of the end that is not the event's.

    Parameters
    ----------
    name
        The job's name in its events or in the recorded start; None if it is in neither.
    running
        The job's name, place and chips by its events; None if by its events it has ended.
    """
    if row is None:
        return f"job {name} is gone"
    if name is None:
        return f"job {row.name} has no event" if row.id > span.state.last_job or row.ended_at is None else None
    status = "has chips" if row.ended_at is None else "has ended"
    problem = None
    if row.name != name:
        problem = f"job {row.name} is called {name} in its events"
    elif (row.ended_at is None) != (running is not None):
        problem = f"job {name} {status}, but not by its events"
    elif running is not None:
        _name, place, _chips = running
        if row.place not in (place, None):
            problem = f"job {name} is at {row.place}, but at {place} by its events"
    elif last_event is not None and last_event.source != "sql" and row.ended_at != last_event.at:
        problem = f"job {name} ended at {row.ended_at}, but at {last_event.at} by its events"
    return problem


def _chips_message(name: str, actual: str, expected: str) -> str:
    actual, expected = (
        f"{chips[:_MAX_LENGTH]}{'…' * (len(chips) > _MAX_LENGTH)}" or "none" for chips in (actual, expected)
    )
    return f"job {name} has chips {actual}, but {expected} by its events"


def _cordon_mismatches(connection: Connection, span: EventSpan, expected: ClusterState) -> Iterator[HistoryMismatch]:
    query = select(_CORDON.c.server_id).where(_CORDON.c.ended_at.is_(None))
    first, last = span.blocks["server"]
    cordoned = set(connection.scalars(query.where(_CORDON.c.server_id.between(first, last))))
    if differing := sorted(cordoned ^ expected.cordoned):
        addresses = _addresses(connection, "server", differing[:MAX_EXAMPLES])

        def describe(key: int) -> str:
            problem = "is cordoned, but not" if key in cordoned else "is not cordoned, but is"
            return f"{addresses.get(key, key)} {problem} by its events"

        yield _summarize(span.slug, "cordon", differing, describe)


def _format_condition(condition: PartCondition) -> str:
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
    """Return the addresses of servers, nodes or links, by id."""
    ids = list(ids)
    if table == "node":
        query: Any = node_addresses().where(_NODE.c.id.in_(ids))
    elif table == "server":
        query = select(_SERVER.c.id, address_by_id("server", _SERVER.c.id)).where(_SERVER.c.id.in_(ids))
    else:
        address: ColumnElement[str] = concat(
            node_address_expression(_LINK.c.a_id), "--", node_address_expression(_LINK.c.b_id)
        )
        query = select(_LINK.c.id, address).where(_LINK.c.id.in_(ids))
    return dict(map(tuple, connection.execute(query)))
