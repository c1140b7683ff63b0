"""Represent quantities exactly, as whole numbers of base units such as bytes or nanoseconds.

"GB" is 10⁹ bytes and "GiB" is 2³⁰ bytes. Where a document writes one and means the other, the catalog's fact says so
(its reading unit). Printing is exact: parsing the text gives the same number back.
"""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar, Self

from trninv.errors import UnitError

__all__ = ["Bandwidth", "Capacity", "Compute", "Duration"]

_NUMBER = re.compile(r"\s*(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?\s*(.*?)\s*", re.ASCII)
_PER_DEVICE = re.compile(r"/(device|chip|node)$")
_MAX = 2**63 - 1
_MAX_LENGTH = 200
"""The maximum length of a quantity's text."""


class Quantity(int):
    """A whole number of a base unit; each subclass defines the units that `parse` accepts and `str` prints.

    Attributes
    ----------
    UNITS
        Every accepted unit, with its size in base units.
    SPELLINGS
        Other spellings of those units.
    PRINTED
        The units that are printed, largest first; the last is the base unit.
    """

    UNITS: ClassVar[dict[str, int]]
    SPELLINGS: ClassVar[dict[str, str]]
    PRINTED: ClassVar[tuple[str, ...]]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a number with a unit, such as "1,024 GB/sec/device"; "/device", "/chip" and "/node" are ignored.

        Raises
        ------
        UnitError
            The text has no number or no unit, a unit of another kind, or a value that is not a whole number of base
            units or exceeds 2⁶³ - 1.
        """
        match = _NUMBER.fullmatch(text) if len(text) <= _MAX_LENGTH else None
        unit = _PER_DEVICE.sub("", match[3]) if match else ""
        size = cls.UNITS.get(cls.SPELLINGS.get(unit, unit))
        if match is None or size is None:
            suggestions = [f" (did you mean {name}?)" for name in cls.UNITS if name.lower() == unit.lower()]
            accepted = f"write a number and one of {', '.join(cls.UNITS)}{''.join(suggestions[:1])}"
            raise UnitError(f"{text[:_MAX_LENGTH]!r} is not a {cls.__name__.lower()}: {accepted}")
        value = Fraction(match[1].replace(",", "") + (match[2] or "")) * size
        if value.denominator != 1 or value > _MAX:
            raise UnitError(f"{text!r} is not a whole number of {cls.PRINTED[-1]} below 2^63")
        return cls(value.numerator)

    def __str__(self) -> str:
        for unit in self.PRINTED:
            thousandths = Fraction(int(self) * 1000, self.UNITS[unit])
            # the largest unit of which this is at least one, in at most three decimals
            if thousandths >= 1000 and thousandths.denominator == 1:  # noqa: PLR2004 # one whole unit
                return f"{Decimal(thousandths.numerator).scaleb(-3).normalize():,f} {unit}"
        return f"{int(self):,} {self.PRINTED[-1]}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({int(self)})"


_DECIMAL = {prefix: 1000**power for power, prefix in enumerate(["", "k", "M", "G", "T", "P"])}
_BINARY = {prefix: 1024**power for power, prefix in enumerate(["K", "M", "G", "T", "P"], start=1)}


class Bandwidth(Quantity):
    """Bytes per second in one direction."""

    UNITS: ClassVar[dict[str, int]] = {
        **{f"{prefix}B/s": size for prefix, size in _DECIMAL.items()},
        **{f"{prefix}iB/s": size for prefix, size in _BINARY.items()},
        **{f"{prefix}bps": size // 8 for prefix, size in _DECIMAL.items() if prefix},
    }
    SPELLINGS: ClassVar[dict[str, str]] = {
        **{unit + "ec": unit for unit in UNITS if unit.endswith("B/s")},
        **{unit.replace("bps", "bit/s"): unit for unit in UNITS if unit.endswith("bps")},
    }
    PRINTED: ClassVar[tuple[str, ...]] = ("GB/s", "MB/s", "B/s")

    @property
    def bytes_per_second(self) -> int:
        """Bytes per second, exact."""
        return int(self)

    @property
    def gigabytes_per_second(self) -> float:
        """10⁹ bytes per second."""
        return self / 10**9

    @property
    def gigabits_per_second(self) -> float:
        """10⁹ bits per second."""
        return self * 8 / 10**9


class Capacity(Quantity):
    """Bytes. Memory sizes of chips are binary (aws-neuron-driver v3/address_map.h: 24 GiB per stack)."""

    UNITS: ClassVar[dict[str, int]] = {
        **{f"{prefix}iB": size for prefix, size in _BINARY.items()},
        **{f"{prefix}B": size for prefix, size in _DECIMAL.items()},
    }
    SPELLINGS: ClassVar[dict[str, str]] = {}
    PRINTED: ClassVar[tuple[str, ...]] = ("GiB", "MiB", "GB", "KiB", "B")

    @property
    def bytes(self) -> int:
        """Bytes, exact."""
        return int(self)

    @property
    def gibibytes(self) -> float:
        """2³⁰ bytes."""
        return self / 2**30


class Compute(Quantity):
    """Units of 10⁹ operations per second, so that a whole UltraCluster fits in 63 bits."""

    UNITS: ClassVar[dict[str, int]] = {"GFLOPS": 1, "TFLOPS": 10**3, "PFLOPS": 10**6, "EFLOPS": 10**9}
    SPELLINGS: ClassVar[dict[str, str]] = {"TFLOP/s": "TFLOPS", "PetaFLOPS": "PFLOPS", "TOPS": "TFLOPS"}
    PRINTED: ClassVar[tuple[str, ...]] = ("TFLOPS", "GFLOPS")


class Duration(Quantity):
    """Nanoseconds."""

    UNITS: ClassVar[dict[str, int]] = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
    SPELLINGS: ClassVar[dict[str, str]] = {"µs": "us"}
    PRINTED: ClassVar[tuple[str, ...]] = ("s", "ms", "us", "ns")

    @property
    def nanoseconds(self) -> int:
        """Nanoseconds, exact."""
        return int(self)

    @property
    def microseconds(self) -> float:
        """10⁻⁶ seconds."""
        return self / 1000


def pluralize(number: int, thing: str) -> str:
    """Return a number with its noun, such as "1 chip", "1,024 chips" or "2 switches"."""
    ending = "es" if thing.endswith(("ch", "ss")) else "s"
    return f"{number:,} {thing}{ending if number != 1 else ''}"


def format_timestamp(time: datetime) -> str:
    """Return a time as the database stores it, such as ``2026-11-22T02:00:00.000000+00:00``."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00", re.ASCII)
"""A time as the database stores it; old ones have no fraction of a second."""
_LAST_SECOND = "9999-12-31T23:59:59.000000+00:00"


def format_seconds(time: str) -> str:
    """Return a stored time rounded up to the second, so that ``--at`` with it includes what happened then."""
    whole = datetime.fromisoformat(min(time, _LAST_SECOND)) + timedelta(microseconds=999_999)
    return f"{whole.isoformat()[: len('2026-11-22T02:00:00')]}Z"


def format_lower_bound(time: datetime) -> str:
    """Return a time as text that sorts no later than any stored form of it, to compare with ``>=`` and ``<``.

    Old events have no fraction of a second. They stay so, since seals cover their text.
    """
    return time.astimezone(UTC).isoformat()


def current_timestamp() -> str:
    """Return the current time as the database stores it."""
    return format_timestamp(datetime.now(UTC))
