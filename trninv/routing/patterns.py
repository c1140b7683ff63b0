"""Read each domain's failures in local numbers, so that equal failures are solved once.

The ids of a domain's nodes, and of its links, are consecutive. A local number counts from the first of them, so the
same failure pattern applied to any healthy domain of the model gives the same wiring.
"""

from collections.abc import Collection
from typing import Final

from sqlalchemy import Connection, func, select

from trninv.inventory.past import maybe_unhealthy
from trninv.inventory.schema import TABLES, is_unhealthy
from trninv.inventory.state import PPM, carried_bandwidth, condition_from_row

_CHUNK_SIZE: Final = 1_000
FailurePattern = tuple[tuple[str, int, int], ...]
"""Sorted entries: "node" or "link", its local number, and the millionths of its capacity that it carries."""


def failures_by_domain(connection: Connection, cluster_id: int) -> dict[int, FailurePattern]:
    """Return the failure pattern of each domain that has an unhealthy part, by the domain's id."""
    node, link = TABLES["node"], TABLES["link"]
    in_cluster = (
        node.c.cluster_id + 0 == cluster_id
    )  # + 0 keeps the planner off the cluster's index: few rows are unhealthy
    nodes = select(node.c.id, node.c.domain_id, node.c.state, node.c.factor_ppm).where(
        is_unhealthy(node), maybe_unhealthy(connection, node), in_cluster
    )
    links = select(link.c.id, link.c.domain_id, link.c.state, link.c.factor_ppm)
    links = links.join(node, node.c.id == link.c.a_id).where(
        is_unhealthy(link), maybe_unhealthy(connection, link), in_cluster
    )
    failures: dict[int, list[tuple[str, int, int]]] = {}
    for table, query in (("node", nodes), ("link", links)):
        rows = [row for row in connection.execute(query) if row.domain_id is not None]
        first_id = first_ids(connection, table, {row.domain_id for row in rows})
        for row in rows:
            if (carried_ppm := carried_bandwidth(PPM, condition_from_row(row))) < PPM:
                failures.setdefault(row.domain_id, []).append((table, row.id - first_id[row.domain_id], carried_ppm))
    return {domain: tuple(sorted(entries)) for domain, entries in failures.items()}


def first_ids(connection: Connection, name: str, domains: Collection[int]) -> dict[int, int]:
    """Return the lowest id in a table (``node`` or ``link``) of each of some domains."""
    table, ordered = TABLES[name], sorted(domains)
    query = select(table.c.domain_id, func.min(table.c.id)).group_by(table.c.domain_id)
    chunks = (ordered[offset : offset + _CHUNK_SIZE] for offset in range(0, len(ordered), _CHUNK_SIZE))
    return {
        domain: first_id
        for chunk in chunks
        for domain, first_id in connection.execute(query.where(table.c.domain_id.in_(chunk)))
    }
