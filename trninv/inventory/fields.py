"""What a kind of thing is asked for: its fields, the things it leads to, the lists below it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from sqlalchemy import ColumnElement, FromClause, Integer, Select, and_, func, literal_column, select

from trninv.inventory.schema import TABLES

Sql = ColumnElement[Any]


class ValueFormat(Enum):
    """How a raw value is shown."""

    ID = "its kind and number"
    ADDRESS = "an address"
    IDENTIFIER = "text without quotes, backslashes or controls"
    ENUM = "one of the values of an enumeration"
    TEXT = "any text"
    INT = "a 32-bit integer"
    BIGINT = "an integer as text"
    MILLIONTHS = "an integer over 10⁶"
    THOUSANDTHS = "an integer over 10³"
    BOOLEAN = "a truth value"
    CAPACITY = "bytes"
    BANDWIDTH = "bytes per second, one direction"


DIVISORS: Final[Mapping[ValueFormat, int]] = {ValueFormat.MILLIONTHS: 10**6, ValueFormat.THOUSANDTHS: 10**3}


@dataclass(frozen=True, slots=True)
class Enumeration:
    """The values that a field may take, as the database stores them.

    Attributes
    ----------
    meanings
        What each value means, in their order; called once, when the GraphQL schema is made.

    """

    name: str
    description: str
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
    format: ValueFormat
    sql: Sql
    description: str
    nullable: bool = False
    fact: tuple[Sql, str] | None = None
    choices: Callable[[], tuple[str, ...]] | None = None
    enumeration: Enumeration | None = None
    is_filterable: bool = True
    search: Sql | None = None

    @property
    def filter_expression(self) -> Sql:
        """What lists are filtered and ordered by."""
        return self.sql if self.search is None else self.search


@dataclass(frozen=True, slots=True)
class Relation:
    """Another thing that a thing leads to.

    Attributes
    ----------
    kinds
        Of which it may be.
    key
        Its id; where its table is among the thing's own joins, it is that row.

    """

    name: str
    things: tuple[str, ...]
    key: Sql
    description: str
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class RelatedList:
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
    thing: str
    foreign_columns: tuple[Sql, ...]
    key: Sql
    description: str
    paged: bool = True
    exclude: Sql | None = None
    by_containment: bool = False


@dataclass(frozen=True, slots=True)
class Thing:
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
    description: str
    table: FromClause
    joins: Mapping[FromClause, tuple[Sql, bool]]
    fields: tuple[Field, ...]
    relations: tuple[Relation, ...] = ()
    lists: tuple[RelatedList, ...] = ()
    id_block: str = ""
    containers: Mapping[str, Sql] = field(default_factory=dict)
    groups: Mapping[str, Sql] = field(default_factory=dict)
    sums: Mapping[str, Sql] = field(default_factory=dict)

    @property
    def key(self) -> Sql:
        """The column of its id."""
        return self.table.c.id

    @property
    def members(self) -> tuple[Field | Relation | RelatedList, ...]:
        """Everything that may be asked of it."""
        return (*self.fields, *self.relations, *self.lists)

    @property
    def is_node(self) -> bool:
        """Whether it has an id that GraphQL gives out."""
        return any(field_.format is ValueFormat.ID for field_ in self.fields)

    @property
    def is_located(self) -> bool:
        """Whether it has an address."""
        return any(field_.format is ValueFormat.ADDRESS for field_ in self.fields)


def is_in_cluster(thing: Thing, key: Sql, cluster: Sql) -> Sql:
    """That an id is in a cluster's block of ids (docs/decisions/ids-in-blocks.md)."""
    first, end = id_block_range(thing, cluster)
    return and_(key >= first, key < end)


def id_block_range(thing: Thing, cluster: Sql) -> tuple[Sql, Sql]:
    """The first id of a cluster's block, and the first one after it."""
    own, after = TABLES["cluster"].alias("own_block"), TABLES["cluster"].alias("block_after")
    first = select(own.c[thing.id_block]).where(own.c.id == cluster).correlate_except(own).scalar_subquery()
    end = select(func.min(after.c[thing.id_block])).where(after.c[thing.id_block] > first).correlate_except(after)
    return first, func.coalesce(end.scalar_subquery(), literal_column(str(2**31), Integer))


def select_thing(thing: Thing) -> Select[Any]:
    """Every row of a kind: its fields and, named NAME_key, what leads to other things, in raw values."""
    source = thing.table
    for table, (condition, outer) in thing.joins.items():
        source = source.join(table, condition, isouter=outer)
    relation_keys = [
        member.key.label(f"{member.name}_key") for member in thing.members if not isinstance(member, Field)
    ]
    subjects = [member.fact[0].label(f"{member.name}_subject") for member in thing.fields if member.fact]
    fields = [member.sql.label(member.name) for member in thing.fields if member.format is not ValueFormat.ID]
    return select(thing.key.label("id"), *fields, *relation_keys, *subjects).select_from(source)
