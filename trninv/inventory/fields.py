"""What a kind of thing is asked for: its fields, the things it leads to, the lists below it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from sqlalchemy import ColumnElement, FromClause, Integer, Select, and_, func, literal_column, select

from trninv.inventory.schema import TABLES

Sql = ColumnElement[Any]


class Form(Enum):
    """How a raw value is shown."""

    ID = "its kind and number"
    ADDRESS = "an address"
    WORD = "text without quotes, backslashes or controls"
    ENUM = "one of the values of an enumeration"
    TEXT = "any text"
    WHOLE = "a 32-bit integer"
    EXACT = "an integer as text"
    MILLIONTHS = "an integer over 10⁶"
    THOUSANDTHS = "an integer over 10³"
    YES = "a truth value"
    CAPACITY = "bytes"
    BANDWIDTH = "bytes per second, one direction"


DIVISORS: Final[Mapping[Form, int]] = {Form.MILLIONTHS: 10**6, Form.THOUSANDTHS: 10**3}


@dataclass(frozen=True, slots=True)
class Enumeration:
    """The values that a field may take, as the database stores them.

    Attributes
    ----------
    meanings
        What each value means, in their order; called once, when the GraphQL schema is made.

    """

    name: str
    says: str
    meanings: Callable[[], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Field:
    """A value of a thing.

    Attributes
    ----------
    fact
        Subject (SQL) and attribute of the fact that it rests on.
    known
        Every value there is, where they can be told.
    enumeration
        Of the form ENUM: its values.
    listed
        Whether lists are filtered and, if it can't be null, ordered by it.
    search
        What lists are filtered and ordered by, if that is found faster in a whole table than the same in ``sql``.

    """

    name: str
    form: Form
    sql: Sql
    says: str
    null: bool = False
    fact: tuple[Sql, str] | None = None
    known: Callable[[], tuple[str, ...]] | None = None
    enumeration: Enumeration | None = None
    listed: bool = True
    search: Sql | None = None

    @property
    def searched(self) -> Sql:
        """What lists are filtered and ordered by."""
        return self.sql if self.search is None else self.search


@dataclass(frozen=True, slots=True)
class One:
    """Another thing that a thing leads to.

    Attributes
    ----------
    kinds
        Of which it may be.
    key
        Its id; where its table is among the thing's own joins, it is that row.

    """

    name: str
    kinds: tuple[str, ...]
    key: Sql
    says: str
    null: bool = False


@dataclass(frozen=True, slots=True)
class Many:
    """The things below a thing: a page of them, or (of facts and the like) all.

    Attributes
    ----------
    on
        Columns of the others, any of which must equal ``key``; none where the key is the id of their cluster.
    key
        Of the thing.
    but
        A column of the others that must not equal the thing's id.
    inside
        Whether ``on`` and ``key`` are addresses, and the others those of the place and of what it holds.

    """

    name: str
    kind: str
    on: tuple[Sql, ...]
    key: Sql
    says: str
    paged: bool = True
    but: Sql | None = None
    inside: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of thing.

    Attributes
    ----------
    joins
        Tables that its fields may need beside its own, with their conditions, in order; True where there may be none.
    block
        Column of ``cluster`` with the first id of its rows of this kind.
    within
        Ids of what else contains it, that lists filter by.
    groups, sums
        What its aggregates are grouped by, and add up.

    """

    name: str
    type: str
    says: str
    table: FromClause
    joins: Mapping[FromClause, tuple[Sql, bool]]
    fields: tuple[Field, ...]
    ones: tuple[One, ...] = ()
    lists: tuple[Many, ...] = ()
    block: str = ""
    within: Mapping[str, Sql] = field(default_factory=dict)
    groups: Mapping[str, Sql] = field(default_factory=dict)
    sums: Mapping[str, Sql] = field(default_factory=dict)

    @property
    def key(self) -> Sql:
        """The column of its id."""
        return self.table.c.id

    @property
    def members(self) -> tuple[Field | One | Many, ...]:
        """Everything that may be asked of it."""
        return (*self.fields, *self.ones, *self.lists)

    @property
    def is_node(self) -> bool:
        """Whether it has an id that GraphQL gives out."""
        return any(each.form is Form.ID for each in self.fields)

    @property
    def is_located(self) -> bool:
        """Whether it has an address."""
        return any(each.form is Form.ADDRESS for each in self.fields)


def in_cluster(kind: Kind, key: Sql, cluster: Sql) -> Sql:
    """That an id is in a cluster's block of ids (docs/decisions/ids-in-blocks.md)."""
    first, end = block(kind, cluster)
    return and_(key >= first, key < end)


def block(kind: Kind, cluster: Sql) -> tuple[Sql, Sql]:
    """The first id of a cluster's block, and the first one after it."""
    own, after = TABLES["cluster"].alias("own_block"), TABLES["cluster"].alias("block_after")
    first = select(own.c[kind.block]).where(own.c.id == cluster).correlate_except(own).scalar_subquery()
    end = select(func.min(after.c[kind.block])).where(after.c[kind.block] > first).correlate_except(after)
    return first, func.coalesce(end.scalar_subquery(), literal_column(str(2**31), Integer))


def rows(kind: Kind) -> Select[Any]:
    """Every row of a kind: its fields and, named NAME_key, what leads to other things, in raw values."""
    source = kind.table
    for table, (condition, outer) in kind.joins.items():
        source = source.join(table, condition, isouter=outer)
    leads = [each.key.label(f"{each.name}_key") for each in kind.members if not isinstance(each, Field)]
    subjects = [each.fact[0].label(f"{each.name}_subject") for each in kind.fields if each.fact]
    fields = [each.sql.label(each.name) for each in kind.fields if each.form is not Form.ID]
    return select(kind.key.label("id"), *fields, *leads, *subjects).select_from(source)
