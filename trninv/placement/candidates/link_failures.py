"""Find the failed and degraded links and chips of a domain, as sets of chips.

A set of chips is a bit mask, as in `trninv.placement.candidates.free_capacity`. A job can't use a set if a link between
two of its chips, or from one to a switch, is down, so `CandidateSearch` checks sets against the chips at the ends of
such links.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Final

import numpy as np
from numpy.typing import NDArray

from trninv.inventory.state.condition import PPM
from trninv.placement.candidates.placement_model import LocalPart, PlacementModel
from trninv.solvers.torus_blocks import MaskRows, pack_masks

UnhealthyParts = Mapping[int, Mapping[LocalPart, int]]
"""Parts per million that each unhealthy part still carries (0: down), by row of the `FreeCapacity` (a domain)."""


@dataclass(frozen=True)
class LinkFailures:
    """The failed and degraded links and the unhealthy chips of a domain.

    Attributes
    ----------
    down, degraded
        One mask per link that is down, or degraded: the chips at its ends; one chip if the other end is a switch.
    unhealthy_chips
        Mask of the chips that are unhealthy or have an unhealthy NIC.
    link_capacities
        Remaining bytes per second of each such link, one direction, by the numbers of both ends in the domain.

    """

    down: tuple[int, ...]
    degraded: tuple[int, ...]
    unhealthy_chips: int
    link_capacities: Mapping[tuple[int, int], int]

    def has_down_link(self, mask: int) -> bool:
        """Return whether a link between chips of a set, or to a switch, is down; a single chip needs no link."""
        return mask.bit_count() > 1 and any(link & ~mask == 0 for link in self.down)

    def is_degraded(self, mask: int) -> bool:
        """Return whether a chip of a set or its NIC is unhealthy, or a link that the set needs is degraded."""
        return bool(mask & self.unhealthy_chips) or (
            mask.bit_count() > 1 and any(link & ~mask == 0 for link in self.degraded)
        )

    def sets_with_down_link(self, sets: MaskRows, chip_count: int) -> NDArray[np.bool_]:
        """Return `has_down_link` for each set."""
        return _contain_any_link(sets, self.down, chip_count)

    def degraded_sets(self, sets: MaskRows, chip_count: int) -> NDArray[np.bool_]:
        """Return `is_degraded` for each set."""
        has_unhealthy_chip: NDArray[np.bool_] = (sets & pack_masks([self.unhealthy_chips], chip_count) != 0).any(axis=1)
        return has_unhealthy_chip | _contain_any_link(sets, self.degraded, chip_count)


ALL_LINKS_UP: Final = LinkFailures((), (), 0, {})
"""The failures of a domain without unhealthy parts."""


_MAX_LINKS_AT_ONCE: Final = 64
"""The most links that are compared with all sets at once, which takes memory for their product."""


def _contain_any_link(sets: MaskRows, links: Iterable[int], chip_count: int) -> NDArray[np.bool_]:
    """Return for each set whether it has several chips, including all chips at the ends of any of the links."""
    has_link = np.zeros(len(sets), bool)
    packed = pack_masks([*links], chip_count)
    for start in range(0, len(packed), _MAX_LINKS_AT_ONCE):
        some = packed[start : start + _MAX_LINKS_AT_ONCE]
        has_link |= (sets[:, None] & some == some).all(axis=2).any(axis=1)
    has_several_chips: NDArray[np.bool_] = np.bitwise_count(sets).sum(axis=1) > 1
    return has_link & has_several_chips


def find_link_failures(model: PlacementModel, parts: Mapping[LocalPart, int]) -> LinkFailures:
    """Find the failures of a domain from its unhealthy parts and the parts per million that they carry.

    A link carries the least of what the link itself and the nodes at its ends carry.
    """
    down, degraded, link_capacities = list[int](), list[int](), dict[tuple[int, int], int]()
    for index in sorted({index for part in parts for index in model.links_by_part.get(part, ())}):
        link = model.scale_up_links[index]
        ends = link.a, link.b
        carried_ppm = min(parts[part] for part in (*ends, ends) if part in parts)
        link_capacities[ends] = model.link_bandwidth(link.role) * carried_ppm // PPM
        (degraded if carried_ppm else down).append(sum(1 << end for end in ends if end < model.chips))
    unhealthy_chips = reduce(or_, (model.chips_by_part.get(part, 0) for part in parts), 0)
    return LinkFailures(tuple(dict.fromkeys(down)), tuple(dict.fromkeys(degraded)), unhealthy_chips, link_capacities)
