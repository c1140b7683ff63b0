"""Read failure rates and list which chip sets each failure destroys."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from trninv import solvers
from trninv.errors import InvalidArgumentError
from trninv.placement.candidates.free_capacity import FreeCapacity
from trninv.placement.candidates.placement_model import LegalSets, PlacementModel
from trninv.solvers.torus_blocks import WORD_BITS, MaskRows, contains, pack_masks

if TYPE_CHECKING:
    from trninv.solvers.survival import CountedSets, FailureCause

FAILURE_KINDS: Final = ("chip", "server", "rack", "switch", "nic", "link")
_HOURS: Final = ("mtbf_hours", "mttr_hours")
MAX_RATES_LENGTH: Final = 10_000
_MAX_HOURS: Final = 10**12


@dataclass(frozen=True, slots=True)
class FailureRate:
    """How often parts of a kind fail, and how long they are down."""

    kind: str
    mtbf_hours: float
    mttr_hours: float | None

    def unavailability(self, mission_time: float | None) -> float:
        """Return the probability that a part is down: at any time, or after so many hours without repair.

        Raises
        ------
        InvalidArgumentError
            The rates have no repair time.

        """
        if mission_time is not None:
            return 1 - exp(-mission_time / self.mtbf_hours)
        if self.mttr_hours is None:
            raise InvalidArgumentError(
                f"rates of {self.kind}: add mttr_hours, or use --mission HOURS, which assumes no repair"
            )
        return self.mttr_hours / (self.mtbf_hours + self.mttr_hours)


def parse_rates(text: str) -> tuple[FailureRate, ...]:
    """Parse rates in TOML: one table per kind of part, with ``mtbf_hours`` and ``mttr_hours``.

    Raises
    ------
    InvalidArgumentError
        The text is empty or invalid.

    """
    if len(text) > MAX_RATES_LENGTH:
        raise InvalidArgumentError(f"rates: {len(text):,} characters are too many; {MAX_RATES_LENGTH:,} are allowed")
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidArgumentError(f"rates: {error}") from None
    except (ValueError, RecursionError):
        raise InvalidArgumentError("rates: a number has too many digits, or tables are nested too deeply") from None
    if not document:
        raise InvalidArgumentError(
            f"rates: the file has no rates; add a table for {', '.join(FAILURE_KINDS)}, such as [chip] mtbf_hours = …"
        )
    return tuple(
        sorted(
            (_parse_rate(kind, table) for kind, table in document.items()),
            key=lambda rate: FAILURE_KINDS.index(rate.kind),
        )
    )


def _parse_rate(kind: str, table: Any) -> FailureRate:  # as written
    if kind not in FAILURE_KINDS:
        raise InvalidArgumentError(f"rates of {kind[:40]!r}: choose one of {', '.join(FAILURE_KINDS)}")
    if not isinstance(table, dict) or not {"mtbf_hours"} <= set(table) <= set(_HOURS):
        raise InvalidArgumentError(f"rates of {kind}: give mtbf_hours, and mttr_hours unless --mission is used")
    for name, value in table.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _MAX_HOURS:
            raise InvalidArgumentError(
                f"rates of {kind}: {name} must be a number of hours above 0, at most {_MAX_HOURS:,}"
            )
    return FailureRate(kind, float(table["mtbf_hours"]), float(table["mttr_hours"]) if "mttr_hours" in table else None)


@dataclass(frozen=True)
class FailureModel:
    """The counted sets, one bit each: sets of every legal size, and last the whole domain with its NICs."""

    model: PlacementModel
    legal_sets: LegalSets

    @cached_property
    def sets(self) -> tuple[int, ...]:
        """The counted sets as chips; for sizes of any servers of a rack, single servers."""
        listed = dict.fromkeys(mask for size in self.legal_sets.sizes for mask in self.legal_sets.sets.get(size, ()))
        return (*(listed | dict.fromkeys(self.model.server_masks if self.legal_sets.any_of else ())), self.model.full)

    def bits(self, masks: Iterable[int]) -> MaskRows:
        """Return one row of words with the bits of some sets."""
        index = {mask: bit for bit, mask in enumerate(self.sets[:-1])}
        row: MaskRows = pack_masks([sum(1 << index[mask] for mask in masks)], len(self.sets))
        return row

    @property
    def whole_domain(self) -> MaskRows:
        """The bit of the whole domain."""
        row: MaskRows = pack_masks([1 << len(self.sets) - 1], len(self.sets))
        return row

    def counted_sets(self, size: int) -> "CountedSets":
        """Return the counted sets for jobs of a size."""
        counted_type = solvers.survival.CountedSets
        if (any_of := self.legal_sets.any_of.get(size)) is None:
            return counted_type(self.bits(self.legal_sets.sets[size]))
        racks = [self.bits(self.model.server_masks[server] for server in rack) for rack in self.model.racks]
        return counted_type(np.vstack(racks), any_of.servers)

    def intact_sets(self, capacity: FreeCapacity) -> MaskRows:
        """Return the intact sets, by domain."""
        sets = pack_masks(self.sets, self.model.chips)
        is_intact = contains(capacity.usable, sets)
        for row, failures in capacity.failures_by_row.items():
            is_intact[row] &= ~failures.sets_with_down_link(sets, self.model.chips)
        for row, parts in capacity.unhealthy_parts.items():
            is_intact[row, -1] &= all(parts.values())
        return _pack_bits(is_intact)

    def causes(self, probabilities: Mapping[str, float], capacity: FreeCapacity) -> "tuple[FailureCause, ...]":
        """Return which failures destroy which sets, by kind."""
        cause_type, model, domains_per_rack = (
            solvers.survival.FailureCause,
            self.model,
            self.model.domain_model.domains_per_rack,
        )
        offsets: tuple[int, ...] = ()
        if domains_per_rack > 1:
            rack_ordinals = capacity.ordinals // domains_per_rack
            offsets = tuple(np.flatnonzero(np.diff(rack_ordinals, prepend=-1)).tolist())
        racks = [sum(model.server_masks[server] for server in rack) for rack in model.racks]
        nodes = model.domain_model.blueprint.nodes
        switches = [index for index, node in enumerate(nodes) if node.kind == "switch"]
        nics = sum(node.kind == "nic" for node in nodes)
        destroyed = {
            "chip": [self._overlapping(1 << chip) for chip in range(model.chips)],
            "server": [self._overlapping(mask) for mask in model.server_masks],
            "rack": [self._overlapping(mask) for mask in racks],
            "switch": [self._behind_switch(switch) for switch in switches],
            "nic": [[False] * (len(self.sets) - 1) + [True]] * nics,
            "link": [self._spanning(wire.a, wire.b) for wire in model.domain_model.blueprint.scale_up_links],
        }
        return tuple(
            cause_type(
                probability,
                _pack_bits(np.array(destroyed[kind], bool).reshape(-1, len(self.sets))),
                offsets if kind == "rack" else (),
            )
            for kind, probability in probabilities.items()
        )

    def _overlapping(self, chips: int) -> list[bool]:
        return [bool(mask & chips) for mask in self.sets]

    def _spanning(self, a: int, b: int) -> list[bool]:
        ends = sum(1 << end for end in (a, b) if end < self.model.chips)
        return [mask & ends == ends and mask.bit_count() > 1 for mask in self.sets[:-1]] + [True]

    def _behind_switch(self, switch: int) -> list[bool]:
        spanning = [
            self._spanning(wire.a, wire.b)
            for wire in self.model.domain_model.blueprint.scale_up_links
            if switch in (wire.a, wire.b)
        ]
        return [any(column) for column in zip(*spanning, strict=True)]


def _pack_bits(rows: NDArray[Any]) -> MaskRows:
    """Pack rows of booleans into words, lowest bit first."""
    padded = np.pad(rows, ((0, 0), (0, -rows.shape[1] % WORD_BITS)))
    packed: MaskRows = np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
    return packed


def single_bits(counts: "Sequence[CountedSets]") -> list[MaskRows]:
    """Return the counted sets as rows of one bit each."""
    rows = []
    for counted in counts:
        bits = np.unpackbits(counted.sets.view(np.uint8), axis=1, bitorder="little")
        rows.append(_pack_bits(np.eye(bits.shape[1], dtype=np.bool_)[np.flatnonzero(bits.any(axis=0))]))
    return rows
