"""Give out ids in blocks, one for each cluster and table."""

from collections.abc import Mapping
from typing import Final

from sqlalchemy import Connection, Table, func, select

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
"""Ids reserved for the domains of a cluster that can grow; in ``node`` and ``link`` those of its fabric follow."""
_FABRIC: Final = {"node": MAX_TIERS * MAX_NODES_PER_TIER, "link": MAX_TIERS * MAX_NODES_PER_TIER}


def next_id(connection: Connection, table: Table) -> int:
    """Return the id after the table's last one. The caller holds the write lock."""
    return int(connection.scalar(select(func.coalesce(func.max(table.c.id), 0))) or 0) + 1


def next_block_start(connection: Connection, block: str, growing: str) -> int:
    """Return the first id of a new cluster's block: after all rows and after the reserve of every cluster that can
    grow.

    It is also after the start of every other block: a block ends where the next one starts, even one without rows.
    """
    first, system = (TABLES["cluster"].c[name] for name in (f"first_{block}_id", "system"))
    last = connection.scalar(select(func.max(first))) or 0
    may_grow = connection.scalar(select(func.max(first)).where(system == growing))
    after_reserved = 0 if may_grow is None else may_grow + BLOCK_CAPACITY[block] + _FABRIC.get(block, 0)
    return max(next_id(connection, TABLES[block]), last + 1, after_reserved)
