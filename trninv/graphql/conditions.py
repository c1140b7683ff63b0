"""The SQL of a list's arguments: its conditions, its order and its cursors."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from sqlalchemy import BindParameter, and_, bindparam, false, func, not_, or_, select, true, union_all

from trninv.graphql.arguments import ALL, TEXTS, Page, Shape, field_of, signature
from trninv.graphql.text import Writer
from trninv.history.events import HOLDING, of_place
from trninv.inventory.address import nodes_at
from trninv.inventory.fields import Field, Form, Kind, Sql, in_cluster
from trninv.inventory.happened import EVENT
from trninv.inventory.schema import TABLES
from trninv.inventory.template import Template

Adapt = Callable[[Sql], Sql]

_COLLATED = (*TEXTS, Form.ENUM)

_COMPARE: Final[Mapping[str, Callable[[Sql, Sql], Sql]]] = {
    "eq": lambda one, other: one == other,
    "ne": lambda one, other: one != other,
    "lt": lambda one, other: one < other,
    "lte": lambda one, other: one <= other,
    "gt": lambda one, other: one > other,
    "gte": lambda one, other: one >= other,
    "contains": lambda one, other: func.replace(one, other, "") != one,
    "startsWith": lambda one, other: func.substr(one, 1, func.length(other)) == other,
}


class Binder:
    """Hands out the parameters of a list: its name and 0, 1, …"""

    def __init__(self, name: str = "p") -> None:
        self._name, self._next = name, count()

    def take(self, like: Sql) -> BindParameter[Any]:
        """The next parameter, of the type of an expression."""
        return bindparam(f"{self._name}{next(self._next)}", type_=like.type)


def conditions(kind: Kind, looks: Page, adapt: Adapt, writer: Writer, binder: Binder) -> list[Sql]:
    """What must hold of a list's rows, by parameters in the order of the values."""
    build = _Conditions(kind, adapt, writer, binder)
    made = [build.of(looks.filter)] if looks.filter != ALL else []
    for given, after in ((looks.after, True), (looks.before, False)):
        if given:
            made.append(build.beyond(looks, after=after))
    return made


@dataclass(frozen=True, slots=True)
class _Conditions:
    kind: Kind
    adapt: Adapt
    writer: Writer
    binder: Binder

    def of(self, shape: Shape) -> Sql:
        match shape:
            case ("and", *parts):
                return and_(true(), *map(self.of, parts))
            case ("or", *parts):
                return or_(false(), *map(self.of, parts))
            case ("not", part):
                return not_(func.coalesce(self.of(part), false()))
            case ("within", level, number):
                return self._within(level, number)
            case ("between" | "of" as test, *levels):
                return self._between(*levels) if test == "between" else self._of(*levels)
        return self._test(*shape)

    def _test(self, test: str, name: str, number: int = 1) -> Sql:
        field = field_of(self.kind, name)
        column = self.adapt(field.searched)
        match test:
            case "null":
                return column.is_(None)
            case "not null":
                return column.is_not(None)
            case "in":
                return self._in(column, number)
        return _COMPARE[test](_comparable(field, self.adapt, self.writer), self.binder.take(column))

    def _within(self, level: str, number: int) -> Sql:
        key = self.adapt(self.kind.key)
        if level == "cluster":
            return or_(false(), *(in_cluster(self.kind, key, self.binder.take(key)) for _ in range(number)))
        return self._in(self.adapt(self.kind.within[level]), number)

    def _in(self, column: Sql, number: int) -> Sql:
        return column.in_([self.binder.take(column) for _ in range(number)]) if number else false()

    def _between(self, *levels: str) -> Sql:
        """Links with one end at the one place and the other end at the other, in either direction."""
        node, link = TABLES["node"], TABLES["link"].alias("joining")
        at = [select(node.c.id).where(nodes_at(level, self.binder.take(self.kind.key))) for level in levels]
        ways = (select(link.c.id).where(link.c.a_id.in_(a), link.c.b_id.in_(b)) for a, b in (at, reversed(at)))
        return self.adapt(self.kind.key).in_(union_all(*ways))

    def _of(self, level: str) -> Sql:
        first = EVENT.c.id if level == "rack" else EVENT.c.address
        like = iter([first, EVENT.c.id if level in HOLDING else EVENT.c.address])
        return self.adapt(of_place(level, lambda: self.binder.take(next(like))))

    def beyond(self, looks: Page, *, after: bool) -> Sql:
        """That a row comes after, or before, the one of a cursor."""
        keys = sort_keys(self.kind, looks, self.adapt, self.writer)
        bound = [self.binder.take(column) for column, _ in keys]
        ways = []
        for at, (column, descends) in enumerate(keys):
            same = [keys[before][0] == bound[before] for before in range(at)]
            ways.append(and_(*same, column < bound[at] if descends == after else column > bound[at]))
        return or_(*ways)


def sort_keys(kind: Kind, looks: Page, adapt: Adapt, writer: Writer) -> list[tuple[Sql, bool]]:
    """What rows are ordered by, the id last, and whether each descends."""
    named = [(field_of(kind, name), descends) for name, descends in looks.order]
    return [*((_comparable(field, adapt, writer), down) for field, down in named), (adapt(kind.key), False)]


def directed(columns: Iterable[Sql], descends: Iterable[bool], *, backwards: bool = False) -> list[Sql]:
    """An order, or the same from its end."""
    return [
        column.desc() if down != backwards else column.asc() for column, down in zip(columns, descends, strict=True)
    ]


def _comparable(field: Field, adapt: Adapt, writer: Writer) -> Sql:
    column = adapt(field.searched)
    return writer.ordered(column) if field.form in _COLLATED else column


def cursor(kind: Kind, looks: Page, adapt: Adapt, writer: Writer) -> Sql:
    """A row's cursor: its id, or a JSON array of the order's signature, the order's values, and the id."""
    if not looks.order:
        return Template(["", adapt(kind.key)])
    pieces: list[str | Sql] = [f'["{signature(looks.order)}"']
    for name, _ in looks.order:
        field = field_of(kind, name)
        pieces += [",", writer.quote(adapt(field.sql)) if field.form in _COLLATED else adapt(field.sql)]
    return Template([*pieces, ",", adapt(kind.key), "]"])
