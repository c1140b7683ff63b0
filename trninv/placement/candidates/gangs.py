"""Place jobs that need several whole domains: such a job is a gang, because its domains start together.

The fabric above the domains is a tree: groups of domains are attached to network nodes of tier 3, groups of these to
nodes of tier 2, and all to tier 1. The lowest tier is 3: its nodes are the leaves, and domains below one of them are
closest to each other. A gang is placed below a node of the lowest possible tier, or spread over tier-3 nodes if that
is requested.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from trninv import deadline
from trninv.catalog.facts import default_catalog
from trninv.placement.candidates.candidate_search import meets
from trninv.placement.candidates.free_capacity import FreeCapacity
from trninv.placement.candidates.placement_model import PlacementModel
from trninv.solvers.torus_blocks import BlockLimits, pack_masks
from trninv.topology.clos import TIERS


@dataclass(frozen=True, slots=True)
class Gang:
    """The domains of a job, as rows of the capacity, healthy ones first, and the lowest fabric tier that joins them."""

    rows: tuple[int, ...]
    tier: int


def free_domains(
    capacity: FreeCapacity, *, healthy_only: bool = False, min_limits: BlockLimits | None = None
) -> list[int]:
    """Return the rows of domains that are completely free, have no link down and meet the limits.

    ``healthy_only`` also excludes domains with degraded parts.
    """
    full = pack_masks([capacity.model.full], capacity.model.chips)[0]
    rows: Sequence[int] = np.flatnonzero((capacity.free == full).all(axis=1)).tolist()
    intact = [
        row
        for row in rows
        if row not in capacity.failures_by_row or not (capacity.failures_by_row[row].down or healthy_only)
    ]
    return intact if min_limits is None else [row for row in intact if meets(domain_limits(capacity, row), min_limits)]


def domain_limits(capacity: FreeCapacity, row: int) -> BlockLimits:
    """Return the limits of a whole domain with its failures."""
    deadline.raise_if_expired()
    return capacity.actual_limits(row, capacity.model.full)


def place_gangs(
    capacity: FreeCapacity,
    rows: Sequence[int],
    domains: int,
    replicas: int,
    *,
    tier: int = 1,
    same_rack: bool = False,
    spread: bool = False,
) -> list[Gang]:
    """Place up to ``replicas`` jobs of ``domains`` whole domains each, one by one, while enough domains are free.

    Each job is below one network node of the tier. Such a node fits ⌊free domains / ``domains``⌋ jobs in any order, so
    no other choice would place more. See `place_gang` for the parameters.
    """
    placed, remaining = list[Gang](), list(rows)
    while len(placed) < replicas and (
        new_gang := place_gang(capacity, domains, rows=remaining, tier=tier, same_rack=same_rack, spread=spread)
    ):
        placed.append(new_gang)
        remaining = sorted(set(remaining) - set(new_gang.rows))
    return placed


def place_gang(
    capacity: FreeCapacity,
    domains: int,
    *,
    rows: Sequence[int] | None = None,
    tier: int = 1,
    same_rack: bool = False,
    spread: bool = False,
) -> Gang | None:
    """Place a job of ``domains`` whole domains; return None if too few are free.

    Unless ``spread`` is set, the job fills the tier-3 nodes with the most free domains; the last of these nodes is the
    one with the fewest free domains that suffice. Among nodes of a higher tier, the job gets the one that needs the
    fewest tier-3 nodes, then the one with the fewest free domains.

    Parameters
    ----------
    rows
        Rows that may be used; by default all completely free domains.
    tier
        All domains must be below one network node of this tier; 3 is nearest to the domains, 1 is no restriction.
    same_rack
        Whether all domains must be in one rack.
    spread
        Whether to place as few domains as possible below each tier-3 node; all are still below one node of ``tier``.

    """
    domains_per_node, nodes_per_node = tier_sizes(capacity.model)
    rows_by_leaf: dict[tuple[int, int], list[int]] = {}  # by tier-3 node and, if it matters, rack
    for row in free_domains(capacity) if rows is None else rows:
        ordinal = int(capacity.ordinals[row])
        rack = _rack_of(capacity, ordinal) if same_rack else 0
        rows_by_leaf.setdefault((ordinal // domains_per_node, rack), []).append(row)
    choose = _spread_evenly if spread else _fewest_leaves
    for candidate_tier in [tier] if spread else range(TIERS, tier - 1, -1):
        leaves_by_node: dict[tuple[int, int], list[list[int]]] = {}
        for (leaf, rack), leaf_rows in rows_by_leaf.items():
            node = _ancestor(leaf, candidate_tier, nodes_per_node)
            leaves_by_node.setdefault((node, rack), []).append(leaf_rows)
        if chosen := choose(leaves_by_node.values(), domains):
            best = sorted(chosen, key=lambda row: (*_degradation(capacity, row), row))[:domains]
            return Gang(tuple(best), common_tier(capacity.model, capacity.ordinals[best].tolist()))
    return None


def network_node(model: PlacementModel, ordinal: int, tier: int) -> int:
    """Return the number of the network node of a tier above a domain; all of tier 1 count as one."""
    domains_per_node, nodes_per_node = tier_sizes(model)
    return _ancestor(ordinal // domains_per_node, tier, nodes_per_node)


def common_tier(model: PlacementModel, ordinals: Collection[int]) -> int:
    """Return the lowest tier of the fabric with a network node above all of these domains."""
    return next(
        tier for tier in range(TIERS, 0, -1) if len({network_node(model, ordinal, tier) for ordinal in ordinals}) == 1
    )


@lru_cache(maxsize=64)
def tier_sizes(model: PlacementModel) -> tuple[int, int]:
    """Return the number of domains below a network node of tier 3, and of these nodes below one of tier 2."""
    domains, nodes = (
        default_catalog().picked_value(model.slug, f"{unit}_per_network_node") for unit in ("domains", "nodes")
    )
    return int(domains), int(nodes)


def _degradation(capacity: FreeCapacity, row: int) -> tuple[int, ...]:
    """Return a sort key: healthy domains come first, then those with the highest limits."""
    if row not in capacity.failures_by_row:
        return 0, 0, 0
    limits = domain_limits(capacity, row)
    return 1, -limits.all_gather, -limits.bisection


def _ancestor(leaf: int, tier: int, nodes_per_node: int) -> int:
    """Return the ordinal of a tier-3 node's ancestor in a tier; all nodes of tier 1 count as one."""
    return {3: leaf, 2: leaf // nodes_per_node, 1: 0}[tier]


def _spread_evenly(nodes: Iterable[Sequence[Sequence[int]]], domains: int) -> list[int] | None:
    """Return rows below one node, as few as possible of any one tier-3 node; None if no node has enough.

    A node is the list of its tier-3 nodes, and each of these is the list of its free rows.
    """
    fewest_per_leaf, chosen = domains + 1, None
    for leaves in nodes:
        enough = (n for n in range(1, fewest_per_leaf) if sum(min(n, len(rows)) for rows in leaves) >= domains)
        if (per_leaf := next(enough, None)) is not None:
            most_free_first = sorted(leaves, key=lambda rows: (-len(rows), rows[0]))
            fewest_per_leaf, chosen = per_leaf, [row for rows in most_free_first for row in rows[:per_leaf]][:domains]
    return chosen


def _rack_of(capacity: FreeCapacity, ordinal: int) -> int:
    """Return a number for a domain's rack; a domain that spans several racks has a number of its own."""
    return ordinal // capacity.model.domain_model.domains_per_rack


def _fewest_leaves(nodes: Iterable[Sequence[Sequence[int]]], domains: int) -> list[int] | None:
    """Return all rows below the fewest tier-3 nodes of one node that suffice; None if no node has enough.

    These may be more rows than needed. A node is the list of its tier-3 nodes, and each of these is the list of its
    free rows.
    """
    choices = []
    for leaves in nodes:
        if (free := sum(map(len, leaves))) >= domains:
            picked = _pick_leaves(leaves, domains)
            choices.append((len(picked), free, picked))
    if not choices:
        return None
    _, _, best = min(choices)
    return [row for leaf in best for row in leaf]


def _pick_leaves(leaves: Sequence[Sequence[int]], domains: int) -> list[Sequence[int]]:
    """Return the fewest tier-3 nodes with enough free domains: the largest, and last the smallest that suffices."""
    picked: list[Sequence[int]] = []
    most_free_first, needed = sorted(leaves, key=lambda rows: (-len(rows), rows[0])), domains
    while needed > len(most_free_first[0]):
        needed -= len(most_free_first[0])
        picked.append(most_free_first.pop(0))
    last = min((rows for rows in most_free_first if len(rows) >= needed), key=lambda rows: (len(rows), rows[0]))
    return [*picked, last]
