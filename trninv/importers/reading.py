"""Reading what others wrote, without trust: limits before parsing, and every fault with its file and position."""

import gzip
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any, Final

from trninv.characters import refused
from trninv.errors import FileError
from trninv.units import counted

MAX_FILE: Final = 1 << 30
"""Bytes of a file, unpacked."""
MAX_DOCUMENT: Final = 64 << 20
"""Bytes of a document that is not one of many, line by line."""
MAX_LINE: Final = 1 << 20
MAX_TEXT: Final = 4_096
MAX_NAME: Final = 253
MAX_ITEMS: Final = 100_000
MAX_TOLD: Final = 1_000
"""Faults that are told; all are counted."""
_LARGEST = 2**63 - 1
_MAX_SHOWN = 60
_BDF = re.compile(r"(?:([0-9a-f]{4}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])")
_UNKNOWN = ("", "null")


@dataclass(slots=True)
class Faults:
    """What is wrong in a set of files."""

    told: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, where: str, what: str) -> None:
        """Note a fault."""
        self.count += 1
        if len(self.told) < MAX_TOLD:
            self.told.append(f"{where}: {what}")

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

    def is_a(self, kind: type, called: str, most: int = _LARGEST) -> bool:
        """Whether it is of a kind; a fault if not."""
        fits = isinstance(self.of, kind) and not isinstance(self.of, bool)
        if fits and (kind is not int or 0 <= self.of <= most):
            return True
        self.fault(f"is {_shown(self.of)}, not {called}")
        return False

    def as_text(self) -> str | None:
        """Text; "", "null" and null are unknown."""
        if self.of is None or self.of in _UNKNOWN:
            return None
        if isinstance(self.of, str) and len(self.of) <= MAX_TEXT and not refused(self.of):
            return self.of
        self.fault(f"is {_shown(self.of)}, not a text of up to {MAX_TEXT:,} characters")
        return None

    def as_name(self) -> str | None:
        """What a machine or a thing is called: printable, without blanks."""
        found = self.as_text()
        if found is None or (len(found) <= MAX_NAME and found.isprintable() and " " not in found):
            return found
        self.fault(f"is {_shown(found)}, not a name of up to {MAX_NAME} printable characters without blanks")
        return None

    def as_integer(self, most: int = _LARGEST) -> int | None:
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
        self.fault(f"is {_shown(text)}, not a whole number from 0 to {most:,}")
        return None

    def as_bdf(self) -> str | None:
        """A PCI address, with its domain."""
        found = self.as_text()
        if found is None:
            return None
        if parts := _BDF.fullmatch(found.lower()):
            return f"{parts[1] or '0000'}:{parts[2]}"
        self.fault(f"is {_shown(found)}, not a PCI address such as 0000:cc:00.0")
        return None

    def _items(self) -> Iterator["Value"]:
        if self.of is None or not self.is_a(list, "a list"):
            return
        if len(self.of) > MAX_ITEMS:
            self.fault(f"has {len(self.of):,} items: {MAX_ITEMS:,} are read at most")
            return
        for number, each in enumerate(self.of):
            yield Value(each, self.faults, self, number)


class Source:
    """A file, of which no more than the limits allow is read; gzip is unpacked.

    Attributes
    ----------
    name
        What faults call it.

    """

    def __init__(self, file: IO[bytes], name: str, faults: Faults) -> None:
        self.name, self._faults, self._left = name, faults, MAX_FILE
        is_packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        self._file: IO[bytes] = gzip.GzipFile(fileobj=file) if is_packed else file  # type: ignore[assignment]

    def fault(self, what: str, *where: int | None) -> None:
        """Note that something is wrong in it, at a line and column."""
        self._faults.add(":".join([self.name, *(str(each) for each in where if each is not None)]), what)

    def begins_with(self, start: bytes) -> bool:
        """Whether its first bytes that are not blank are these."""
        line = next((line for _, line in self.lines(skip=False)), b"")
        self._file.seek(0)
        self._left = MAX_FILE
        return line.lstrip().startswith(start)

    def value(self, of: object, line: int | None = None) -> Value:
        """A value that stands in it."""
        return Value(of, self._faults, self.name if line is None else f"{self.name}:{line}")

    def texts(self) -> Iterator[tuple[int, str]]:
        """Lines as text, with their numbers."""
        for number, line in self.lines():
            try:
                yield number, line.decode().rstrip("\r\n")
            except UnicodeDecodeError:
                self.fault("is not UTF-8", number)

    def last_line(self) -> Value | None:
        """The JSON value of the last line that has an end."""
        last = None
        for number, line in self.lines():
            if line.endswith(b"\n") or last is None:
                last = number, line
        if last is None:
            self.fault("is empty")
            return None
        number, line = last
        try:
            return self.value(parsed(line), number)
        except JsonError as error:
            self.fault(error.what, number, error.column)
            return None

    def values(self) -> Iterator[Value]:
        """The JSON values: one a line, or the whole file is one.

        A first line that is no JSON by itself begins a document of many lines.
        """
        lines = self.lines(skip=False)
        number, first = next(lines, (0, b""))
        if not first:
            self.fault("is empty")
            return
        try:
            found = parsed(first)
        except JsonError:
            yield from self._document(number, first)
            return
        yield self.value(found, number)
        for number, line in lines:
            try:
                found = parsed(line)
            except JsonError as error:
                self.fault(error.what, number, error.column)
            else:
                yield self.value(found, number)

    def lines(self, *, skip: bool = True) -> Iterator[tuple[int, bytes]]:
        """Lines that are not blank, with their numbers; one that is too long is a fault.

        Parameters
        ----------
        skip
            False gives the beginning of a first line that is too long, after which the rest follows.

        """
        number = 0
        while line := self._read(MAX_LINE):
            number += 1
            if len(line) == MAX_LINE and not line.endswith(b"\n") and (skip or number > 1):
                self.fault(f"is a line of more than {MAX_LINE:,} bytes", number)
                while line and not line.endswith(b"\n"):
                    line = self._read(MAX_LINE)
            elif line.strip():
                yield number, line

    def _document(self, number: int, first: bytes) -> Iterator[Value]:
        pieces, size = [b"\n" * (number - 1), first], len(first)
        while piece := self._read(MAX_LINE):
            pieces.append(piece)
            if (size := size + len(piece)) > MAX_DOCUMENT:
                self.fault(f"is a document of more than {MAX_DOCUMENT >> 20} MiB: give its items one a line")
                return
        try:
            found = parsed(b"".join(pieces))
        except JsonError as error:
            self.fault(error.what, error.line, error.column)
        else:
            yield self.value(found)

    def _read(self, most: int) -> bytes:
        try:
            found = self._file.readline(most)
        except (EOFError, OSError, zlib.error) as error:
            self.fault(f"cannot be unpacked: {error}")
            return b""
        self._left -= len(found)
        if self._left < 0:
            self.fault(f"has more than {MAX_FILE >> 30} GiB")
            return b""
        return found


class JsonError(ValueError):
    """Text that is not JSON as it is read here, with its line and column where they are known."""

    def __init__(self, what: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(what)
        self.what, self.line, self.column = what, line, column


def parsed(raw: bytes) -> Any:
    """A JSON value: every key once, no NaN, whole numbers of 63 bits.

    Raises
    ------
    JsonError

    """
    try:
        return _DECODER.decode(raw.decode())
    except UnicodeDecodeError as error:
        raise JsonError(f"is not UTF-8 at byte {error.start + 1}") from None
    except json.JSONDecodeError as error:
        raise JsonError(f"is not JSON: {error.msg[:1].lower()}{error.msg[1:]}", error.lineno, error.colno) from None
    except RecursionError:
        raise JsonError("is nested too deeply") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = Counter(name for name, _ in pairs)
        raise JsonError(f"has the key {_shown(names.most_common(1)[0][0])} twice in one object")
    return found


def _constant(word: str) -> float:
    raise JsonError(f"has {word}, which is no JSON")


def _integer(digits: str) -> int:
    if len(digits) > len(str(-_LARGEST)) or abs(found := int(digits)) > _LARGEST:
        raise JsonError(f"has a whole number of {len(digits):,} digits: 63 bits are the most")
    return found


def _float(digits: str) -> float:
    if not math.isfinite(found := float(digits)):
        raise JsonError(f"has the number {_shown(digits)}, which is too large")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer, parse_float=_float)


def _shown(value: object) -> str:
    """A value in an error: short, on one line, without what a terminal would obey."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = ascii(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
