"""Find the failed and degraded links and chips of a domain, as sets of chips."""

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
"""By row of the capacity and unhealthy part, the parts per million that it still carries."""


@dataclass(frozen=True)
class LinkFailures:
    """The failed and degraded links and the unhealthy chips of a domain.

    Attributes
    ----------
    down, degraded
        Chips at the ends of links that are down, and of degraded links; a link to a switch has one chip.
    unhealthy_chips
        Chips that are unhealthy or have an unhealthy NIC.
    link_capacities
        Remaining bytes per second of each such link, one direction.

    """

    down: tuple[int, ...]
    degraded: tuple[int, ...]
    unhealthy_chips: int
    link_capacities: Mapping[tuple[int, int], int]

    def has_down_link(self, mask: int) -> bool:
        """Return whether a link among some chips is down; a single chip needs no link."""
        return mask.bit_count() > 1 and any(link & ~mask == 0 for link in self.down)

    def is_degraded(self, mask: int) -> bool:
        """Return whether any of some chips, or a link among several, is degraded."""
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


def _contain_any_link(sets: MaskRows, links: Iterable[int], chip_count: int) -> NDArray[np.bool_]:
    """Return which sets of several chips contain both chips of any link."""
    contains = np.zeros(len(sets), bool)
    for link in pack_masks([*links], chip_count):
        contains |= (sets & link == link).all(axis=1)
    has_several: NDArray[np.bool_] = np.bitwise_count(sets).sum(axis=1) > 1
    return contains & has_several


def find_link_failures(model: PlacementModel, parts: Mapping[LocalPart, int]) -> LinkFailures:
    """Find the failures of a domain from the parts per million that its unhealthy parts carry."""
    down, degraded, link_capacities = dict[int, None](), dict[int, None](), dict[tuple[int, int], int]()
    for index in sorted({index for part in parts for index in model.wires_by_part.get(part, ())}):
        wire = model.domain_model.blueprint.scale_up_links[index]
        ends = wire.a, wire.b
        carried_ppm = min(parts[part] for part in (*ends, ends) if part in parts)
        link_capacities[ends] = model.link_bandwidth(wire.role) * carried_ppm // PPM
        (degraded if carried_ppm else down)[sum(1 << end for end in ends if end < model.chips)] = None
    chips = reduce(or_, (model.chips_by_part.get(part, 0) for part in parts), 0)
    return LinkFailures(tuple(down), tuple(degraded), chips, link_capacities)
