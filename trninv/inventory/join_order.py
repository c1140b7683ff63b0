"""Joins whose order SQLite keeps, whatever its statistics say: https://www.sqlite.org/optoverview.html, CROSS JOIN."""

from typing import Any

from sqlalchemy import Join
from sqlalchemy.ext.compiler import compiles


class OrderedJoin(Join):
    """An inner join with a table, which SQLite reads from the left to the right; others choose the order themselves.

    After ANALYZE, SQLite may read the tables of a cluster in another order, and compare each row of a domain with each
    that its blueprint has.
    """

    inherit_cache = True


@compiles(OrderedJoin, "sqlite")
def _cross(join: OrderedJoin, compiler: Any, **how: Any) -> str:
    left, _, right = compiler.visit_join(join, **how).rpartition(" JOIN ")  # no other is to the right of a table
    return f"{left} CROSS JOIN {right}"
