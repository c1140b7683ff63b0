"""Compute the state of a cluster from its recorded start and the events since then.

`trninv verify` compares the tables with this state. When a cluster grows or its events are archived, the state becomes
the cluster's new recorded start. In this module and in `history_start`, a part is the pair of its kind and id.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, func, or_, select

from trninv.database.bulk_read import batches
from trninv.database.tables import JOB_ACTIONS, NODE_KINDS, SERVER_ACTIONS, TABLES
from trninv.inventory.state.history_start import UP, ClusterState, Part, PartCondition, history_starts, latest_starts

_EVENT: Final = TABLES["state_event"]
KINDS_BY_TABLE: Final[Mapping[str, tuple[str, ...]]] = {"server": ("server",), "node": NODE_KINDS, "link": ("link",)}
"""The kinds of parts in each table with states."""
_AFTER: Final = tuple(_EVENT.c[name] for name in ("state", "factor_ppm", "own_state", "own_factor_ppm"))
"""The columns of an event with the part's condition after it."""
_BEFORE: Final = tuple(
    _EVENT.c[name] for name in ("before", "factor_ppm_before", "own_before", "own_factor_ppm_before")
)
"""The columns of an event with the part's condition before it."""


@dataclass(frozen=True, slots=True)
class EventSpan:
    """The events of a cluster after its recorded start.

    Attributes
    ----------
    start
        Number of the last event before the recorded start.
    blocks
        First and last id of the cluster's rows, by table.
    state
        The recorded state at the start.
    until
        Number of the last event of the span; None: up to the newest.
    """

    slug: str
    cluster_id: int
    start: int
    blocks: Mapping[str, tuple[int, int]]
    state: ClusterState
    until: int | None = None

    def part_events(self, table: str, event: Any = _EVENT) -> ColumnElement[bool]:
        """Return the condition for events of the cluster's parts in a table."""
        first, last = self.blocks[table]
        return and_(
            event.c.kind.in_(KINDS_BY_TABLE[table]), event.c.part_id.between(first, last), self._is_after_start(event)
        )

    @property
    def job_events(self) -> ColumnElement[bool]:
        """The condition for events of the cluster's jobs and cordons."""
        # "0" follows "/" in sort order, so the range has the addresses below the cluster
        place = _EVENT.c.address
        in_cluster = or_(place == self.slug, and_(place >= f"{self.slug}/", place < f"{self.slug}0"))
        return and_(_EVENT.c.action.is_not(None), in_cluster, self._is_after_start(_EVENT))

    def _is_after_start(self, event: Any) -> ColumnElement[bool]:
        after: ColumnElement[bool] = event.c.id > self.start
        return after if self.until is None else and_(after, event.c.id <= self.until)


def event_spans(connection: Connection, until: int | None = None) -> Iterator[EventSpan]:
    """Yield the span of each cluster with a readable recorded start, with events up to `until`."""
    starts_by_slug = latest_starts(connection)
    for cluster in history_starts(connection):
        row = starts_by_slug.get(cluster.slug)
        if row and row.cause != "unseed" and row.cluster_id == cluster.id and (state := ClusterState.parse(row.state)):
            blocks = {
                name: _used_ids(connection, name, first, last)
                for name, first, last in cluster.ids
                if name in KINDS_BY_TABLE
            }
            yield EventSpan(cluster.slug, cluster.id, row.event, blocks, state, until)


def _used_ids(connection: Connection, table: str, first: int, last: int) -> tuple[int, int]:
    """Return a block's first id and the last one in use; higher ids in events belong to a removed cluster."""
    id_column = TABLES[table].c.id
    return first, connection.scalar(select(func.max(id_column)).where(id_column.between(first, last))) or first


def fold_events(connection: Connection, span: EventSpan) -> ClusterState:
    """Return the cluster's state after the last event of a span."""
    parts = dict[Part, PartCondition]()
    for table in KINDS_BY_TABLE:
        changed = set(_changed_parts(connection, span, table))
        parts |= {part: start for part, start in _parts_of_table(span.state.parts, table) if part not in changed}
        parts |= _finally_unhealthy_parts(connection, span, table)
    jobs, cordoned, last_job = dict(span.state.jobs), set(span.state.cordoned), span.state.last_job
    for row in last_actions(connection, span, JOB_ACTIONS):
        last_job = max(last_job, row.part_id)
        jobs.pop(row.part_id, None)
        if row.chip_ids is not None:  # the job still has chips
            jobs[row.part_id] = (row.job, row.address, row.chip_ids)
    for row in last_actions(connection, span, SERVER_ACTIONS):
        if row.action == "cordon":
            cordoned.add(row.part_id)
        else:
            cordoned.discard(row.part_id)
    return ClusterState(parts, jobs, frozenset(cordoned), last_job)


def last_actions(connection: Connection, span: EventSpan, actions: Sequence[str]) -> Iterable[Any]:
    """Return each job's or server's last event with one of `actions`."""
    is_action = _EVENT.c.action.in_(actions)
    last_ids = select(func.max(_EVENT.c.id)).where(span.job_events, is_action).group_by(_EVENT.c.part_id)
    return connection.execute(select(_EVENT).where(_EVENT.c.id.in_(last_ids)).order_by(_EVENT.c.id)).all()


def discontinuities(connection: Connection, span: EventSpan, table: str) -> Iterator[Any]:
    """Yield events whose condition before is not the part's condition after its previous event or at the start."""
    event, previous = _EVENT, _EVENT.alias("previous")
    previous_after = (previous.c[column.name] for column in _AFTER)
    differs = or_(*(before.is_distinct_from(after) for before, after in zip(_BEFORE, previous_after, strict=True)))
    events = select(event.c.id, event.c.kind, event.c.part_id, event.c.address, *_BEFORE)
    joined = events.join(previous, previous.c.id == event.c.previous_id)
    yield from connection.execute(joined.where(span.part_events(table), previous.c.id > span.start, differs))
    first_events = events.where(span.part_events(table), func.coalesce(event.c.previous_id, 0) <= span.start)
    differs_from_up = or_(*(column.is_distinct_from(value) for column, value in zip(_BEFORE, UP, strict=True)))
    for row in connection.execute(first_events.where(differs_from_up)):
        _id, kind, part_id, _address, *before = row
        if span.state.parts.get((kind, part_id)) != tuple(before):
            yield row
    # parts that were unhealthy at the start, but whose first event says that they were up
    for ids in batches(key for (_, key), _ in _parts_of_table(span.state.parts, table)):
        for row in connection.execute(first_events.where(event.c.part_id.in_(ids), ~differs_from_up)):
            if (row.kind, row.part_id) in span.state.parts:
                yield row


def _parts_of_table(parts: Mapping[Part, PartCondition], table: str) -> list[tuple[Part, PartCondition]]:
    return [(part, condition) for part, condition in parts.items() if part[0] in KINDS_BY_TABLE[table]]


def _changed_parts(connection: Connection, span: EventSpan, table: str) -> Iterator[Part]:
    """Yield the parts that were unhealthy at the start and have later events."""
    columns = select(_EVENT.c.kind, _EVENT.c.part_id).distinct()
    for ids in batches(key for (_, key), _ in _parts_of_table(span.state.parts, table)):
        yield from map(tuple, connection.execute(columns.where(span.part_events(table), _EVENT.c.part_id.in_(ids))))


def _finally_unhealthy_parts(connection: Connection, span: EventSpan, table: str) -> dict[Part, PartCondition]:
    """Return the parts that are unhealthy after their last event, with their condition."""
    last_ids = select(func.max(_EVENT.c.id)).where(span.part_events(table)).group_by(_EVENT.c.kind, _EVENT.c.part_id)
    is_unhealthy = or_(*(column.is_distinct_from(value) for column, value in zip(_AFTER, UP, strict=True)))
    query = select(_EVENT.c.kind, _EVENT.c.part_id, *_AFTER).where(_EVENT.c.id.in_(last_ids), is_unhealthy)
    return {(kind, part_id): tuple(condition) for kind, part_id, *condition in connection.execute(query)}
