"""Compile counts and sums of a kind's rows from ``part_count``, which has a few rows instead of millions.

`CountedRows` replaces `TableAliases` where a list's conditions, groups and sums depend only on the cluster, the model,
the scope and the state of the rows.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sqlalchemy import FromClause, Select, and_, func, literal_column
from sqlalchemy.sql.visitors import replacement_traverse

from trninv.database.tables import TABLES
from trninv.graphql.list_conditions import RowSource
from trninv.inventory.schema.thing import Counted, Field, Sql, Thing

_COUNTS, _CLUSTER = TABLES["part_count"], TABLES["cluster"]


class NotCountedError(Exception):
    """An expression uses a column by which parts are not counted."""


class CountedRows(RowSource):
    """The rows of ``part_count`` for one use of a kind in a statement.

    Raises
    ------
    NotCountedError
        Rows of this kind are not counted, or, from the methods, an expression depends on other columns.
    """

    def __init__(self, kind: Thing, numbers: Iterator[int]) -> None:
        super().__init__(kind)
        if kind.counted is None:
            raise NotCountedError
        self._counted: Counted = kind.counted
        self._prefix = f"t{next(numbers)}"
        self._counts = _COUNTS.alias(f"{self._prefix}_counts")
        self._joins: dict[FromClause, tuple[FromClause, Sql]] = {}

    def adapt(self, sql: Sql) -> Sql:
        """Rewrite an expression to use ``part_count`` and the tables of models and clusters."""

        def replace(element: Any, **_: Any) -> Any:
            if element in self._counted.columns:
                return self._counts.c[self._counted.columns[element]]
            table = getattr(element, "table", None)
            if table is self.kind.table:
                raise NotCountedError
            return self._join(table).c[element.key] if table is not None and table in self.kind.joins else None

        return replacement_traverse(sql, {}, replace)

    def _join(self, table: FromClause) -> FromClause:
        if table not in self._joins:
            alias = table.alias(f"{self._prefix}_{len(self._joins)}")
            if table is self._counted.model:
                condition: Sql = alias.c.id == self._counts.c.model_id
            elif table is _CLUSTER:
                condition = alias.c.id == self._counts.c.cluster_id
            else:
                self._joins[table] = alias, literal_column("1")  # while the condition below refers to the table itself
                condition = self.adapt(self.kind.joins[table][0])
                del self._joins[table]  # after the tables that it refers to
            self._joins[table] = alias, condition
        return self._joins[table][0]

    def in_cluster(self, cluster: Sql) -> Sql:
        """Return the condition that rows are in a cluster, by its id."""
        return self._counts.c.cluster_id == cluster

    def is_unusual(self, field: Field, test: Callable[[Sql], Sql]) -> Sql:
        """Return the condition that a field does not have its usual value and meets a test."""
        column = self.adapt(field.sql)
        return and_(column != literal_column(f"'{field.usual}'"), test(column))

    def count(self) -> Sql:
        """Return the number of rows."""
        return func.coalesce(func.sum(self._counts.c.number), literal_column("0"))

    def sum(self, sql: Sql) -> Sql:
        """Return the sum of an expression over all rows."""
        if sql in self._counted.sums:
            return func.sum(self._counts.c[self._counted.sums[sql]])
        return func.sum(self._counts.c.number * self.adapt(sql))

    def select(self, query: Select[Any], where: Sequence[Sql]) -> Select[Any]:
        """Add conditions and the used tables to a query, all of whose expressions must have been adapted before."""
        tables: FromClause = self._counts
        for alias, condition in self._joins.values():
            tables = tables.join(alias, condition)
        is_of_kind = self._counts.c.kind == literal_column(f"'{self.kind.name}'")
        query = query.select_from(tables).where(is_of_kind, self._counts.c.number != literal_column("0"), *where)
        return query.correlate_except(self._counts, *(alias for alias, _ in self._joins.values()))
