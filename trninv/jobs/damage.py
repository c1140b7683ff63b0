"""What damage takes from a domain: links that carry nothing or a part, and chips that are not up, as sets of chips."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Final

import numpy as np
from numpy.typing import NDArray

from trninv.inventory.state import PPM
from trninv.jobs.model import Model, Part
from trninv.solvers.blocks import Words, words

Damage = Mapping[int, Mapping[Part, int]]
"""By row of the stock and part that is not up, the millionths that it still carries."""


@dataclass(frozen=True)
class Lost:
    """What a damaged domain lacks.

    Attributes
    ----------
    broken, worn
        Sets of chips that have a link among them, or to their switch, that carries nothing, or is degraded.
    chips
        The chips that are not up, or have a NIC that is not.
    carried
        Bytes per second of each such link, one direction.

    """

    broken: tuple[int, ...]
    worn: tuple[int, ...]
    chips: int
    carried: Mapping[tuple[int, int], int]

    def breaks(self, mask: int) -> bool:
        """Whether a link among some chips carries nothing; one chip alone needs none."""
        return mask.bit_count() > 1 and any(link & ~mask == 0 for link in self.broken)

    def wears(self, mask: int) -> bool:
        """Whether any of some chips, or a link among several, is degraded."""
        return bool(mask & self.chips) or (mask.bit_count() > 1 and any(link & ~mask == 0 for link in self.worn))

    def broken_in(self, sets: Words, chips: int) -> NDArray[np.bool_]:
        """What `breaks` says of each of some sets."""
        return _spanning(sets, self.broken, chips)

    def worn_in(self, sets: Words, chips: int) -> NDArray[np.bool_]:
        """What `wears` says of each of some sets."""
        touched: NDArray[np.bool_] = (sets & words([self.chips], chips) != 0).any(axis=1)
        return touched | _spanning(sets, self.worn, chips)


NOTHING_LOST: Final = Lost((), (), 0, {})


def _spanning(sets: Words, links: Iterable[int], chips: int) -> NDArray[np.bool_]:
    """Which of some sets of several chips have all chips of a link."""
    found = np.zeros(len(sets), bool)
    for link in words([*links], chips):
        found |= (sets & link == link).all(axis=1)
    several: NDArray[np.bool_] = np.bitwise_count(sets).sum(axis=1) > 1
    return found & several


def lost_of(model: Model, parts: Mapping[Part, int]) -> Lost:
    """What a domain lacks whose parts carry so many millionths."""
    broken, worn, carried = dict[int, None](), dict[int, None](), dict[tuple[int, int], int]()
    for at in sorted({at for part in parts for at in model.wires_at.get(part, ())}):
        wire = model.of.blueprint.wires[at]
        ends = wire.a, wire.b
        left = min(parts[part] for part in (*ends, ends) if part in parts)
        carried[ends] = model.bandwidth(wire.role) * left // PPM
        (worn if left else broken)[sum(1 << end for end in ends if end < model.chips)] = None
    chips = reduce(or_, (model.chips_at.get(part, 0) for part in parts), 0)
    return Lost(tuple(broken), tuple(worn), chips, carried)
