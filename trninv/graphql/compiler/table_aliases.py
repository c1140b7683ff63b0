"""Alias the tables of a kind, and join those that a query uses."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import FromClause, Select, func
from sqlalchemy.sql.visitors import replacement_traverse

from trninv.graphql.json_sql import NULL
from trninv.inventory.schema.thing import Sql, Thing


class TableAliases:
    """Aliases of a kind's tables for one use of the kind in a statement."""

    def __init__(self, kind: Thing, numbers: Iterator[int]) -> None:
        self.kind = kind
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

    @property
    def key(self) -> Sql:
        """The id column."""
        return self.adapt(self.kind.key)

    def select(self, query: Select[Any], where: Sequence[Sql]) -> Select[Any]:
        """Complete a query with conditions and the tables that were used; adapt all its expressions first."""
        joins = []
        for table, (condition, outer) in reversed([*self.kind.joins.items()]):
            if table in self._used:
                joins.append((self._aliases[table], self.adapt(condition), outer))
        source = self._aliases[self.kind.table]
        for table, condition, outer in reversed(joins):
            source = source.join(table, condition, isouter=outer)
        return query.select_from(source).where(*where).correlate_except(*self._aliases.values())


def or_null(query: Select[Any]) -> Sql:
    """Return a query's JSON, or JSON null if it has no row."""
    return func.coalesce(query.scalar_subquery(), NULL)
