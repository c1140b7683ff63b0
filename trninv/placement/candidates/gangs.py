"""Place a job on whole domains below the lowest fabric tier that has enough of them, or spread them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from trninv import deadline
from trninv.catalog.facts import default_catalog
from trninv.placement.candidates.candidate_search import meets
from trninv.placement.candidates.free_capacity import FreeCapacity
from trninv.solvers.torus_blocks import BlockLimits, pack_masks
from trninv.topology.clos import TIERS


@dataclass(frozen=True, slots=True)
class Gang:
    """Rows of the capacity, healthy domains first, and the lowest fabric tier that joins them."""

    rows: tuple[int, ...]
    tier: int


def free_domains(
    capacity: FreeCapacity, *, healthy_only: bool = False, min_limits: BlockLimits | None = None
) -> list[int]:
    """Return the rows of domains that are completely free, have no link down and meet the limits."""
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
    """Place several jobs of so many whole domains, one after the other, until there are not enough.

    Each is below one node of the tier, so no other choice would place more jobs.
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
    """Place a job of so many whole domains; None where there are not enough.

    It takes the tier-3 nodes with most free domains, and as the last one the smallest that suffices. Among nodes of a
    higher tier, it takes the one that needs the fewest tier-3 nodes, then the one with the fewest free domains.

    Parameters
    ----------
    rows
        Rows that may be used; by default all completely free domains.
    tier
        The lowest acceptable tier.
    same_rack
        Whether all must be in one rack.
    spread
        Whether to place as few domains as possible below one tier-3 node, all below one node of the tier.

    """
    domains_per_node, nodes_per_node = (
        default_catalog().picked_value(capacity.model.slug, f"{unit}_per_network_node") for unit in ("domains", "nodes")
    )
    leaves: dict[tuple[int, int], list[int]] = {}
    for row in free_domains(capacity) if rows is None else rows:
        ordinal = int(capacity.ordinals[row])
        leaves.setdefault((ordinal // domains_per_node, _rack_of(capacity, ordinal) if same_rack else 0), []).append(
            row
        )
    for candidate_tier in [tier] if spread else range(TIERS, tier - 1, -1):
        groups: dict[tuple[int, int], dict[int, list[int]]] = {}
        for (leaf, number), leaf_rows in leaves.items():
            groups.setdefault((_ancestor(leaf, candidate_tier, nodes_per_node), number), {})[leaf] = leaf_rows
        if chosen := (_spread_most if spread else _fewest_leaves)(
            [list(leaf.values()) for leaf in groups.values()], domains
        ):
            rows = sorted(chosen, key=lambda row: (*_degradation(capacity, row), row))[:domains]
            leaf_nodes = {int(capacity.ordinals[row]) // domains_per_node for row in rows}
            common = (
                number
                for number in range(TIERS, 0, -1)
                if len({_ancestor(leaf, number, nodes_per_node) for leaf in leaf_nodes}) == 1
            )
            return Gang(tuple(rows), next(common))
    return None


def _degradation(capacity: FreeCapacity, row: int) -> tuple[int, ...]:
    """Return a sort key: healthy domains first, then those with the highest limits."""
    if row not in capacity.failures_by_row:
        return 0, 0, 0
    limits = domain_limits(capacity, row)
    return 1, -limits.all_gather, -limits.bisection


def _ancestor(leaf: int, tier: int, nodes_per_node: int) -> int:
    """Return the node of a tier above a tier-3 node."""
    return {3: leaf, 2: leaf // nodes_per_node, 1: 0}[tier]


def _spread_most(nodes: Iterable[Sequence[Sequence[int]]], domains: int) -> list[int]:
    """Return the rows below one node, spread as evenly as possible over its tier-3 nodes."""
    best: tuple[int, list[int]] | None = None
    for leaves in nodes:
        per_leaf = next(
            (n for n in range(1, domains + 1) if sum(min(n, len(rows)) for rows in leaves) >= domains), None
        )
        if per_leaf and (best is None or per_leaf < best[0]):
            order = sorted(leaves, key=lambda rows: (-len(rows), rows[0]))
            best = per_leaf, [row for rows in order for row in rows[:per_leaf]][:domains]
    return best[1] if best else []


def _rack_of(capacity: FreeCapacity, ordinal: int) -> int:
    """Return the rack of a domain; a domain in several racks gets a rack number of its own."""
    return ordinal // capacity.model.domain_model.domains_per_rack


def _fewest_leaves(nodes: Iterable[Sequence[Sequence[int]]], domains: int) -> list[int] | None:
    """Return the rows below the fewest tier-3 nodes of one node, possibly a few too many; None if too few."""
    enough = [leaves for leaves in nodes if sum(map(len, leaves)) >= domains]
    choices = [(_pick_leaves(leaves, domains), sum(map(len, leaves))) for leaves in enough]
    if not choices:
        return None
    best, _ = min(choices, key=lambda each: (len(each[0]), each[1], each[0]))
    return [row for leaf in best for row in leaf]


def _pick_leaves(leaves: Sequence[Sequence[int]], domains: int) -> list[Sequence[int]]:
    """Return the fewest tier-3 nodes with enough domains: the fullest ones, and last the smallest that suffices."""
    picked: list[Sequence[int]] = []
    rest, needed = sorted(leaves, key=lambda rows: (-len(rows), rows[0])), domains
    while needed > len(rest[0]):
        needed -= len(rest[0])
        picked.append(rest.pop(0))
    last = min((rows for rows in rest if len(rows) >= needed), key=lambda rows: (len(rows), rows[0]))
    return [*picked, last]
