"""The state of a cluster that its events lead to, from its recorded start."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, func, or_, select

from trninv.inventory.schema import JOB_ACTIONS, NODE_KINDS, SERVER_ACTIONS, TABLES
from trninv.inventory.start import UP, Condition, Part, State, starts
from trninv.inventory.unknown import clusters

_EVENT: Final = TABLES["state_event"]
KINDS: Final[Mapping[str, tuple[str, ...]]] = {"server": ("server",), "node": NODE_KINDS, "link": ("link",)}
"""Kinds of parts by the table that they are in."""
_AFTER: Final = tuple(_EVENT.c[name] for name in ("state", "factor_ppm", "own_state", "own_factor_ppm"))
_BEFORE: Final = tuple(
    _EVENT.c[name] for name in ("before", "factor_ppm_before", "own_before", "own_factor_ppm_before")
)
_AT_ONCE: Final = 5_000


@dataclass(frozen=True, slots=True)
class Span:
    """The events of a cluster after its start.

    Attributes
    ----------
    blocks
        First and last id of its rows, by table.
    until
        The last of the events; None: the newest.

    """

    slug: str
    cluster_id: int
    start: int
    blocks: Mapping[str, tuple[int, int]]
    state: State
    until: int | None = None

    def of_parts(self, table: str, event: Any = _EVENT) -> ColumnElement[bool]:
        """Condition for the events of the cluster's parts in a table."""
        first, last = self.blocks[table]
        return and_(event.c.kind.in_(KINDS[table]), event.c.part_id.between(first, last), self._after(event))

    @property
    def of_jobs(self) -> ColumnElement[bool]:
        """Condition for the events of the cluster's jobs and closings."""
        place = _EVENT.c.address
        inside = or_(place == self.slug, and_(place >= f"{self.slug}/", place < f"{self.slug}0"))
        return and_(_EVENT.c.action.is_not(None), inside, self._after(_EVENT))

    def _after(self, event: Any) -> ColumnElement[bool]:
        after: ColumnElement[bool] = event.c.id > self.start
        return after if self.until is None else and_(after, event.c.id <= self.until)


def spans(connection: Connection, until: int | None = None) -> Iterator[Span]:
    """Yield each cluster that has a recorded start which can be read, with its events up to one."""
    known = starts(connection)
    for each in clusters(connection):
        row = known.get(each.slug)
        if row and row.cause != "unseed" and row.cluster_id == each.id and (state := State.read(row.state)):
            blocks = {name: _block(connection, name, first, last) for name, first, last in each.ids if name in KINDS}
            yield Span(each.slug, each.id, row.event, blocks, state, until)


def _block(connection: Connection, table: str, first: int, last: int) -> tuple[int, int]:
    """Return the first and last row that there are: events of ids after them are of a cluster that is gone."""
    of = TABLES[table].c.id
    return first, connection.scalar(select(func.max(of)).where(of.between(first, last))) or first


def fold(connection: Connection, span: Span) -> State:
    """Return the state that the events of a span lead to."""
    parts = dict[Part, Condition]()
    for table in KINDS:
        changed = set(_changed(connection, span, table))
        parts |= {part: was for part, was in _among(span.state.parts, table) if part not in changed}
        parts |= _last(connection, span, table)
    jobs, closed, last_job = dict(span.state.jobs), set(span.state.closed), span.state.last_job
    for row in last_actions(connection, span, JOB_ACTIONS):
        last_job = max(last_job, row.part_id)
        jobs.pop(row.part_id, None)
        if row.chip_ids is not None:
            jobs[row.part_id] = (row.job, row.address, row.chip_ids)
    for row in last_actions(connection, span, SERVER_ACTIONS):
        (closed.add if row.action == "close" else closed.discard)(row.part_id)
    return State(parts, jobs, frozenset(closed), last_job)


def last_actions(connection: Connection, span: Span, actions: Sequence[str]) -> Iterable[Any]:
    """Return the last event of each job, or of each server that was closed or opened."""
    of = _EVENT.c.action.in_(actions)
    last = select(func.max(_EVENT.c.id)).where(span.of_jobs, of).group_by(_EVENT.c.part_id)
    return connection.execute(select(_EVENT).where(_EVENT.c.id.in_(last)).order_by(_EVENT.c.id)).all()


def breaks(connection: Connection, span: Span, table: str) -> Iterator[Any]:
    """Yield events whose part was not before as the event before them, or the start, left it."""
    event, before = _EVENT, _EVENT.alias("previous")
    after = (before.c[column.name] for column in _AFTER)
    differs = or_(*(one.is_distinct_from(other) for one, other in zip(_BEFORE, after, strict=True)))
    columns = select(event.c.id, event.c.kind, event.c.part_id, event.c.address, *_BEFORE)
    joined = columns.join(before, before.c.id == event.c.previous_id)
    yield from connection.execute(joined.where(span.of_parts(table), before.c.id > span.start, differs))
    first = columns.where(span.of_parts(table), func.coalesce(event.c.previous_id, 0) <= span.start)
    wrong = or_(*(column.is_distinct_from(value) for column, value in zip(_BEFORE, UP, strict=True)))
    for row in connection.execute(first.where(wrong)):
        if span.state.parts.get((row.kind, row.part_id)) != tuple(row)[4:]:
            yield row
    for ids in _batches([key for (_, key), _ in _among(span.state.parts, table)]):
        for row in connection.execute(first.where(event.c.part_id.in_(ids), ~wrong)):
            if (row.kind, row.part_id) in span.state.parts:
                yield row


def _among(parts: Mapping[Part, Condition], table: str) -> list[tuple[Part, Condition]]:
    return [(part, condition) for part, condition in parts.items() if part[0] in KINDS[table]]


def _changed(connection: Connection, span: Span, table: str) -> Iterator[Part]:
    """Yield the parts that were not up at the start and have events since."""
    columns = select(_EVENT.c.kind, _EVENT.c.part_id).distinct()
    for ids in _batches([key for (_, key), _ in _among(span.state.parts, table)]):
        yield from map(tuple, connection.execute(columns.where(span.of_parts(table), _EVENT.c.part_id.in_(ids))))


def _last(connection: Connection, span: Span, table: str) -> dict[Part, Condition]:
    """Return the parts that their last event left other than up."""
    last = select(func.max(_EVENT.c.id)).where(span.of_parts(table)).group_by(_EVENT.c.kind, _EVENT.c.part_id)
    other = or_(*(column.is_distinct_from(value) for column, value in zip(_AFTER, UP, strict=True)))
    query = select(_EVENT.c.kind, _EVENT.c.part_id, *_AFTER).where(_EVENT.c.id.in_(last), other)
    return {(row[0], row[1]): tuple(row)[2:] for row in connection.execute(query)}


def _batches(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    return (ids[at : at + _AT_ONCE] for at in range(0, len(ids), _AT_ONCE))
