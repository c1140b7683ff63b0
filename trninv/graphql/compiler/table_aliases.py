"""Alias the tables of a kind, and join those that a query uses.

A kind (`Thing`) is a declared kind of inventory row, such as chip; its columns may come from several joined tables. A
statement may use a kind several times, for instance for a link's two chips, so each use needs its own aliases.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import FromClause, Select, func
from sqlalchemy.sql.visitors import replacement_traverse

from trninv.graphql.json_sql import NULL
from trninv.graphql.list_conditions import RowSource
from trninv.inventory.schema.thing import Sql, Thing


class TableAliases(RowSource):
    """Aliases of a kind's tables for one use of the kind in a statement."""

    def __init__(self, kind: Thing, numbers: Iterator[int]) -> None:
        super().__init__(kind)
        number = next(numbers)
        self._aliases: dict[Any, FromClause] = {
            table: table.alias(f"t{number}_{index}") for index, table in enumerate((kind.table, *kind.joins))
        }
        self._used: set[FromClause] = set()

    def has(self, table: FromClause) -> bool:
        """Return whether a table is one of the kind's."""
        return table in self._aliases

    def adapt(self, sql: Sql) -> Sql:
        """Rewrite an expression to use these aliases, and mark their tables as used."""

        def replace(element: Any, **_: Any) -> Any:
            table = getattr(element, "table", None)
            if table is None or table not in self._aliases:
                return None
            self._used.add(table)
            return self._aliases[table].c[element.key]

        return replacement_traverse(sql, {}, replace)

    def count(self) -> Sql:
        """Return the number of rows."""
        return func.count()

    def sum(self, sql: Sql) -> Sql:
        """Return the sum of an expression over all rows."""
        return func.sum(self.adapt(sql))

    def select(self, query: Select[Any], where: Sequence[Sql]) -> Select[Any]:
        """Add conditions and the used tables to a query, all of whose expressions must have been adapted before."""
        joins = []
        # from the last, because a join's condition may use, and so mark, an earlier table
        for table, (condition, is_outer) in reversed([*self.kind.joins.items()]):
            if table in self._used:
                joins.append((self._aliases[table], self.adapt(condition), is_outer))
        joined_tables = self._aliases[self.kind.table]
        for alias, condition, is_outer in reversed(joins):
            joined_tables = joined_tables.join(alias, condition, isouter=is_outer)
        return query.select_from(joined_tables).where(*where).correlate_except(*self._aliases.values())


def or_null(query: Select[Any]) -> Sql:
    """Return a query's JSON, or JSON null if it returns no row."""
    return func.coalesce(query.scalar_subquery(), NULL)
