"""Join tables in a fixed order, whatever the planner's statistics say."""

from typing import Any

from sqlalchemy import Join
from sqlalchemy.ext.compiler import compiles


class OrderedJoin(Join):
    """An inner join with a table that SQLite reads from left to right; other databases choose the order themselves.

    After ANALYZE, SQLite may choose another order, and then compares every row of a domain with every row of its
    blueprint.
    """

    inherit_cache = True


@compiles(OrderedJoin, "sqlite")
def _cross(join: OrderedJoin, compiler: Any, **how: Any) -> str:
    # the right side is a table, so the last JOIN is this one
    left, _, right = compiler.visit_join(join, **how).rpartition(" JOIN ")
    return f"{left} CROSS JOIN {right}"
