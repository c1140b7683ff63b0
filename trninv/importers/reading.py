"""Reading files that others wrote: limits before parsing, and every fault with its file and position."""

import gzip
import json
import math
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import IO, Any, Final

from trninv.importers.value import LARGEST, MAX_KEY, Faults, Value, shown
from trninv.importers.yaml_text import YamlError, documents

MAX_DOCUMENT: Final = 64 << 20
"""Bytes of a document that is not one of many, line by line."""
MAX_LINE: Final = 1 << 20
MAX_MEMORY: Final = 512 << 20
"""Bytes of memory that the values of a document may take."""
_TAKES: Final = {b"{": 240, b"[": 64, b",": 64}
"""Bytes that an object, a list, and an item or member take, about; counted in texts too, since they are few there."""


_YAML_TAKES: Final = _TAKES | {b"\n": 240, b"- ": 88}
"""In YAML a line may begin an object, and a dash a list."""


class Source:
    """A file, of which no more than the limits allow is read; gzip is unpacked.

    Attributes
    ----------
    name
        What faults call it.

    """

    def __init__(self, file: IO[bytes], name: str, faults: Faults) -> None:
        self.name, self._faults = name, faults
        is_packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        self._file: IO[bytes] = gzip.GzipFile(fileobj=file) if is_packed else file  # type: ignore[assignment]

    def fault(self, what: str, *where: int | None) -> None:
        """Note that something is wrong in it, at a line and column."""
        self._faults.add(":".join([self.name, *(str(each) for each in where if each is not None)]), what)

    def begins_with(self, start: bytes) -> bool:
        """Whether its first bytes that are not blank are these."""
        left = self._faults.left
        line = next((line for _, line in self.lines(skip=False)), b"")
        self._file.seek(0)
        self._faults.left = left
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

    def last_value(self) -> Value | None:
        """The JSON value of the last line that has an end, or of the whole file if its first line begins one."""
        first, last = b"", None
        for number, line in self.lines():
            if line.endswith(b"\n") or last is None:
                first, last = first or line, (number, line)
        if last is None:
            self.fault("is empty")
            return None
        number, line = last
        try:
            return self.value(parsed(line), number)
        except JsonError as error:
            if _begins_document(first):
                return self._again()
            self.fault(error.what, number, error.column)
            return None

    def _again(self) -> Value | None:
        """The whole file as one JSON value; what was read of it before does not count."""
        left = self._faults.left
        self._file.seek(0)
        found = next(self._document(1, b""), None)
        self._faults.left = left
        return found

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

    def yaml_or_json(self) -> Iterator[Value]:
        """The values of a file that is YAML unless it begins as JSON does."""
        if self.begins_with(b"{") or self.begins_with(b"["):
            yield from self.values()
        elif (whole := self._whole(b"", 0, _YAML_TAKES)) is not None:
            try:
                found = list(documents(whole))
            except YamlError as error:
                self.fault(error.what, error.line, error.column)
            else:
                yield from (self.value(each, line) for line, each in found)
                if not found:
                    self.fault("is empty")

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

    def _whole(self, first: bytes, lines: int, takes: Mapping[bytes, int] = _TAKES) -> bytes | None:
        """All from a piece on, after so many blank lines; None, and a fault, where it is too large."""
        pieces, size, memory = [b"\n" * lines, first], len(first), _memory(first, takes)
        while piece := self._read(MAX_LINE):
            pieces.append(piece)
            size, memory = size + len(piece), memory + _memory(piece, takes)
            if size > MAX_DOCUMENT or memory > MAX_MEMORY:
                most = f"{MAX_DOCUMENT >> 20} MiB" if size > MAX_DOCUMENT else f"{MAX_MEMORY >> 20} MiB of values"
                self.fault(f"is a document of more than {most}: give its items one a line")
                return None
        return b"".join(pieces)

    def _document(self, number: int, first: bytes) -> Iterator[Value]:
        if (whole := self._whole(first, number - 1)) is None:
            return
        try:
            found = parsed(whole)
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
        self._faults.spend(self.name, len(found))
        return found


def _begins_document(line: bytes) -> bool:
    """Whether a line begins an object that does not end in it."""
    try:
        parsed(line)
    except JsonError:
        return line.lstrip().startswith(b"{")
    return False


def _memory(piece: bytes, takes: Mapping[bytes, int] = _TAKES) -> int:
    """What the values in a piece will take at most, about."""
    return sum(piece.count(mark) * each for mark, each in takes.items())


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
        decoder = _CAREFUL if _LONG in raw.translate(_AS_ZERO) else _DECODER
        return decoder.decode(raw.decode())
    except UnicodeDecodeError as error:
        raise JsonError(f"is not UTF-8 at byte {error.start + 1}") from None
    except json.JSONDecodeError as error:
        raise JsonError(f"is not JSON: {error.msg[:1].lower()}{error.msg[1:]}", error.lineno, error.colno) from None
    except RecursionError:
        raise JsonError("is nested too deeply") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if max(map(len, found), default=0) > MAX_KEY:
        raise JsonError(f"has a key of more than {MAX_KEY} characters")
    if len(found) < len(pairs):
        names = Counter(name for name, _ in pairs)
        raise JsonError(f"has the key {shown(names.most_common(1)[0][0])} twice in one object")
    return found


def _constant(word: str) -> float:
    raise JsonError(f"has {word}, which is no JSON")


def _integer(digits: str) -> int:
    if len(digits) > len(str(-LARGEST)) or abs(found := int(digits)) > LARGEST:
        raise JsonError(f"has a whole number of {len(digits):,} digits: 63 bits are the most")
    return found


def _float(digits: str) -> float:
    if not math.isfinite(found := float(digits)):
        raise JsonError(f"has the number {shown(digits)}, which is too large")
    return found


_HOOKS: Final[Mapping[str, Any]] = {
    "object_pairs_hook": _object,
    "parse_constant": _constant,
    "parse_float": _float,
}
_DECODER, _CAREFUL = json.JSONDecoder(**_HOOKS), json.JSONDecoder(**_HOOKS, parse_int=_integer)
_AS_ZERO, _LONG = bytes.maketrans(b"123456789", b"000000000"), b"0" * len(str(LARGEST))
"""Only text with so many digits beside each other may have a whole number that is too large."""
