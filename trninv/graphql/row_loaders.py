"""Load rows for all parents of a level in one statement."""

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

from trninv.database.tables import TABLES
from trninv.errors import FilterError
from trninv.graphql.json_sql import JsonWriter
from trninv.graphql.list_arguments import AddressTest, ListArguments
from trninv.graphql.list_conditions import ParameterBinder, compile_conditions, cursor_sql, sort_direction, sort_keys
from trninv.history.scope_filter import place_id
from trninv.inventory.address.lookup import parse_or_look_up, resolve_link, resolve_place
from trninv.inventory.address.machine_names import split_link
from trninv.inventory.schema.event_fields import is_at_or_below
from trninv.inventory.schema.thing import RelatedList, Sql, Thing, is_in_cluster, select_thing
from trninv.inventory.schema.things import THINGS

Row = RowMapping
RowsByParent = dict[Any, list[Any]]
_EMPTY_SUMS = {"count": 0}
"""Aggregates of an empty list."""
ParentSelection = RelatedList | tuple[int, ...] | None
"""Selects a list's rows: those related to the parents, those with these ids, or (None) all."""


def load_by_ids(connection: Connection, kind: Thing, ids: Sequence[int]) -> dict[int, Row]:
    """Return rows by id, read in one statement."""
    return {row["id"]: row for row in connection.execute(select_thing(kind).where(kind.key.in_(ids))).mappings()}


def load_cluster(connection: Connection, slug: str) -> Row | None:
    """Return a cluster by name, or None."""
    kind = THINGS["cluster"]
    return connection.execute(select_thing(kind).where(kind.table.c.slug == slug)).mappings().first()


def load_all(connection: Connection, kind: Thing) -> list[Row]:
    """Return all rows of a kind; for kinds with few rows."""
    return list(connection.execute(select_thing(kind).order_by(kind.key)).mappings())


def load_pages(
    connection: Connection, kind: Thing, selection: ParentSelection, parents: Sequence[Any], arguments: ListArguments
) -> RowsByParent:
    """Return a page for each parent (0: the whole list), with one extra row if another page follows."""
    subquery = _select_below(connection, kind, selection, parents, arguments, paged=True)
    descends = [*(down for _, down in arguments.shape.order), False]
    keys = [subquery.c[f"sort_{index}"] for index in range(len(descends))]
    order = sort_direction(keys, descends, backwards=arguments.shape.backwards)
    values = _bind_values(connection, arguments, paged=True)
    if not isinstance(selection, RelatedList):  # a window function would number the whole fleet first
        return {
            0: list(connection.execute(select(subquery).order_by(*order).limit(arguments.size + 1), values).mappings())
        }
    numbered = select(
        subquery, func.row_number().over(partition_by=subquery.c.parent, order_by=order).label("position")
    )
    page = numbered.subquery("page")
    query = select(page).where(page.c.position <= arguments.size + 1).order_by(page.c.parent, page.c.position)
    return _group_by_parent(parents, connection.execute(query, values).mappings())


def load_children(connection: Connection, kind: Thing, selection: RelatedList, parents: Sequence[Any]) -> RowsByParent:
    """Return all rows for each parent; for lists without pages."""
    subquery = _select_below(connection, kind, selection, parents, ListArguments.parse(kind, {}), paged=False)
    return _group_by_parent(
        parents, connection.execute(select(subquery).order_by(subquery.c.parent, subquery.c.id)).mappings()
    )


def load_counts(
    connection: Connection, kind: Thing, selection: ParentSelection, parents: Sequence[Any], arguments: ListArguments
) -> dict[Any, int]:
    """Return the number of rows for each parent, on all pages."""
    subquery = _select_below(connection, kind, selection, parents, arguments, paged=False)
    query = select(subquery.c.parent, func.count().label("number")).group_by(subquery.c.parent)
    count_rows = connection.execute(query, _bind_values(connection, arguments, paged=False))
    return dict.fromkeys(parents, 0) | {row.parent: row.number for row in count_rows}


def load_aggregates(
    connection: Connection,
    kind: Thing,
    selection: ParentSelection,
    parents: Sequence[Any],
    arguments: ListArguments,
    group_names: tuple[str, ...],
) -> RowsByParent:
    """Return counts and sums of each group, for each parent."""
    subquery = _select_below(connection, kind, selection, parents, arguments, paged=False)
    groups = [subquery.c[f"group_{name}"] for name in group_names]
    totals = [func.sum(subquery.c[f"sum_{name}"]).label(name) for name in kind.sums]
    query = select(subquery.c.parent, func.count().label("count"), *groups, *totals).group_by(
        subquery.c.parent, *groups
    )
    ordered = query.order_by(
        subquery.c.parent, *(JsonWriter(connection.dialect.name).collated(group) for group in groups)
    )
    groups_by_parent = _group_by_parent(
        parents, connection.execute(ordered, _bind_values(connection, arguments, paged=False)).mappings()
    )
    return groups_by_parent if group_names else {key: rows or [_EMPTY_SUMS] for key, rows in groups_by_parent.items()}


def check_groups(kind: Thing, group_names: Iterable[str]) -> tuple[str, ...]:
    """Return group names without duplicates, and refuse unknown ones.

    Raises
    ------
    FilterError
        The kind cannot be grouped by a name.

    """
    names = tuple(dict.fromkeys(group_names))
    if wrong_name := next((name for name in names if name not in kind.groups), None):
        raise FilterError(
            f"{kind.name}s cannot be grouped by {wrong_name}; use {', '.join(kind.groups) or 'no groups'}"
        )
    return names


def resolve_values(connection: Connection, values: Iterable[Any]) -> list[Any]:
    """Return a filter's values with addresses resolved to ids.

    Raises
    ------
    FilterError
        An address is of another level than the filter's.

    """
    return [_resolve_id(connection, value) if isinstance(value, AddressTest) else value for value in values]


def _resolve_id(connection: Connection, test: AddressTest) -> int | str:
    if test.by_name:
        return "--".join(str(parse_or_look_up(connection, end)) for end in split_link(test.address))
    if test.may_be_gone:
        return place_id(connection, test.address)
    place = (resolve_link if test.level == "link" else resolve_place)(connection, test.address)
    if place.level != test.level:
        raise FilterError(f"{place.address} is a {place.level}; name a {test.level}")
    return place.id


def _bind_values(connection: Connection, arguments: ListArguments, *, paged: bool) -> dict[str, Any]:
    values = resolve_values(connection, (*arguments.test_values, *(arguments.cursor_values if paged else ())))
    return {f"p{index}": value for index, value in enumerate(values)}


def _select_below(
    connection: Connection,
    kind: Thing,
    selection: ParentSelection,
    parents: Sequence[Any],
    arguments: ListArguments,
    *,
    paged: bool,
) -> Subquery:
    """Select the rows of each parent that pass the filter, with their parent."""
    shape = arguments.shape if paged else replace(arguments.shape, after=False, before=False)
    writer = JsonWriter(connection.dialect.name)
    queries = []
    for parent, condition in _parent_columns(kind, selection, parents):
        query = select_thing(kind).add_columns(
            parent.label("parent"),
            cursor_sql(kind, shape, _identity, writer).label("cursor"),
            *(key.label(f"sort_{index}") for index, (key, _) in enumerate(sort_keys(kind, shape, _identity, writer))),
            *(group.label(f"group_{name}") for name, group in kind.groups.items()),
            *(total.label(f"sum_{name}") for name, total in kind.sums.items()),
        )
        queries.append(query.where(*condition, *compile_conditions(kind, shape, _identity, writer, ParameterBinder())))
    return (union_all(*queries) if queries[1:] else queries[0]).subquery("below")


def _parent_columns(kind: Thing, selection: ParentSelection, parents: Sequence[Any]) -> list[tuple[Sql, list[Sql]]]:
    """Return the column with the parent, and the conditions, for each way in which rows belong to parents."""
    if not isinstance(selection, RelatedList):
        return [(literal(0), [] if selection is None else [kind.key.in_(selection)])]
    if not selection.foreign_columns:
        return [(TABLES["cluster"].c.id, [or_(*(is_in_cluster(kind, kind.key, literal(key)) for key in parents))])]
    if selection.by_containment:
        places = values(column("address", Text), name="places").data([(parent,) for parent in parents]).cte()
        return [(places.c.address, [is_at_or_below(selection.foreign_columns[0], places.c.address)])]
    return [(parent_column, [parent_column.in_(parents)]) for parent_column in selection.foreign_columns]


def _group_by_parent(parents: Sequence[Any], sorted_rows: Iterable[Row]) -> RowsByParent:
    rows_by_parent = {key: list(group) for key, group in groupby(sorted_rows, itemgetter("parent"))}
    return {key: rows_by_parent.get(key, []) for key in parents}


def _identity(sql: Sql) -> Sql:
    return sql
