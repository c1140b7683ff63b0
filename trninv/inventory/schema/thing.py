"""Define the classes that declare a thing: fields, relations and lists.

A thing is a kind of row that can be queried, such as a chip or an event. `trninv.inventory.schema.things` declares all
of them; GraphQL's schema and its SQL are generated from these declarations.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Self

from sqlalchemy import ColumnElement, Connection, FromClause, Integer, Select, Table, and_, func, literal_column, select

from trninv.database.tables import NODE_KINDS, TABLES
from trninv.enumeration import DescribedEnum

Sql = ColumnElement[Any]


class ValueFormat(Enum):
    """The format of a field's value."""

    ID = "its kind and number"
    ADDRESS = "an address"
    IDENTIFIER = "text without quotes, backslashes or controls"
    ENUM = "one of the values of an enumeration"
    TEXT = "any text"
    PLACE = "the address of a place or link that the thing is about"
    TIME = "a time in UTC, as text"
    KEY = "a number that identifies it, as text"
    INTS = "32-bit integers, stored as text with blanks between them"
    INT = "a 32-bit integer"
    BIGINT = "an integer as text"
    MILLIONTHS = "an integer over 10⁶"
    THOUSANDTHS = "an integer over 10³"
    BOOLEAN = "a truth value"
    CAPACITY = "bytes"
    BANDWIDTH = "bytes per second, one direction"


DIVISORS: Final[Mapping[ValueFormat, int]] = {ValueFormat.MILLIONTHS: 10**6, ValueFormat.THOUSANDTHS: 10**3}
"""The divisors that turn stored integers into values, by format."""


@dataclass(frozen=True, slots=True)
class Enumeration:
    """The values that a field may take, as the database stores them.

    Attributes
    ----------
    meanings
        Returns the meaning of each value, in order; called once, when the GraphQL schema is built.
    choices
        The class of the values if they are computed, not stored.
    """

    name: str
    description: str
    meanings: Callable[[], Mapping[str, str]]
    choices: type[DescribedEnum] | None = None

    @classmethod
    def from_choices(cls, choices: type[DescribedEnum]) -> Self:
        """Return the enumeration of computed values."""
        meanings = {choice.lower(): choice.description for choice in choices}
        return cls(choices.__name__, choices.__doc__ or "", lambda: meanings, choices)

    @property
    def has_hyphens(self) -> bool:
        """Whether a stored value has a hyphen, where GraphQL has an underscore."""
        return any("-" in value for value in self.meanings())


@dataclass(frozen=True, slots=True)
class Field:
    """A value of a thing.

    Attributes
    ----------
    sql
        The expression of the value as the database stores or computes it; `format` says how it is presented.
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
    usual
        The value of nearly all rows; a partial index has the rows with other values.
    lookup
        For an expression that only indexes of other tables can find: a query of all its values except null, as
        ``value``, each with the id of its row, as ``id``.
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
    usual: str | None = None
    lookup: Select[Any] | None = None

    @property
    def filter_expression(self) -> Sql:
        """The expression by which lists are filtered and ordered."""
        return self.sql if self.search is None else self.search


def column_field(
    column: Any, description: str, value_format: ValueFormat | None = None, *, name: str = "", **options: Any
) -> Field:  # column Any: of a table or a subquery
    """Return the field of a column; by default it takes its name and its format from the column.

    It is nullable if the column is. `options` are further arguments of `Field`.
    """
    by_type = {bool: ValueFormat.BOOLEAN, int: ValueFormat.INT, str: ValueFormat.TEXT}
    derived = ValueFormat.ENUM if "enumeration" in options else by_type[column.type.python_type]
    return Field(
        name or column.name, value_format or derived, column, description, nullable=bool(column.nullable), **options
    )


@dataclass(frozen=True, slots=True)
class Relation:
    """A reference from one thing to another.

    Attributes
    ----------
    things
        The names of the kinds of things to which it may lead.
    key
        The id of the related thing; if its table is among the thing's joins, the joined row is used.
    """

    name: str
    things: tuple[str, ...]
    key: Sql
    description: str
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class RelatedList:
    """A list of things of one kind that belong to another thing, such as a server's chips.

    Attributes
    ----------
    thing
        The name of the kind of the listed things.
    foreign_columns
        Columns of the listed things, at least one of which must equal ``key``; empty if ``key`` is the id of their
        cluster.
    key
        The expression of the owning thing that the columns must equal.
    paged
        Whether clients read the list in pages; short lists, such as facts, are read as a whole.
    exclude
        A column of the listed things that must not equal the owning thing's id.
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
class Lifetime:
    """Which rows of a thing are current; lists have the other rows only if the argument `argument` is true.

    Attributes
    ----------
    columns
        Fields that a printed table shows in addition if it includes rows that are not current.
    """

    argument: str
    description: str
    is_current: Sql
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class View:
    """The SQL view of a thing: its fields as columns, whose names end with the unit.

    Attributes
    ----------
    places
        Kinds of containers for which the view has columns with address and ordinal; for the cluster, with its name.
    names
        Column names of fields, without their units; None omits a field.
    further
        Fields that only the view has.
    example
        A query for the reference page.
    """

    name: str
    places: tuple[str, ...] = ()
    names: Mapping[str, str | None] = field(default_factory=dict)
    further: tuple[Field, ...] = ()
    example: str = ""


@dataclass(frozen=True, slots=True)
class Counted:
    """How ``part_count`` counts a thing's rows.

    Attributes
    ----------
    model
        The table to which its column ``model_id`` refers.
    columns, sums
        The thing's columns that are keys of ``part_count``, or that it sums up, each with the name there.
    """

    model: FromClause | None = None
    columns: Mapping[Sql, str] = field(default_factory=dict)
    sums: Mapping[Sql, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """A kind of thing that can be queried.

    Attributes
    ----------
    list_name
        Name of the list of all its rows, a field of GraphQL's Query; empty: only other things lead to them.
    list_description
        Description of that field, where its name is not clear enough.
    joins
        Further tables that its fields may need, in order, each with the condition of the join and whether it is outer.
    id_block
        Column of ``cluster`` with the first id of the cluster's rows of this kind.
    containers
        Id columns of the containers by which lists can be filtered, by kind.
    columns
        The columns of its command's table, such as that of `trninv jobs`; empty: all.
    view
        Its SQL view, unless a file of `trninv.reports.views` has it.
    has_scope
        Whether the argument `scope` can limit lists to a place (`trninv.inventory.address.rows_in`).
    permission
        The scope that a token needs to list it.
    sort_keys
        Further values by which lists can be ordered, which are not shown.
    default_order
        The fields or sort keys of a list's order if a client names none; without any, the id.
    read_rows
        If the thing is computed, not stored: reads its rows in default order, all or those in a place, by its address.
        The table and the expressions of such a thing only name its values.
    groups, sums
        The expressions by which its aggregates can be grouped, and those that they sum, by name.
    counted
        How its rows are counted beside them, if they are.
    """

    name: str
    description: str
    table: FromClause
    joins: Mapping[FromClause, tuple[Sql, bool]] = field(default_factory=dict)
    fields: tuple[Field, ...]
    relations: tuple[Relation, ...] = ()
    lists: tuple[RelatedList, ...] = ()
    list_name: str = ""
    list_description: str = ""
    id_block: str = ""
    containers: Mapping[str, Sql] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    view: View | None = None
    has_scope: bool = False
    permission: str = "read"
    lifetime: Lifetime | None = None
    sort_keys: tuple[Field, ...] = ()
    default_order: tuple[str, ...] = ()
    read_rows: Callable[[Connection, str | None], Sequence[Any]] | None = None
    groups: Mapping[str, Sql] = field(default_factory=dict)
    sums: Mapping[str, Sql] = field(default_factory=dict)
    counted: Counted | None = None

    @property
    def key(self) -> Sql:
        """The id column."""
        return self.table.c.id

    def table_columns(self, *, everything: bool = False) -> tuple[str, ...]:
        """Return the columns of its command's table, with the lifetime's columns if `everything` is set."""
        further = self.lifetime.columns if self.lifetime and everything else ()
        return (*self.columns, *further)

    @property
    def type(self) -> str:
        """The name of its type in GraphQL."""
        return "".join(map(str.capitalize, self.name.split("_")))

    @property
    def title(self) -> str:
        """Its name in a text."""
        return self.name.replace("_", " ")

    @property
    def members(self) -> tuple[Field | Relation | RelatedList, ...]:
        """All fields, relations and lists."""
        return (*self.fields, *self.relations, *self.lists)

    @property
    def is_node(self) -> bool:
        """Whether its GraphQL type has an opaque id and the interface Node."""
        return any(field_.format is ValueFormat.ID for field_ in self.fields)

    @property
    def is_located(self) -> bool:
        """Whether the thing has an address."""
        return any(field_.format is ValueFormat.ADDRESS for field_ in self.fields)


def join_by_keys(table: Table, *names: str) -> dict[FromClause, tuple[Sql, bool]]:
    """Return the joins of a thing's table with further tables, by foreign keys.

    Each table is joined by the foreign key of the last table before it that has one. ``node`` has no foreign key: it
    shares the ids of chips, switches, NICs and network nodes. A join is an outer join if its key may be null or the
    table with the key is outer joined itself.
    """
    joined = {table: False}
    joins = dict[FromClause, tuple[Sql, bool]]()
    for name in names:
        target = TABLES[name]
        sources = [
            other for other in joined if f"{name}_id" in other.c or (name == "node" and other.name in NODE_KINDS)
        ]
        key = sources[-1].c["id" if name == "node" else f"{name}_id"]
        joined[target] = bool(key.nullable) or joined[sources[-1]]
        joins[target] = target.c.id == key, joined[target]
    return joins


def is_in_cluster(thing: Thing, key: Sql, cluster: Sql) -> Sql:
    """Return the condition that an id is in a cluster's block of ids (docs/decisions/ids-in-blocks.md)."""
    first, end = id_block_range(thing, cluster)
    return and_(key >= first, key < end)


def id_block_range(thing: Thing, cluster: Sql) -> tuple[Sql, Sql]:
    """Return the first id of a cluster's block and the first id after it; the last block has all higher integers."""
    own, after = TABLES["cluster"].alias("own_block"), TABLES["cluster"].alias("block_after")
    first = select(own.c[thing.id_block]).where(own.c.id == cluster).correlate_except(own).scalar_subquery()
    end = select(func.min(after.c[thing.id_block])).where(after.c[thing.id_block] > first).correlate_except(after)
    return first, func.coalesce(end.scalar_subquery(), literal_column(str(2**31), Integer))


def select_thing(thing: Thing) -> Select[Any]:
    """Select all rows of a thing: raw values of its fields and, as NAME_key, the keys of its relations and lists.

    A field that comes from a fact also has the fact's subject, as NAME_subject.
    """
    source = thing.table
    for table, (condition, outer) in thing.joins.items():
        source = source.join(table, condition, isouter=outer)
    relation_keys = [
        member.key.label(f"{member.name}_key") for member in thing.members if not isinstance(member, Field)
    ]
    subjects = [member.fact[0].label(f"{member.name}_subject") for member in thing.fields if member.fact]
    fields = [member.sql.label(member.name) for member in thing.fields if member.name != "id"]
    return select(thing.key.label("id"), *fields, *relation_keys, *subjects).select_from(source)
