"""What may fail of a cluster, and the sets of chips that it takes along: what `trninv.solvers.survival` is asked of."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from trninv import solvers
from trninv.errors import LimitError
from trninv.jobs.model import Legal, Model
from trninv.jobs.stock import Stock
from trninv.solvers.blocks import WORD, Words, holding, words

if TYPE_CHECKING:
    from trninv.solvers.survival import Cause, Counted

KINDS: Final = ("chip", "server", "rack", "switch", "nic", "link")
_HOURS: Final = ("mtbf_hours", "mttr_hours")
MOST_TEXT: Final = 10_000
_MOST_HOURS: Final = 10**12


@dataclass(frozen=True, slots=True)
class Rate:
    """How often parts of a kind fail, and how long they are down."""

    kind: str
    mtbf: float
    mttr: float | None

    def likely(self, mission: float | None) -> float:
        """How likely a part is down: at any time, or at the end of so many hours in which nothing is repaired.

        Raises
        ------
        LimitError
            The file doesn't say how long a repair takes.

        """
        if mission is not None:
            return 1 - exp(-mission / self.mtbf)
        if self.mttr is None:
            raise LimitError(f"rates of {self.kind}: give mttr_hours too, or ask for --mission HOURS without repair")
        return self.mttr / (self.mtbf + self.mttr)


def rates_of(text: str) -> tuple[Rate, ...]:
    """Rates as TOML gives them: a table a kind, with ``mtbf_hours`` and ``mttr_hours``.

    Raises
    ------
    LimitError
        It says anything else, or nothing.

    """
    if len(text) > MOST_TEXT:
        raise LimitError(f"rates: {len(text):,} characters, at most {MOST_TEXT:,}")
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LimitError(f"rates: {error}") from None
    except (ValueError, RecursionError):
        raise LimitError("rates: a number has too many digits, or too much is nested") from None
    if not found:
        raise LimitError(f"rates: write a table for one or more of {', '.join(KINDS)}, such as [chip] mtbf_hours = …")
    return tuple(sorted((_rate(kind, of) for kind, of in found.items()), key=lambda rate: KINDS.index(rate.kind)))


def _rate(kind: str, of: Any) -> Rate:  # as written
    if kind not in KINDS:
        raise LimitError(f"rates of {kind[:40]!r}: {', '.join(KINDS)} can fail")
    if not isinstance(of, dict) or not {"mtbf_hours"} <= set(of) <= set(_HOURS):
        raise LimitError(f"rates of {kind}: give mtbf_hours, and mttr_hours unless --mission is asked for")
    for name, value in of.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _MOST_HOURS:
            raise LimitError(f"rates of {kind}: {name} is a number of hours above 0, {_MOST_HOURS:,} at most")
    return Rate(kind, float(of["mtbf_hours"]), float(of["mttr_hours"]) if "mttr_hours" in of else None)


@dataclass(frozen=True)
class Exposed:
    """The sets that are counted, a bit each: those of every legal size, and last the whole domain with its NICs."""

    model: Model
    legal: Legal

    @cached_property
    def sets(self) -> tuple[int, ...]:
        """As chips; servers stand for sizes of any servers of a rack."""
        listed = dict.fromkeys(mask for size in self.legal.sizes for mask in self.legal.sets.get(size, ()))
        return (*(listed | dict.fromkeys(self.model.whole_server if self.legal.any_of else ())), self.model.full)

    def bits(self, wanted: Iterable[int]) -> Words:
        """One row of words with the bits of some sets."""
        at = {mask: bit for bit, mask in enumerate(self.sets[:-1])}
        found: Words = words([sum(1 << at[mask] for mask in wanted)], len(self.sets))
        return found

    @property
    def whole(self) -> Words:
        """The bit of the whole domain."""
        found: Words = words([1 << len(self.sets) - 1], len(self.sets))
        return found

    def counted(self, size: int) -> "Counted":
        """What is counted for jobs of a size."""
        counted = solvers.survival.Counted
        if (any_of := self.legal.any_of.get(size)) is None:
            return counted(self.bits(self.legal.sets[size]))
        racks = [self.bits(self.model.whole_server[server] for server in rack) for rack in self.model.racks]
        return counted(np.vstack(racks), any_of.servers)

    def alive(self, stock: Stock) -> Words:
        """Sets that are whole, by domain."""
        sets = words(self.sets, self.model.chips)
        found = holding(stock.usable, sets)
        for row, lost in stock.lost.items():
            found[row] &= ~lost.broken_in(sets, self.model.chips)
        for row, parts in stock.damage.items():
            found[row, -1] &= all(parts.values())
        return _packed(found)

    def causes(self, likely: Mapping[str, float], stock: Stock) -> "tuple[Cause, ...]":
        """What takes which sets along, by kind."""
        cause, model, each = solvers.survival.Cause, self.model, self.model.of.domains_per_rack
        first: tuple[int, ...] = ()
        if each > 1:
            of = stock.ordinals // each
            first = tuple(np.flatnonzero(np.diff(of, prepend=-1)).tolist())
        racks = [sum(model.whole_server[server] for server in rack) for rack in model.racks]
        nodes = model.of.blueprint.nodes
        switches = [at for at, node in enumerate(nodes) if node.kind == "switch"]
        nics = sum(node.kind == "nic" for node in nodes)
        takes = {
            "chip": [self._with(1 << chip) for chip in range(model.chips)],
            "server": [self._with(mask) for mask in model.whole_server],
            "rack": [self._with(mask) for mask in racks],
            "switch": [self._behind(switch) for switch in switches],
            "nic": [[False] * (len(self.sets) - 1) + [True]] * nics,
            "link": [self._across(wire.a, wire.b) for wire in model.of.blueprint.wires],
        }
        return tuple(
            cause(u, _packed(np.array(takes[kind], bool).reshape(-1, len(self.sets))), first if kind == "rack" else ())
            for kind, u in likely.items()
        )

    def _with(self, chips: int) -> list[bool]:
        return [bool(mask & chips) for mask in self.sets]

    def _across(self, a: int, b: int) -> list[bool]:
        ends = sum(1 << end for end in (a, b) if end < self.model.chips)
        return [mask & ends == ends and mask.bit_count() > 1 for mask in self.sets[:-1]] + [True]

    def _behind(self, switch: int) -> list[bool]:
        joined = [self._across(wire.a, wire.b) for wire in self.model.of.blueprint.wires if switch in (wire.a, wire.b)]
        return [any(column) for column in zip(*joined, strict=True)]


def _packed(rows: NDArray[Any]) -> Words:
    """Rows of booleans as words, the first the lowest bit."""
    padded = np.pad(rows, ((0, 0), (0, -rows.shape[1] % WORD)))
    found: Words = np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
    return found


def single(of: "Sequence[Counted]") -> list[Words]:
    """The sets of what is counted as rows of one bit each."""
    found = []
    for each in of:
        bits = np.unpackbits(each.sets.view(np.uint8), axis=1, bitorder="little")
        found.append(_packed(np.eye(bits.shape[1], dtype=np.bool_)[np.flatnonzero(bits.any(axis=0))]))
    return found
