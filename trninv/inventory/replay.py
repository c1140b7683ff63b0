"""The tables against the history: what the events of each cluster lead to, from its recorded start, is what there is.

Bindings have no events: their rows are compared with each other, `trninv.inventory.succession`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, or_, select

from trninv.inventory import chip_ids
from trninv.inventory.address import address_of, address_of_node, node_addresses, words
from trninv.inventory.fold import KINDS, Span, breaks, fold, last_actions, spans
from trninv.inventory.holdings import never_held, now_held, unknown_chips
from trninv.inventory.schema import JOB_ACTIONS, TABLES
from trninv.inventory.start import UP, Condition, Part, State, starts

_CLUSTER, _SERVER, _DOMAIN, _NODE, _LINK, _JOB, _CLOSING = (
    TABLES[name] for name in ("cluster", "server", "domain", "node", "link", "job", "closing")
)
SHOWN: Final = 3
_LONGEST: Final = 200


class Fault(NamedTuple):
    """Where the tables are not what the history leads to; without a cluster: where the history itself is at fault."""

    cluster: str
    table: str
    what: str
    detail: str


def replay(connection: Connection) -> Iterator[Fault]:
    """Yield what differs, of every cluster."""
    yield from _starts(connection)
    yield from _unreadable(connection)
    for span in spans(connection):
        must = fold(connection, span)
        for table in KINDS:
            yield from _parts(connection, span, table, must)
            yield from _breaks(connection, span, table)
        yield from _jobs(connection, span, must)
        yield from _closings(connection, span, must)


def uncompared(connection: Connection) -> Iterator[str]:
    """Yield what no event tells, and is therefore not compared."""
    for span in spans(connection):
        before = select(_JOB.c.id).where(_JOB.c.cluster_id == span.cluster_id, _JOB.c.id <= span.state.last_job)
        told = {row.part_id for row in last_actions(connection, span, JOB_ACTIONS)} | span.state.jobs.keys()
        if number := len(set(connection.scalars(before)) - told):
            yield f"{span.slug}: {_counted(number, 'job')} that ended before event {span.start + 1}"
        if number := unknown_chips(connection, span):
            yield f"{span.slug}: chips of {_counted(number, 'job')} that no event tells"


def _starts(connection: Connection) -> Iterator[Fault]:
    """Yield clusters whose start is not the recorded one, and clusters that are gone."""
    known = starts(connection)
    clusters = {row.slug: row for row in connection.execute(select(_CLUSTER).order_by(_CLUSTER.c.id))}
    for slug, row in known.items():
        if row.cause != "unseed" and slug not in clusters:
            yield Fault(slug, "cluster", "missing", f"it is gone, and the history has it since event {row.event}")
    for slug, cluster in clusters.items():
        start = known.get(slug)
        if start is None or start.cause == "unseed" or start.cluster_id != cluster.id:
            yield Fault(slug, "history_start", "missing", "no start of its history is recorded")
        elif start.event != cluster.known_from and not (start.cause == "migrate" and start.event > cluster.known_from):
            says = f"its history is known from event {cluster.known_from}, and its recorded start is {start.event}"
            yield Fault(slug, "cluster", "changed", says)


def _unreadable(connection: Connection) -> Iterator[Fault]:
    """Yield starts whose state is not what trninv writes: nothing of their clusters can be compared."""
    for row in starts(connection).values():
        if row.cause != "unseed" and State.read(row.state) is None:
            yield Fault("", "history_start", "changed", f"the start of {row.cluster} cannot be read")


def _parts(connection: Connection, span: Span, table: str, must: State) -> Iterator[Fault]:
    expected = {part: condition for part, condition in must.parts.items() if part[0] in KINDS[table]}
    actual = _not_up(connection, span, table)
    wrong = sorted(part for part in expected.keys() | actual.keys() if expected.get(part, UP) != actual.get(part, UP))
    if wrong:
        names = _addresses(connection, table, [key for _, key in wrong[:SHOWN]])
        yield _fault(
            span.slug,
            table,
            wrong,
            lambda part: (
                f"{names.get(part[1], '{} {}'.format(*part))} is {_said(actual.get(part, UP))}, "
                f"by its events {_said(expected.get(part, UP))}"
            ),
        )


def _breaks(connection: Connection, span: Span, table: str) -> Iterator[Fault]:
    if found := list(breaks(connection, span, table)):
        yield _fault(
            span.slug,
            "state_event",
            found,
            lambda row: f"event {row.id} says that {row.address} was {row.before}, which no event before it made it",
        )


def _not_up(connection: Connection, span: Span, table: str) -> dict[Part, Condition]:
    of = TABLES[table]
    own = [of.c.own_state, of.c.own_factor_ppm] if table == "node" else []
    other = or_(*(column.is_distinct_from(value) for column, value in zip((of.c.state, of.c.factor_ppm, *own), UP)))  # noqa: B905 # servers and links have two
    kind = [of.c.kind] if table == "node" else []
    query = select(of.c.id, of.c.state, of.c.factor_ppm, *own, *kind).where(of.c.id.between(*span.blocks[table]), other)
    return {
        (row.kind if kind else table, row.id): (row.state, row.factor_ppm, *(row[3:5] if own else (None, None)))
        for row in connection.execute(query)
    }


def _jobs(connection: Connection, span: Span, must: State) -> Iterator[Fault]:
    rows = {row.id: row for row in connection.execute(select(_JOB).where(_JOB.c.cluster_id == span.cluster_id))}
    last = {row.part_id: row for row in last_actions(connection, span, JOB_ACTIONS)}
    names = {key: name for key, (name, _, _) in span.state.jobs.items()} | {key: row.job for key, row in last.items()}
    wrong = [
        says
        for key in sorted(rows.keys() | names.keys())
        if (says := _job(rows.get(key), names.get(key), last.get(key), must.jobs.get(key), span))
    ]
    if wrong:
        yield _fault(span.slug, "job", wrong, str)
    held = now_held(connection, span.cluster_id)
    chips = {
        key: (chip_ids.written(held.get(key, {})), must.jobs[key][2] if key in must.jobs else "")
        for key in held.keys() | must.jobs.keys()
        if key not in must.jobs or must.jobs[key][2]
    }
    if other := sorted(key for key, (has, should) in chips.items() if has != should):
        yield _fault(span.slug, "allocation", other, lambda key: _holds(names.get(key, str(key)), *chips[key]))
    if odd := list(never_held(connection, span, rows.keys())):
        yield _fault(
            span.slug, "allocation", odd, lambda row: f"job {names.get(row[0], row[0])} never held chip {row[1]}"
        )


def _job(row: Any, name: str | None, last: Any, live: tuple[str, str, str] | None, span: Span) -> str | None:
    """Return how a job's row differs from its events; None: it does not."""
    if row is None:
        return f"job {name} is gone"
    if name is None:
        return f"job {row.name} has no event" if row.id > span.state.last_job or row.ended is None else None
    has = "holds chips" if row.ended is None else "has ended"
    checks = {
        f"job {row.name} is {name} in its events": row.name == name,
        f"job {name} {has}, not by its events": (row.ended is None) == (live is not None),
    }
    if live is not None:
        checks[f"job {name} is at {row.place}, by its events at {live[1]}"] = row.place in (live[1], None)
    elif last is not None and last.source != "sql":
        checks[f"job {name} ended at {row.ended}, by its events at {last.at}"] = row.ended == last.at
    return next((says for says, holds in checks.items() if not holds), None)


def _holds(name: str, has: str, should: str) -> str:
    one, other = (f"{chips[:_LONGEST]}{'…' * (len(chips) > _LONGEST)}" or "none" for chips in (has, should))
    return f"job {name} holds chips {one}, by its events {other}"


def _closings(connection: Connection, span: Span, must: State) -> Iterator[Fault]:
    query = select(_CLOSING.c.server_id).where(_CLOSING.c.until.is_(None))
    first, last = span.blocks["server"]
    closed = set(connection.scalars(query.where(_CLOSING.c.server_id.between(first, last))))
    if wrong := sorted(closed ^ must.closed):
        names = _addresses(connection, "server", wrong[:SHOWN])
        yield _fault(
            span.slug,
            "closing",
            wrong,
            lambda key: f"{names.get(key, key)} is {'closed' if key in closed else 'open'}, not by its events",
        )


def _said(condition: Condition) -> str:
    state, factor, own, own_factor = condition
    own_says = f" (its own state: {own}{_to(own_factor)})" if own else ""
    return f"{state}{_to(factor)}{own_says}"


def _to(factor: int | None) -> str:
    return "" if factor is None else f" to {factor / 1_000_000:g}"


def _fault(cluster: str, table: str, wrong: Sequence[Any], says: Callable[[Any], str]) -> Fault:
    more = "; …" if len(wrong) > SHOWN else ""
    detail = "; ".join(map(says, wrong[:SHOWN]))
    return Fault(cluster, table, "changed", f"{_counted(len(wrong), 'row')}: {detail}{more}")


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'s' * (number != 1)}"


def _addresses(connection: Connection, table: str, ids: Iterable[int]) -> dict[int, str]:
    ids = list(ids)
    if table == "node":
        query: Any = node_addresses().where(_NODE.c.id.in_(ids))
    elif table == "server":
        joined = _SERVER.join(_DOMAIN, _DOMAIN.c.id == _SERVER.c.domain_id).join(
            _CLUSTER, _CLUSTER.c.id == _DOMAIN.c.cluster_id
        )
        query = select(_SERVER.c.id, address_of("server")).select_from(joined).where(_SERVER.c.id.in_(ids))
    else:
        address: ColumnElement[str] = words(address_of_node(_LINK.c.a_id), "--", address_of_node(_LINK.c.b_id))
        query = select(_LINK.c.id, address).where(_LINK.c.id.in_(ids))
    return {row[0]: row[1] for row in connection.execute(query)}
