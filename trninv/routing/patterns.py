"""What of a cluster's domains is not up, in local numbers, so that the same damage is solved once.

A damaged domain is a healthy one less its pattern: ids of a domain are consecutive.
"""

from collections.abc import Collection
from typing import Final

from sqlalchemy import Connection, func, select

from trninv.inventory.past import among_lost
from trninv.inventory.schema import TABLES, is_not_up
from trninv.inventory.state import PPM, carried, condition_of

_CHUNK: Final = 1_000
Pattern = tuple[tuple[str, int, int], ...]
"""Node or link, its number from the domain's first on, and the millionths it carries."""


def patterns_of(connection: Connection, cluster_id: int) -> dict[int, Pattern]:
    """The damage of every domain of which something is not up."""
    node, link = TABLES["node"], TABLES["link"]
    ours = node.c.cluster_id + 0 == cluster_id  # not by the cluster's index: the few that are not up come first
    nodes = select(node.c.id, node.c.domain_id, node.c.state, node.c.factor_ppm).where(
        is_not_up(node), among_lost(connection, node), ours
    )
    links = select(link.c.id, link.c.domain_id, link.c.state, link.c.factor_ppm)
    links = links.join(node, node.c.id == link.c.a_id).where(is_not_up(link), among_lost(connection, link), ours)
    found: dict[int, list[tuple[str, int, int]]] = {}
    for table, query in (("node", nodes), ("link", links)):
        rows = [row for row in connection.execute(query) if row.domain_id is not None]
        first = starts(connection, table, {row.domain_id for row in rows})
        for row in rows:
            if (left := carried(PPM, condition_of(row))) < PPM:
                found.setdefault(row.domain_id, []).append((table, row.id - first[row.domain_id], left))
    return {domain: tuple(sorted(listed)) for domain, listed in found.items()}


def starts(connection: Connection, name: str, domains: Collection[int]) -> dict[int, int]:
    """Id of the first node or link of each of some domains."""
    table, wanted = TABLES[name], sorted(domains)
    query = select(table.c.domain_id, func.min(table.c.id)).group_by(table.c.domain_id)
    chunks = (wanted[at : at + _CHUNK] for at in range(0, len(wanted), _CHUNK))
    return {
        domain: first
        for chunk in chunks
        for domain, first in connection.execute(query.where(table.c.domain_id.in_(chunk)))
    }
