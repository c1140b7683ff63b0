"""Define what a thing declares: fields, relations and lists."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from sqlalchemy import ColumnElement, FromClause, Integer, Select, and_, func, literal_column, select

from trninv.database.tables import TABLES

Sql = ColumnElement[Any]


class ValueFormat(Enum):
    """How a raw value is formatted."""

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
        Returns the meaning of each value, in order; called once, when the GraphQL schema is built.
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
        Subject (SQL) and attribute of the fact that the value comes from.
    choices
        Returns all possible values, where they can be listed.
    enumeration
        The values of a field of the format ENUM.
    is_filterable
        Whether lists can be filtered by it and, if it is never null, ordered by it.
    search
        An expression for filtering and ordering lists, where that is faster on a whole table than ``sql``.
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
        """The expression by which lists are filtered and ordered."""
        return self.sql if self.search is None else self.search


@dataclass(frozen=True, slots=True)
class Relation:
    """A thing that a thing refers to.

    Attributes
    ----------
    things
        The names of the things that it may be.
    key
        Its id; if its table is among the thing's joins, the joined row is the related one.
    """

    name: str
    things: tuple[str, ...]
    key: Sql
    description: str
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class RelatedList:
    """A list of the things that belong to a thing, in pages or (facts and the like) as a whole.

    Attributes
    ----------
    foreign_columns
        Columns of the listed things, any of which must equal ``key``; empty if the key is the id of their cluster.
    key
        The expression of the thing that the columns must equal.
    exclude
        A column of the listed things that must not equal the thing's id.
    by_containment
        Whether the columns and ``key`` are addresses; the list then covers the place and all places below it.
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
    """A kind of thing that can be queried.

    Attributes
    ----------
    joins
        Tables that its fields may need beside its own, with their conditions, in order; True for an outer join.
    id_block
        Column of ``cluster`` with the first id of the cluster's rows of this kind.
    containers
        Ids of the containers by which lists can be filtered.
    groups, sums
        What its aggregates can be grouped by, and what they sum.
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
        """The id column."""
        return self.table.c.id

    @property
    def members(self) -> tuple[Field | Relation | RelatedList, ...]:
        """All fields, relations and lists."""
        return (*self.fields, *self.relations, *self.lists)

    @property
    def is_node(self) -> bool:
        """Whether it has an id that GraphQL exposes."""
        return any(field_.format is ValueFormat.ID for field_ in self.fields)

    @property
    def is_located(self) -> bool:
        """Whether it has an address."""
        return any(field_.format is ValueFormat.ADDRESS for field_ in self.fields)


def is_in_cluster(thing: Thing, key: Sql, cluster: Sql) -> Sql:
    """Return the condition that an id is in a cluster's block of ids (docs/decisions/ids-in-blocks.md)."""
    first, end = id_block_range(thing, cluster)
    return and_(key >= first, key < end)


def id_block_range(thing: Thing, cluster: Sql) -> tuple[Sql, Sql]:
    """Return the first id of a cluster's block and the first id after it."""
    own, after = TABLES["cluster"].alias("own_block"), TABLES["cluster"].alias("block_after")
    first = select(own.c[thing.id_block]).where(own.c.id == cluster).correlate_except(own).scalar_subquery()
    end = select(func.min(after.c[thing.id_block])).where(after.c[thing.id_block] > first).correlate_except(after)
    return first, func.coalesce(end.scalar_subquery(), literal_column(str(2**31), Integer))


def select_thing(thing: Thing) -> Select[Any]:
    """Select all rows of a thing: raw values of its fields and, as NAME_key, the keys of its relations and lists."""
    source = thing.table
    for table, (condition, outer) in thing.joins.items():
        source = source.join(table, condition, isouter=outer)
    relation_keys = [
        member.key.label(f"{member.name}_key") for member in thing.members if not isinstance(member, Field)
    ]
    subjects = [member.fact[0].label(f"{member.name}_subject") for member in thing.fields if member.fact]
    fields = [member.sql.label(member.name) for member in thing.fields if member.format is not ValueFormat.ID]
    return select(thing.key.label("id"), *fields, *relation_keys, *subjects).select_from(source)
