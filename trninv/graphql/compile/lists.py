"""The JSON of connections: each member by a query of its own over the same rows, so that only what is asked costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphql import GraphQLField
from sqlalchemy import BigInteger, Integer, Select, Text, bindparam, case, cast, exists, func, literal_column, select

from trninv.graphql.arguments import Asked, Page
from trninv.graphql.compile.builder import Below, Bound, Builder, Thing
from trninv.graphql.compile.scope import Scope, or_null
from trninv.graphql.compile.selections import Nodes
from trninv.graphql.conditions import Binder, conditions, cursor, directed, sort_keys
from trninv.graphql.rows import check_groups
from trninv.graphql.text import NULL
from trninv.inventory.enumerations import GROUPS
from trninv.inventory.fields import Form, Kind, Sql
from trninv.inventory.template import Template

_ONE = literal_column("1", Integer)


def connection(builder: Builder, thing: Thing, kind: Kind, definition: GraphQLField, nodes: Nodes, below: Below) -> Sql:
    """A page of a kind as JSON: only what is asked of it is counted or read."""
    prefix = builder.prefix()

    def bind(given: Mapping[str, Any]) -> Bound:
        asked = Asked.of(kind, given)
        bound = {f"{prefix}{at}": value for at, value in enumerate((*asked.tests, *asked.ends))}
        room = 0 if builder.dialect == "sqlite" else 1 << max(asked.size - 1, 0).bit_length()
        return (asked.looks, room), {**bound, f"{prefix}size": asked.size}

    look = builder.call(definition, nodes, bind)
    assert isinstance(look, tuple)
    looks, room = look
    return _List(builder, thing, kind, looks, room, prefix, below).json(nodes)


@dataclass(frozen=True, slots=True)
class _List:
    """A list; ``room`` is the next power of two from its size on, or 0 where nobody wants to know."""

    builder: Builder
    thing: Thing
    kind: Kind
    looks: Page
    room: int
    prefix: str
    below: Below

    def json(self, nodes: Nodes) -> Sql:
        runtime = self.builder.selections.type(f"{self.kind.type}Connection")
        scope, writer = self._scope(), self.builder.writer
        items: dict[int, Sql] = {}
        for named in self.builder.selections.of(runtime, nodes).values():
            if named[0].name.value == "nodes":
                items[id(named[0])] = self.thing(self.kind, scope, named)
            elif named[0].name.value == "edges":
                items[id(named[0])] = self._edge(scope, named)
        listed = {key: sql.label(f"j{at}") for at, (key, sql) in enumerate(items.items())}
        page = self._page(scope, list(listed.values())).subquery(f"l{next(self.builder.names)}") if listed else None

        def member(name: str, named: Nodes) -> Sql:
            if page is not None and id(named[0]) in listed:
                return Template(["[", writer.collect(page.c[listed[id(named[0])].name]), "]"])
            match name:
                case "pageInfo":
                    return self._page_info(named)
                case "totalCount":
                    return self._count()
            return self._aggregates(runtime.fields[name], named)

        made = select(self.builder.fields(runtime, nodes, member))
        return (made if page is None else made.select_from(page)).scalar_subquery()

    def _scope(self) -> Scope:
        return Scope(self.kind, self.builder.names)

    def _where(self, scope: Scope, looks: Page) -> list[Sql]:
        return [
            *self.below(scope),
            *conditions(self.kind, looks, scope.adapt, self.builder.writer, Binder(self.prefix)),
        ]

    def _keys(self, scope: Scope) -> list[tuple[Sql, bool]]:
        return sort_keys(self.kind, self.looks, scope.adapt, self.builder.writer)

    def _size(self) -> Sql:
        return bindparam(f"{self.prefix}size", type_=Integer)

    def _page(self, scope: Scope, columns: list[Any]) -> Select[Any]:
        """Rows of the page in their order."""
        keys, descends = zip(*self._keys(scope), strict=True)
        sorts = [key.label(f"s{at}") for at, key in enumerate(keys)] if self.looks.backwards else []
        where = self._where(scope, self.looks)
        way = directed(keys, descends, backwards=self.looks.backwards)
        query = self._bounded(scope.select(select(*columns, *sorts), where).order_by(*way)).limit(self._size())
        if not self.looks.backwards:
            return query
        inner = query.subquery(f"l{next(self.builder.names)}")
        forth = directed((inner.c[sort.name] for sort in sorts), descends)
        return select(*(inner.c[column.name] for column in columns)).order_by(*forth).limit(self._size())

    def _bounded(self, query: Select[Any], more: int = 0) -> Select[Any]:
        """The same with a limit that PostgreSQL sees when it plans.

        A bound limit is guessed to be a tenth of the table: it is planned anew at each execution, in milliseconds.
        """
        if not self.room:
            return query
        room = literal_column(str(self.room + more), Integer)
        return select(query.limit(room).subquery(f"l{next(self.builder.names)}"))

    def _cursor(self, scope: Scope) -> Sql:
        return cursor(self.kind, self.looks, scope.adapt, self.builder.writer)

    def _edge(self, scope: Scope, nodes: Nodes) -> Sql:
        def member(name: str, named: Nodes) -> Sql:
            if name == "node":
                return self.thing(self.kind, scope, named)
            return self.builder.writer.quote(self._cursor(scope))

        return self.builder.fields(self.builder.selections.type(f"{self.kind.type}Edge"), nodes, member)

    def _page_info(self, nodes: Nodes) -> Sql:
        looks, writer = self.looks, self.builder.writer

        def member(name: str, _: Nodes) -> Sql:
            if name in ("startCursor", "endCursor"):
                return self._end(last=name == "endCursor")
            if (name == "hasNextPage") == looks.backwards:  # the way back: told by the cursor that it was cut at
                return Template(["true" if (looks.before if looks.backwards else looks.after) else "false"])
            scope = self._scope()
            where = self._where(scope, looks)
            beyond = self._bounded(scope.select(select(_ONE.label("one")), where), 1).limit(_ONE).offset(self._size())
            return writer.value(Form.YES, exists(beyond))

        return self.builder.fields(self.builder.selections.type("PageInfo"), nodes, member)

    def _end(self, *, last: bool) -> Sql:
        """Cursor of the page's first or last row."""
        scope = self._scope()
        keys, descends = zip(*self._keys(scope), strict=True)
        named = [key.label(f"k{at}") for at, key in enumerate(keys)]
        page = self._page(scope, [self._cursor(scope).label("cursor"), *named]).subquery(f"l{next(self.builder.names)}")
        way = directed((page.c[key.name] for key in named), descends, backwards=last)
        return or_null(select(self.builder.writer.quote(page.c.cursor)).order_by(*way).limit(_ONE))

    def _count(self) -> Sql:
        scope = self._scope()
        where = self._where(scope, Page(self.looks.filter))
        return scope.select(select(cast(func.count(), Text)), where).scalar_subquery()

    def _aggregates(self, definition: GraphQLField, nodes: Nodes) -> Sql:
        def bind(given: Mapping[str, Any]) -> Bound:
            return check_groups(self.kind, (each.value for each in given.get("by") or ())), {}

        groups = self.builder.call(definition, nodes, bind)
        assert isinstance(groups, tuple)
        scope, runtime = self._scope(), self.builder.selections.type("Aggregate")
        sums = {name: scope.adapt(total) for name, total in self.kind.sums.items()}
        by = {name: scope.adapt(self.kind.groups[name]) for name in groups}

        def member(name: str, named: Nodes) -> Sql:
            if name == "teraflops":
                return self._teraflops(runtime.fields[name], named, sums)
            return self._aggregate(name, named, sums, by)

        made = self.builder.fields(runtime, nodes, member)
        query = scope.select(select(made.label("j")), self._where(scope, Page(self.looks.filter)))
        if not by:
            return self.builder.listed(query.add_columns(func.count()))  # one row, whatever else is asked
        ways = [self.builder.writer.ordered(each) for each in by.values()]
        return self.builder.listed(query.group_by(*by.values()).order_by(*ways))

    def _teraflops(self, definition: GraphQLField, nodes: Nodes, sums: Mapping[str, Sql]) -> Sql:
        wanted = str(self.builder.call(definition, nodes, lambda given: (given["type"].value, {})))
        if wanted not in sums:
            return NULL
        total = func.sum(sums[wanted])
        return case((total.is_(None), NULL), else_=self.builder.writer.decimal(total, 1000))

    def _aggregate(self, name: str, nodes: Nodes, sums: Mapping[str, Sql], by: Mapping[str, Sql]) -> Sql:
        if name == "count":
            return cast(func.count(), Text)
        if name in by:
            return self.builder.writer.value(Form.ENUM if name in GROUPS else Form.TEXT, by[name], null=True)
        if name not in sums:
            return NULL
        form, total = Form.CAPACITY if name == "memory" else Form.BANDWIDTH, cast(func.sum(sums[name]), BigInteger)
        return case((total.is_(None), NULL), else_=self.builder.quantity(form, total, nodes))
