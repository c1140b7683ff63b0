"""A JSON value that is read without trust: what is wrong is noted with its place, and reading goes on."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from trninv.characters import refused
from trninv.errors import FileError
from trninv.units import counted

MAX_SET: Final = 1 << 30
"""Bytes of all files that are read at once, unpacked."""
MAX_KEY: Final = 256
MAX_TEXT: Final = 4_096
MAX_NAME: Final = 253
MAX_ITEMS: Final = 100_000
MAX_TOLD: Final = 1_000
"""Faults that are told; all are counted."""
LARGEST: Final = 2**63 - 1
_MAX_SHOWN = 60
_BDF = re.compile(r"(?:([0-9a-f]{4}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])")
_UNKNOWN = ("", "null")


@dataclass(slots=True)
class Faults:
    """What is wrong in a set of files, and how many bytes of it may still be read."""

    told: list[str] = field(default_factory=list)
    count: int = 0
    left: int = field(default_factory=lambda: MAX_SET)

    def add(self, where: str, what: str) -> None:
        """Note a fault."""
        self.count += 1
        if len(self.told) < MAX_TOLD:
            self.told.append(f"{where}: {what}")

    def spend(self, where: str, size: int) -> None:
        """Count bytes that were read.

        Raises
        ------
        FileError
            The set has more than are read: what follows is not.

        """
        self.left -= size
        if self.left < 0:
            self.add(where, f"is beyond {MAX_SET >> 20:,} MiB, the most that is read at once: import it in parts")
            self.raise_if_any()

    def raise_if_any(self) -> None:
        """Of files with faults nothing is imported.

        Raises
        ------
        FileError

        """
        if self.count:
            raise FileError(f"{counted(self.count, 'fault')}: nothing was imported", self.told)


class Value:
    """A JSON value, and where it stands: file, line, path.

    Parameters
    ----------
    within
        The value that it is a part of, or the file and line where it begins.

    """

    __slots__ = ("_key", "_within", "faults", "of")

    def __init__(self, of: Any, faults: Faults, within: "Value | str", key: str | int = "") -> None:
        self.of, self.faults, self._within, self._key = of, faults, within, key

    @property
    def where(self) -> str:
        """Its place, for a fault."""
        if isinstance(self._within, str):
            return self._within
        return (
            f"{self._within.where}[{self._key}]" if isinstance(self._key, int) else f"{self._within.where}.{self._key}"
        )

    def fault(self, what: str) -> None:
        """Note that something is wrong here."""
        self.faults.add(self.where, what)

    def get(self, name: str) -> "Value":
        """A member of an object; null where there is none."""
        return Value(self.of.get(name) if isinstance(self.of, dict) else None, self.faults, self, name)

    def with_(self, of: object) -> "Value":
        """Another value in its place."""
        return Value(of, self.faults, self._within, self._key)

    def objects(self) -> Iterator["Value"]:
        """The items of a list of objects; none of null."""
        return (item for item in self._items() if item.is_a(dict, "an object"))

    def integers(self, most: int) -> tuple[int, ...] | None:
        """The items of a list of whole numbers from 0; None of null."""
        found = [item for item in self._items() if item.is_a(int, f"a whole number from 0 to {most}", most)]
        return None if self.of is None else tuple(item.of for item in found)

    def names(self) -> tuple[str, ...] | None:
        """The items of a list of names; None of null."""
        found = [item.as_name() for item in self._items()]
        return None if self.of is None else tuple(name for name in found if name is not None)

    def is_a(self, kind: type, called: str, most: int = LARGEST) -> bool:
        """Whether it is of a kind; a fault if not."""
        fits = isinstance(self.of, kind) and not isinstance(self.of, bool)
        if fits and (kind is not int or 0 <= self.of <= most):
            return True
        self.fault(f"is {shown(self.of)}, not {called}")
        return False

    def as_text(self) -> str | None:
        """Text; "", "null" and null are unknown."""
        if self.of is None or self.of in _UNKNOWN:
            return None
        if isinstance(self.of, str) and len(self.of) <= MAX_TEXT and not refused(self.of):
            return self.of
        self.fault(f"is {shown(self.of)}, not a text of up to {MAX_TEXT:,} characters")
        return None

    def as_name(self) -> str | None:
        """What a machine or a thing is called: printable, without blanks."""
        found = self.as_text()
        if found is None or (len(found) <= MAX_NAME and found.isprintable() and " " not in found):
            return found
        self.fault(f"is {shown(found)}, not a name of up to {MAX_NAME} printable characters without blanks")
        return None

    def as_integer(self, most: int = LARGEST) -> int | None:
        """A whole number from 0; Slurm's {set, infinite, number} is one, and null is unknown."""
        if isinstance(self.of, dict) and "number" in self.of:
            return self.get("number").as_integer(most) if self.of.get("set") is True else None
        if self.of is None or not self.is_a(int, f"a whole number from 0 to {most:,}", most):
            return None
        return int(self.of)

    def as_digits(self, most: int) -> int | None:
        """A whole number from 0 that may be written as text; null and -1 are unknown."""
        text = self.as_text() if isinstance(self.of, str) else None
        if text is None:
            return None if self.of in (-1, *_UNKNOWN) else self.as_integer(most)
        if text == "-1":
            return None
        if text.isdecimal() and text.isascii() and len(text) <= len(str(most)) and int(text) <= most:
            return int(text)
        self.fault(f"is {shown(text)}, not a whole number from 0 to {most:,}")
        return None

    def as_bdf(self) -> str | None:
        """A PCI address, with its domain."""
        found = self.as_text()
        if found is None:
            return None
        if parts := _BDF.fullmatch(found.lower()):
            return f"{parts[1] or '0000'}:{parts[2]}"
        self.fault(f"is {shown(found)}, not a PCI address such as 0000:cc:00.0")
        return None

    def _items(self) -> Iterator["Value"]:
        if self.of is None or not self.is_a(list, "a list"):
            return
        if len(self.of) > MAX_ITEMS:
            self.fault(f"has {len(self.of):,} items: {MAX_ITEMS:,} are read at most")
            return
        for number, each in enumerate(self.of):
            yield Value(each, self.faults, self, number)


def shown(value: object) -> str:
    """A value in an error: short, on one line, without what a terminal would obey."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = ascii(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
