"""Whole domains for one job: under the least tier of the EFA fabric that has enough, on the fewest nodes of tier 3.

Or apart: as few as can be below one of those.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from trninv import deadline
from trninv.catalog.facts import catalog
from trninv.jobs.search import reaches
from trninv.jobs.stock import Stock
from trninv.solvers.blocks import words
from trninv.solvers.slices import Limits
from trninv.topology.clos import TIERS


@dataclass(frozen=True, slots=True)
class Gang:
    """Rows of a stock, those with nothing degraded first, and the least tier of the fabric that they have in common."""

    rows: tuple[int, ...]
    tier: int


def free_domains(stock: Stock, *, healthy: bool = False, least: Limits | None = None) -> list[int]:
    """Rows of the domains that are free as a whole, with every link, and have at least some limits."""
    full = words([stock.model.full], stock.model.chips)[0]
    rows: Sequence[int] = np.flatnonzero((stock.free == full).all(axis=1)).tolist()
    found = [row for row in rows if row not in stock.lost or not (stock.lost[row].broken or healthy)]
    return found if least is None else [row for row in found if reaches(limits_of(stock, row), least)]


def limits_of(stock: Stock, row: int) -> Limits:
    """What a whole domain carries as it is."""
    deadline.check()
    return stock.limits_at(row, stock.model.full)


def gangs(
    stock: Stock,
    rows: Sequence[int],
    domains: int,
    copies: int,
    *,
    tier: int = 1,
    rack: bool = False,
    apart: bool = False,
) -> list[Gang]:
    """Several jobs of so many whole domains each, as far as there are enough: as `gang`, one after the other.

    Each is below one node of the tier, so that as many find a place as if these were chosen in any other way.
    """
    found, left = list[Gang](), list(rows)
    while len(found) < copies and (one := gang(stock, domains, rows=left, tier=tier, rack=rack, apart=apart)):
        found.append(one)
        left = sorted(set(left) - set(one.rows))
    return found


def gang(
    stock: Stock,
    domains: int,
    *,
    rows: Sequence[int] | None = None,
    tier: int = 1,
    rack: bool = False,
    apart: bool = False,
) -> Gang | None:
    """Place a job of so many whole domains; None where there are not enough.

    The nodes of tier 3 with most free domains are taken, the last one being that with the fewest that suffice; of
    several nodes of a tier above, one that needs the fewest nodes of tier 3, then that with the fewest free domains.

    Parameters
    ----------
    rows
        Those that may be taken; all that are free as a whole if left out.
    tier
        The least tier that is good enough.
    rack
        Whether all are to be in one rack.
    apart
        Have as few as can be below one node of tier 3, wherever these are below one of the tier.

    """
    each, beside = (catalog().value(stock.model.slug, f"{what}_per_network_node") for what in ("domains", "nodes"))
    leaves: dict[tuple[int, int], list[int]] = {}
    for row in free_domains(stock) if rows is None else rows:
        ordinal = int(stock.ordinals[row])
        leaves.setdefault((ordinal // each, _rack(stock, ordinal) if rack else 0), []).append(row)
    for least in [tier] if apart else range(TIERS, tier - 1, -1):
        above: dict[tuple[int, int], dict[int, list[int]]] = {}
        for (leaf, of), there in leaves.items():
            above.setdefault((_above(leaf, least, beside), of), {})[leaf] = there
        if found := (_apart if apart else _least)([list(leaf.values()) for leaf in above.values()], domains):
            rows = sorted(found, key=lambda row: (*_wear(stock, row), row))[:domains]
            below = {int(stock.ordinals[row]) // each for row in rows}
            common = (of for of in range(TIERS, 0, -1) if len({_above(leaf, of, beside) for leaf in below}) == 1)
            return Gang(tuple(rows), next(common))
    return None


def _wear(stock: Stock, row: int) -> tuple[int, ...]:
    """Least for a domain with nothing degraded, then for one that carries most as it is."""
    if row not in stock.lost:
        return 0, 0, 0
    limits = limits_of(stock, row)
    return 1, -limits.all_gather, -limits.bisection


def _above(leaf: int, tier: int, beside: int) -> int:
    """The node of a tier that is above one of tier 3."""
    return {3: leaf, 2: leaf // beside, 1: 0}[tier]


def _apart(nodes: Iterable[Sequence[Sequence[int]]], domains: int) -> list[int]:
    """Of nodes with their nodes of tier 3: rows of the one of which the fewest are below one of these."""
    best: tuple[int, list[int]] | None = None
    for leaves in nodes:
        most = next((n for n in range(1, domains + 1) if sum(min(n, len(rows)) for rows in leaves) >= domains), None)
        if most and (best is None or most < best[0]):
            order = sorted(leaves, key=lambda rows: (-len(rows), rows[0]))
            best = most, [row for rows in order for row in rows[:most]][:domains]
    return best[1] if best else []


def _rack(stock: Stock, ordinal: int) -> int:
    """The rack of a domain; of one that has several, one of its own."""
    return ordinal // stock.model.of.domains_per_rack


def _least(nodes: Iterable[Sequence[Sequence[int]]], domains: int) -> list[int] | None:
    """Of nodes with their nodes of tier 3, the rows below those of the best that are taken; a few may be too many."""
    enough = [leaves for leaves in nodes if sum(map(len, leaves)) >= domains]
    taken = [(_taken(leaves, domains), sum(map(len, leaves))) for leaves in enough]
    if not taken:
        return None
    best, _ = min(taken, key=lambda each: (len(each[0]), each[1], each[0]))
    return [row for leaf in best for row in leaf]


def _taken(leaves: Sequence[Sequence[int]], domains: int) -> list[Sequence[int]]:
    """The fewest nodes of tier 3 that have so many: the fullest ones, and last the least that suffices."""
    found: list[Sequence[int]] = []
    rest, left = sorted(leaves, key=lambda rows: (-len(rows), rows[0])), domains
    while left > len(rest[0]):
        left -= len(rest[0])
        found.append(rest.pop(0))
    last = min((rows for rows in rest if len(rows) >= left), key=lambda rows: (len(rows), rows[0]))
    return [*found, last]
