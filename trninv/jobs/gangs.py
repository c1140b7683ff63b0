"""Whole domains for one job: under the least tier of the EFA fabric that has enough, on the fewest nodes of tier 3."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from trninv.catalog.facts import catalog
from trninv.jobs.stock import Stock
from trninv.solvers.blocks import words
from trninv.topology.clos import TIERS


@dataclass(frozen=True, slots=True)
class Gang:
    """Rows of a stock, and the least tier of the fabric that they have in common."""

    rows: tuple[int, ...]
    tier: int


def free_domains(stock: Stock, *, healthy: bool = False) -> list[int]:
    """Rows of the domains that are free as a whole, with every link."""
    full = words([stock.model.full], stock.model.chips)[0]
    rows: Sequence[int] = np.flatnonzero((stock.free == full).all(axis=1)).tolist()
    lost = stock.lost
    return [row for row in rows if row not in lost or not (lost[row].broken or (healthy and lost[row].worn))]


def gang(stock: Stock, domains: int, *, healthy: bool = False) -> Gang | None:
    """Place a job of so many whole domains; None where there are not enough.

    The nodes of tier 3 with most free domains are taken, the last one being that with the fewest that suffice; of
    several nodes of a tier above, one that needs the fewest nodes of tier 3, then that with the fewest free domains.
    """
    each, beside = (catalog().value(stock.model.slug, f"{what}_per_network_node") for what in ("domains", "nodes"))
    leaves: dict[int, list[int]] = {}
    for row in free_domains(stock, healthy=healthy):
        leaves.setdefault(int(stock.ordinals[row]) // each, []).append(row)
    for tier in range(TIERS, 0, -1):
        above: dict[int, list[list[int]]] = {}
        for leaf, rows in leaves.items():
            above.setdefault({3: leaf, 2: leaf // beside, 1: 0}[tier], []).append(rows)
        if found := _least(above.values(), domains):
            return Gang(found, tier)
    return None


def _least(nodes: Iterable[Sequence[Sequence[int]]], domains: int) -> tuple[int, ...] | None:
    """Of nodes with their nodes of tier 3, the rows of the best."""
    enough = [leaves for leaves in nodes if sum(map(len, leaves)) >= domains]
    taken = [(_taken(leaves, domains), sum(map(len, leaves))) for leaves in enough]
    if not taken:
        return None
    best, _ = min(taken, key=lambda each: (len(each[0]), each[1], each[0]))
    rows = [row for leaf in best for row in leaf]
    return tuple(sorted(rows[:domains]))


def _taken(leaves: Sequence[Sequence[int]], domains: int) -> list[Sequence[int]]:
    """The fewest nodes of tier 3 that have so many: the fullest ones, and last the least that suffices."""
    found: list[Sequence[int]] = []
    rest, left = sorted(leaves, key=lambda rows: (-len(rows), rows[0])), domains
    while left > len(rest[0]):
        left -= len(rest[0])
        found.append(rest.pop(0))
    last = min((rows for rows in rest if len(rows) >= left), key=lambda rows: (len(rows), rows[0]))
    return [*found, last]
