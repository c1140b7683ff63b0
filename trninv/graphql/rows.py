"""Lists and things read field by field: a statement for all parents of a level, whose rows resolvers then read."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    Connection,
    RowMapping,
    Subquery,
    Text,
    column,
    func,
    literal,
    or_,
    select,
    union_all,
    values,
)

from trninv.errors import FilterError
from trninv.graphql.arguments import Asked, At
from trninv.graphql.conditions import Binder, conditions, cursor, directed, sort_keys
from trninv.graphql.text import Writer
from trninv.history.events import key_of
from trninv.inventory.address import read, resolve, resolve_link
from trninv.inventory.fields import Kind, Many, Sql, in_cluster, rows
from trninv.inventory.happened import inside
from trninv.inventory.kinds import KINDS
from trninv.inventory.named import ends
from trninv.inventory.schema import TABLES

Row = RowMapping
Found = dict[Any, list[Any]]
_NONE = {"count": 0}
"""The sums over nothing."""
Among = Many | tuple[int, ...] | None
"""Of which things a list is: those below parents, those of these ids, or all."""


def by_ids(connection: Connection, kind: Kind, ids: Sequence[int]) -> dict[int, Row]:
    """Things by their ids, in one statement."""
    return {row["id"]: row for row in connection.execute(rows(kind).where(kind.key.in_(ids))).mappings()}


def cluster(connection: Connection, slug: str) -> Row | None:
    """A cluster by its name."""
    kind = KINDS["cluster"]
    return connection.execute(rows(kind).where(kind.table.c.slug == slug)).mappings().first()


def everything(connection: Connection, kind: Kind) -> list[Row]:
    """All things of a kind, of which there are few."""
    return list(connection.execute(rows(kind).order_by(kind.key)).mappings())


def pages(connection: Connection, kind: Kind, among: Among, parents: Sequence[Any], asked: Asked) -> Found:
    """A page below each parent (below nothing: of all), with one row more where there is a next page."""
    inner = _below(connection, kind, among, parents, asked, paged=True)
    descends = [*(down for _, down in asked.looks.order), False]
    keys = [inner.c[f"sort_{at}"] for at in range(len(descends))]
    way = directed(keys, descends, backwards=asked.looks.backwards)
    values = _values(connection, asked, paged=True)
    if not isinstance(among, Many):  # a window over a whole fleet would number it first
        return {0: list(connection.execute(select(inner).order_by(*way).limit(asked.size + 1), values).mappings())}
    numbered = select(inner, func.row_number().over(partition_by=inner.c.parent, order_by=way).label("position"))
    page = numbered.subquery("page")
    query = select(page).where(page.c.position <= asked.size + 1).order_by(page.c.parent, page.c.position)
    return _by_parent(parents, connection.execute(query, values).mappings())


def all_below(connection: Connection, kind: Kind, among: Many, parents: Sequence[Any]) -> Found:
    """What is below each parent, of lists that have no pages."""
    inner = _below(connection, kind, among, parents, Asked.of(kind, {}), paged=False)
    return _by_parent(parents, connection.execute(select(inner).order_by(inner.c.parent, inner.c.id)).mappings())


def counts(connection: Connection, kind: Kind, among: Among, parents: Sequence[Any], asked: Asked) -> dict[Any, int]:
    """How many there are below each parent, on all pages."""
    inner = _below(connection, kind, among, parents, asked, paged=False)
    query = select(inner.c.parent, func.count().label("number")).group_by(inner.c.parent)
    found = connection.execute(query, _values(connection, asked, paged=False))
    return dict.fromkeys(parents, 0) | {row.parent: row.number for row in found}


def sums(
    connection: Connection, kind: Kind, among: Among, parents: Sequence[Any], asked: Asked, by: tuple[str, ...]
) -> Found:
    """Counts and sums below each parent, group by group."""
    inner = _below(connection, kind, among, parents, asked, paged=False)
    groups = [inner.c[f"group_{name}"] for name in by]
    totals = [func.sum(inner.c[f"sum_{name}"]).label(name) for name in kind.sums]
    query = select(inner.c.parent, func.count().label("count"), *groups, *totals).group_by(inner.c.parent, *groups)
    ordered = query.order_by(inner.c.parent, *(Writer(connection.dialect.name).ordered(group) for group in groups))
    found = _by_parent(parents, connection.execute(ordered, _values(connection, asked, paged=False)).mappings())
    return found if by else {key: rows or [_NONE] for key, rows in found.items()}


def check_groups(kind: Kind, by: Iterable[str]) -> tuple[str, ...]:
    """Names that a kind's aggregates may be grouped by.

    Raises
    ------
    FilterError
        It has no such property.

    """
    names = tuple(dict.fromkeys(by))
    if wrong := next((name for name in names if name not in kind.groups), None):
        raise FilterError(f"{kind.name}s have no {wrong} to group by: take {', '.join(kind.groups) or 'nothing'}")
    return names


def values_of(connection: Connection, values: Iterable[Any]) -> list[Any]:
    """The values of a filter with addresses resolved.

    Raises
    ------
    FilterError
        An address of another level than the filter's.

    """
    return [_id(connection, value) if isinstance(value, At) else value for value in values]


def _id(connection: Connection, at: At) -> int | str:
    if at.by_name:
        return "--".join(str(read(connection, end)) for end in ends(at.address))
    if at.may_be_gone:
        return key_of(connection, at.address)
    place = (resolve_link if at.level == "link" else resolve)(connection, at.address)
    if place.level != at.level:
        raise FilterError(f"{place.address} is a {place.level}, not a {at.level}")
    return place.id


def _values(connection: Connection, asked: Asked, *, paged: bool) -> dict[str, Any]:
    values = values_of(connection, (*asked.tests, *(asked.ends if paged else ())))
    return {f"p{at}": value for at, value in enumerate(values)}


def _below(
    connection: Connection, kind: Kind, among: Among, parents: Sequence[Any], asked: Asked, *, paged: bool
) -> Subquery:
    """Rows below each of the parents that pass the filter, with their parent."""
    looks = asked.looks if paged else replace(asked.looks, after=False, before=False)
    writer = Writer(connection.dialect.name)
    ways = []
    for parent, condition in _parents(kind, among, parents):
        query = rows(kind).add_columns(
            parent.label("parent"),
            cursor(kind, looks, _same, writer).label("cursor"),
            *(key.label(f"sort_{at}") for at, (key, _) in enumerate(sort_keys(kind, looks, _same, writer))),
            *(group.label(f"group_{name}") for name, group in kind.groups.items()),
            *(total.label(f"sum_{name}") for name, total in kind.sums.items()),
        )
        ways.append(query.where(*condition, *conditions(kind, looks, _same, writer, Binder())))
    return (union_all(*ways) if ways[1:] else ways[0]).subquery("below")


def _parents(kind: Kind, among: Among, parents: Sequence[Any]) -> list[tuple[Sql, list[Sql]]]:
    """Ways in which rows are below parents: the column with the parent, and the condition."""
    if not isinstance(among, Many):
        return [(literal(0), [] if among is None else [kind.key.in_(among)])]
    if not among.on:
        return [(TABLES["cluster"].c.id, [or_(*(in_cluster(kind, kind.key, literal(key)) for key in parents))])]
    if among.inside:
        places = values(column("address", Text), name="places").data([(parent,) for parent in parents]).cte()
        return [(places.c.address, [inside(among.on[0], places.c.address)])]
    return [(of, [of.in_(parents)]) for of in among.on]


def _by_parent(parents: Sequence[Any], found: Iterable[Row]) -> Found:
    listed = {key: list(group) for key, group in groupby(found, itemgetter("parent"))}
    return {key: listed.get(key, []) for key in parents}


def _same(sql: Sql) -> Sql:
    return sql
