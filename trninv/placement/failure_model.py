"""List which sets of chips each failure destroys, for `trninv capacity`.

Capacity is the number of sets of chips that survive failures. A domain's counted sets are its legal sets of every size
(sets that a scheduler may give to one job) and the whole domain with its NICs. If any servers of a rack form a legal
set, single servers are counted instead. The effect of a failure on a domain is a bit mask of counted sets: bit i stands
for set i, not for chip i. Example: a domain of chips 0 and 1 with one link, where jobs of one chip and of two are
legal::

    counted set      chips    chip 1 fails    the link fails    chip 0 is down now
    0  legal         0        intact          intact            destroyed
    1  legal         1        destroyed       intact            intact
    2  legal         0, 1     destroyed       destroyed         destroyed
    3  whole domain  0, 1     destroyed       destroyed         destroyed

    destroyed (bit 3 on the left)   1110            1100
    intact                                                      0010

If the link then fails, ``0010 & ~1100`` = ``0010`` remains: set 1, on which a job of one chip can run.
`trninv.solvers.survival` counts such masks, exactly or by sampling.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from trninv import solvers
from trninv.placement.candidates.free_capacity import FreeCapacity
from trninv.placement.candidates.placement_model import LegalSets, PlacementModel
from trninv.solvers.torus_blocks import WORD_BITS, MaskRows, contains, pack_masks

if TYPE_CHECKING:
    from trninv.solvers.survival import CountedSets, FailureCause

FAILURE_KINDS: Final = ("chip", "server", "rack", "switch", "nic", "link")
"""Kinds of parts that may have a failure rate."""


@dataclass(frozen=True)
class FailureModel:
    """The counted sets of a domain model, and which failures destroy them.

    A size in ``legal_sets`` has no listed sets if any servers of a rack form a set of that size. Then each server is a
    counted set, and `counted_sets` returns how many servers form a group.
    """

    model: PlacementModel
    legal_sets: LegalSets

    @cached_property
    def sets(self) -> tuple[int, ...]:
        """The counted sets as masks of chips: legal sets by size, then servers, then the whole domain.

        Servers are included only if any servers of a rack form a legal set.
        """
        listed = [mask for size in self.legal_sets.sizes for mask in self.legal_sets.sets.get(size, ())]
        servers = self.model.server_masks if self.legal_sets.any_of else ()
        return (*dict.fromkeys([*listed, *servers]), self.model.full)

    def bits(self, masks: Iterable[int]) -> MaskRows:
        """Return one row of words with the bits of the counted sets that have these masks of chips."""
        # Omit the whole domain: it has its own bit even if a legal set has the same chips.
        index = {mask: bit for bit, mask in enumerate(self.sets[:-1])}
        row: MaskRows = pack_masks([sum(1 << index[mask] for mask in masks)], len(self.sets))
        return row

    @property
    def whole_domain(self) -> MaskRows:
        """The bit of the whole domain, as one row of words."""
        row: MaskRows = pack_masks([1 << len(self.sets) - 1], len(self.sets))
        return row

    def counted_sets(self, size: int) -> "CountedSets":
        """Return what to count for jobs of a size: its listed sets, or groups of servers in each rack."""
        counted_type = solvers.survival.CountedSets
        if (any_of := self.legal_sets.any_of.get(size)) is None:
            return counted_type(self.bits(self.legal_sets.sets[size]))
        racks = [self.bits(self.model.server_masks[server] for server in rack) for rack in self.model.racks]
        return counted_type(np.vstack(racks), any_of.servers)

    def intact_sets(self, capacity: FreeCapacity) -> MaskRows:
        """Return which counted sets are intact before any failure is assumed, as bits, one row per domain."""
        sets = pack_masks(self.sets, self.model.chips)
        is_intact = contains(capacity.usable, sets)
        for row, failures in capacity.failures_by_row.items():
            is_intact[row] &= ~failures.sets_with_down_link(sets, self.model.chips)
        for row, parts in capacity.unhealthy_parts.items():
            is_intact[row, -1] &= all(parts.values())  # a part that is down has the value 0
        return _pack_bits(is_intact)

    def causes(self, probabilities: Mapping[str, float], capacity: FreeCapacity) -> "tuple[FailureCause, ...]":
        """Return which counted sets each part destroys when it fails, one entry per kind of part.

        Parameters
        ----------
        probabilities
            The probability that a part is down, by kind.

        """
        cause_type, model = solvers.survival.FailureCause, self.model
        first_rows_of_racks: tuple[int, ...] = ()  # each rack's first domain; only if domains share racks
        if (domains_per_rack := model.domain_model.domains_per_rack) > 1:
            rack_ordinals = capacity.ordinals // domains_per_rack
            first_rows_of_racks = tuple(np.flatnonzero(np.diff(rack_ordinals, prepend=-1)).tolist())
        racks = [sum(model.server_masks[server] for server in rack) for rack in model.racks]
        nodes = model.domain_model.blueprint.nodes
        switches = [index for index, node in enumerate(nodes) if node.kind == "switch"]
        nics = sum(node.kind == "nic" for node in nodes)
        destroyed = {
            "chip": [self._overlapping(1 << chip) for chip in range(model.chips)],
            "server": [self._overlapping(mask) for mask in model.server_masks],
            "rack": [self._overlapping(mask) for mask in racks],
            "switch": [self._using_switch(switch) for switch in switches],
            "nic": [[False] * (len(self.sets) - 1) + [True]] * nics,
            "link": [self._using_link(link.a, link.b) for link in model.domain_model.blueprint.scale_up_links],
        }
        return tuple(
            cause_type(
                probability,
                _pack_bits(np.array(destroyed[kind], bool).reshape(-1, len(self.sets))),
                first_rows_of_racks if kind == "rack" else (),
            )
            for kind, probability in probabilities.items()
        )

    def _overlapping(self, chips: int) -> list[bool]:
        """Return for each counted set whether it contains any chip of the mask ``chips``."""
        return [bool(mask & chips) for mask in self.sets]

    def _using_link(self, a: int, b: int) -> list[bool]:
        """Return for each counted set whether it needs the link between nodes ``a`` and ``b``.

        The whole domain needs every link. Any other set needs the link if it has several chips, including all chips at
        the link's ends.
        """
        ends = sum(1 << end for end in (a, b) if end < self.model.chips)
        return [mask & ends == ends and mask.bit_count() > 1 for mask in self.sets[:-1]] + [True]

    def _using_switch(self, switch: int) -> list[bool]:
        """Return for each counted set whether it needs any link of a switch."""
        links = [link for link in self.model.domain_model.blueprint.scale_up_links if switch in (link.a, link.b)]
        by_link = [self._using_link(link.a, link.b) for link in links]
        return [any(uses) for uses in zip(*by_link, strict=True)]


def _pack_bits(rows: NDArray[Any]) -> MaskRows:
    """Pack rows of booleans into words of 64 bits, lowest bit first."""
    padded = np.pad(rows, ((0, 0), (0, -rows.shape[1] % WORD_BITS)))
    packed: MaskRows = np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
    return packed


def single_bits(counts: "Sequence[CountedSets]") -> list[MaskRows]:
    """Return for each entry of ``counts`` one row per counted set in it, with only the bit of that set."""
    split = []
    for counted in counts:
        bits = np.unpackbits(counted.sets.view(np.uint8), axis=1, bitorder="little")
        single = np.eye(bits.shape[1], dtype=np.bool_)[np.flatnonzero(bits.any(axis=0))]
        split.append(_pack_bits(single))
    return split
