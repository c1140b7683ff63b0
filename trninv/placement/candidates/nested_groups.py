"""Place a job of nested groups: ``--chips 96 --group 48 --group 16`` is two groups of 48 chips, each of three of 16.

Each group lies in one unit: the smallest of server, domain, domains below a network node of tier 3, and of tier 2 that
has at least as many chips. The innermost groups are legal sets. Those of one size do not overlap, and units contain
each other, so that groups can be counted upwards: a unit fits ⌊inner groups in it ÷ inner groups per group⌋ groups. The
counts are exact: if they are too small, no choice of other sets would do.

Sets of chips are bit masks, and a row is a domain (`trninv.placement.candidates.free_capacity`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Final

import numpy as np

from trninv import deadline
from trninv.errors import InvalidArgumentError
from trninv.placement.candidates.candidate_search import CandidateSearch
from trninv.placement.candidates.free_capacity import FreeCapacity
from trninv.placement.candidates.gangs import common_tier, network_node, tier_sizes
from trninv.placement.candidates.placement_model import LegalSets, PlacementModel

MAX_LEVELS: Final = 4
"""The most sizes of groups."""
_SERVER, _DOMAIN = "server", "domain"


@dataclass(frozen=True, slots=True)
class Group:
    """A group of chips: its parts, or the row and the mask of an innermost group."""

    parts: tuple["Group", ...] = ()
    row: int = 0
    mask: int = 0

    def sets(self) -> tuple[tuple[int, int], ...]:
        """Return the row and the mask of each innermost group."""
        return (
            tuple(chain.from_iterable(part.sets() for part in self.parts)) if self.parts else ((self.row, self.mask),)
        )


@dataclass(frozen=True, slots=True)
class Units:
    """The units of a cluster that contain each other, from a server to the whole fabric."""

    model: PlacementModel
    ordinals: Sequence[int]

    @property
    def chips(self) -> dict[str, int]:
        """The number of chips of each kind of unit, the smallest first; the last one contains all domains."""
        domains, nodes = tier_sizes(self.model)
        return {
            _SERVER: self.model.chips_per_server,
            _DOMAIN: self.model.chips,
            "network node of tier 3": self.model.chips * domains,
            "network node of tier 2": self.model.chips * domains * nodes,
        }

    def kind_for(self, chips: int) -> str:
        """Return the smallest kind of unit with at least so many chips; "cluster" if there is none."""
        return next((kind for kind, size in self.chips.items() if size >= chips), "cluster")

    def unit_of(self, group: Group, kind: str) -> tuple[int, ...]:
        """Return the unit of a kind that contains a group, which lies in one such unit."""
        row, mask = group.sets()[0]
        if kind == _SERVER:
            return row, next(index for index, server in enumerate(self.model.server_masks) if server & mask)
        if kind == _DOMAIN:
            return (row,)
        tier = {"network node of tier 3": 3, "network node of tier 2": 2}.get(kind, 1)
        return (network_node(self.model, self.ordinals[row], tier),)


def check_sizes(model: PlacementModel, legal_sets: LegalSets, chips: int, sizes: Sequence[int]) -> None:
    """Refuse sizes that do not divide each other, or an innermost size that no scheduler grants.

    Raises
    ------
    InvalidArgumentError, IllegalSizeError

    """
    if len(sizes) > MAX_LEVELS:
        raise InvalidArgumentError(f"{len(sizes)} sizes of groups are too many; use at most {MAX_LEVELS}")
    for outer, inner in pairwise((chips, *sizes)):
        if outer % inner or outer == inner:
            raise InvalidArgumentError(
                f"groups of {inner:,}: {outer:,} chips are not several such groups; name the largest group first, and "
                "sizes that divide each other"
            )
    if sizes[-1] > model.chips:
        raise InvalidArgumentError(
            f"groups of {sizes[-1]:,}: the smallest group must fit in a domain, which has {model.chips:,} chips"
        )
    legal_sets.check_size(model, sizes[-1], "a shape without --group")


class GroupSearch:
    """Search for the groups of a job.

    Parameters
    ----------
    search
        The candidates for innermost groups.
    sizes
        The sizes of groups, the largest first.

    """

    def __init__(self, capacity: FreeCapacity, search: CandidateSearch, sizes: Sequence[int]) -> None:
        self.units = Units(capacity.model, capacity.ordinals.tolist())
        self._capacity, self._search, self._sizes = capacity, search, sizes

    def groups(self, *, healthy_only: bool = False) -> list[Group]:
        """Return as many of the largest groups as fit at once."""
        rows: list[int] = np.flatnonzero(self._search.has_match(self._search.matches)).tolist()
        groups = list[Group]()
        for row in rows:
            deadline.raise_if_expired()
            masks = self._search.masks_in_row(self._search.matches, row)
            if healthy_only and row in self._capacity.failures_by_row:
                masks = [mask for mask in masks if not self._capacity.is_degraded(row, mask)]
            groups += (Group((), row, mask) for mask in masks)
        for outer, inner in reversed([*pairwise(self._sizes)]):
            groups = self._merge(groups, outer, outer // inner)
        return groups

    def describe(self) -> str:
        """Return the sizes in words, with the unit of each."""
        return ", each of groups of ".join(f"{size:,} (in one {self.units.kind_for(size)})" for size in self._sizes)

    def common_tier(self, groups: Sequence[Group]) -> int:
        """Return the lowest tier of the fabric whose network node is above all domains of the groups."""
        rows = {row for group in groups for row, _ in group.sets()}
        return common_tier(self._capacity.model, [self.units.ordinals[row] for row in rows])

    def _merge(self, groups: Sequence[Group], size: int, count: int) -> list[Group]:
        """Return as many groups of ``count`` groups as fit, each in one unit; full domains are used up first."""
        kind = self.units.kind_for(size)
        by_unit: dict[tuple[int, ...], dict[int, list[Group]]] = {}
        for group in groups:
            by_row = by_unit.setdefault(self.units.unit_of(group, kind), {})
            by_row.setdefault(group.sets()[0][0], []).append(group)
        merged = list[Group]()
        for by_row in by_unit.values():
            fullest_first = sorted(by_row.values(), key=lambda members: -len(members))
            members = [*chain.from_iterable(fullest_first)]
            merged += (
                Group(tuple(members[start : start + count])) for start in range(0, len(members) - count + 1, count)
            )
        return merged

    def place(self, count: int, tier: int) -> list[Group] | None:
        """Return ``count`` of the largest groups in the smallest unit that has so many, and in few domains.

        Groups with degraded parts are used only if the others do not suffice.

        Parameters
        ----------
        tier
            All must be below one network node of this tier; 1: no restriction.

        """
        kinds = [*self.units.chips, "cluster"]
        smallest = kinds.index(self.units.kind_for(count * self._sizes[0]))
        largest = len(kinds) - 1 if tier == 1 else kinds.index(f"network node of tier {tier}")
        for healthy_only in (True, False):
            groups = self.groups(healthy_only=healthy_only)
            for kind in kinds[smallest : largest + 1]:
                by_unit: dict[tuple[int, ...], list[Group]] = {}
                for group in groups:
                    by_unit.setdefault(self.units.unit_of(group, kind), []).append(group)
                fitting = [members for members in by_unit.values() if len(members) >= count]
                choices = [(_pick(members, count), len(members)) for members in fitting]
                if choices:
                    return min(choices, key=lambda choice: (len(_rows(choice[0])), choice[1]))[0]
        return None


def _rows(groups: Sequence[Group]) -> set[int]:
    """Return the domains of groups."""
    return {row for group in groups for row, _ in group.sets()}


def _pick(groups: Sequence[Group], count: int) -> list[Group]:
    """Return ``count`` groups in few domains: those of the fullest domains, and last of the one that just suffices."""
    by_rows: dict[tuple[int, ...], list[Group]] = {}
    for group in groups:
        by_rows.setdefault(tuple(sorted(_rows([group]))), []).append(group)
    remaining = sorted(by_rows.items(), key=lambda item: (len(item[0]), -len(item[1]), item[0]))
    chosen = list[Group]()
    while len(chosen) < count:
        missing = count - len(chosen)
        enough = [item for item in remaining if len(item[1]) >= missing and len(item[0]) == len(remaining[0][0])]
        best = min(enough, key=lambda item: (len(item[1]), item[0])) if enough else remaining[0]
        remaining.remove(best)
        chosen += best[1][:missing]
    return chosen
