"""Reserve ids for new clusters: in each table, the rows of a cluster have one block of consecutive ids.

An adopted cluster can grow by domains, so its blocks have room for more rows than it has now.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, Select, Table, func, select

from trninv.database.tables import TABLES
from trninv.topology.fabric_tree import MAX_NODES_PER_TIER, MAX_TIERS

BLOCK_TABLES = ("domain", "rack", "server", "tray", "node", "core", "link")
"""Tables whose ids come in blocks; chips, switches, NICs and network nodes share the id of their node."""
BLOCK_CAPACITY: Final[Mapping[str, int]] = {
    "domain": 100_000,
    "rack": 100_000,
    "server": 100_000,
    "tray": 1_000_000,
    "node": 5_000_000,
    "core": 15_000_000,
    "link": 20_000_000,
}
"""The number of ids reserved for the domains of a cluster that can grow; ids for its fabric follow in node and link."""
_FABRIC_CAPACITY: Final = {"node": MAX_TIERS * MAX_NODES_PER_TIER, "link": MAX_TIERS * MAX_NODES_PER_TIER}


def next_id(connection: Connection, table: Table) -> int:
    """Return the id after the table's last one. The caller holds the write lock."""
    return int(connection.scalar(_last_id(table)) or 0) + 1


@cache  # building the query takes longer than running it
def _last_id(table: Table) -> Select[Any]:
    return select(func.coalesce(func.max(table.c.id), 0))


def next_block_start(connection: Connection, block: str, growing_system: str) -> int:
    """Return the first id of a new cluster's block in the table `block`.

    The id is greater than the ids of all rows, and than the ids reserved for clusters that can grow, which have the
    system `growing_system`. It is also greater than the start of every other block, even of a block without rows,
    because a block ends where the next one starts.
    """
    first, system = (TABLES["cluster"].c[name] for name in (f"first_{block}_id", "system"))
    last = connection.scalar(select(func.max(first))) or 0
    may_grow = connection.scalar(select(func.max(first)).where(system == growing_system))
    after_reserved = 0 if may_grow is None else may_grow + BLOCK_CAPACITY[block] + _FABRIC_CAPACITY.get(block, 0)
    return max(next_id(connection, TABLES[block]), last + 1, after_reserved)
