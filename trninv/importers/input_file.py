"""Read untrusted files within size limits: as lines, JSON, JSON lines or YAML.

Every source reader, such as `ec2` and `neuron_ls`, gets an `InputFile`. Errors are collected with their positions.
"""

import gzip
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import IO, Any, Final

import orjson

from trninv.importers.json_value import MAX_INTEGER, MAX_KEY, ImportErrors, JsonValue, quote_value
from trninv.importers.yaml_parser import YamlError, parse_yaml

MAX_DOCUMENT: Final = 64 << 20
"""The maximum number of bytes of a file that is one document rather than one per line."""
MAX_LINE: Final = 1 << 20
"""The maximum number of bytes of a line."""
MAX_MEMORY: Final = 512 << 20
"""The maximum number of bytes of memory for a document's values, as estimated before parsing."""
_MAX_DEPTH: Final = 500
"""The maximum depth of nested objects and lists; json's own limit depends on Python's version and on the stack."""
_MEMORY_COSTS: Final = {b"{": 240, b"[": 64, b",": 64}
"""Approximate bytes of memory per character that begins an object or a list, or separates items or members. Characters
in strings are counted too, but are few."""
_YAML_MEMORY_COSTS: Final = _MEMORY_COSTS | {b"\n": 240, b"- ": 88}
"""In YAML a line may begin an object, and a dash may begin a list."""


class InputFile:
    """A file to read within the limits; gzip is unpacked.

    Attributes
    ----------
    name
        Its name in error messages.

    """

    def __init__(self, file: IO[bytes], name: str, errors: ImportErrors) -> None:
        self.name, self._errors = name, errors
        is_compressed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        self._file: IO[bytes] = gzip.GzipFile(fileobj=file) if is_compressed else file  # type: ignore[assignment]

    def add_error(self, message: str, *position: int | None) -> None:
        """Note an error in the file, at an optional line and column."""
        self._errors.add(":".join([self.name, *(str(number) for number in position if number is not None)]), message)

    def starts_with(self, prefix: bytes) -> bool:
        """Return whether the file starts with a prefix, ignoring leading blanks; then go back to its start."""
        bytes_left = self._errors.bytes_left
        line = next((line for _, line in self.lines(skip_long=False)), b"")
        self._file.seek(0)
        self._errors.bytes_left = bytes_left
        return line.lstrip().startswith(prefix)

    def wrap(self, raw: object, line: int | None = None) -> JsonValue:
        """Return a value whose errors name this file and line."""
        return JsonValue(raw, self._errors, self.name if line is None else f"{self.name}:{line}")

    def text_lines(self) -> Iterator[tuple[int, str]]:
        """Yield lines as text, with their numbers."""
        for number, line in self.lines():
            try:
                yield number, line.decode().rstrip("\r\n")
            except UnicodeDecodeError:
                self.add_error("is not UTF-8", number)

    def last_value(self) -> JsonValue | None:
        """Return the JSON value of the last complete line, or of the whole file if that is one JSON object."""
        first, last = b"", None
        for number, line in self.lines():
            if line.endswith(b"\n") or last is None:
                first, last = first or line, (number, line)
        if last is None:
            self.add_error("is empty")
            return None
        number, line = last
        try:
            return self.wrap(parse_json(line), number)
        except JsonError as error:
            if _starts_document(first):
                return self._reread_as_document()
            self.add_error(error.message, number, error.column)
            return None

    def _reread_as_document(self) -> JsonValue | None:
        """Return the whole file as one JSON value; its bytes count only once towards the limit."""
        bytes_left = self._errors.bytes_left
        self._file.seek(0)
        document = next(self._read_document(1, b""), None)
        self._errors.bytes_left = bytes_left
        return document

    def values(self) -> Iterator[JsonValue]:
        """Yield the JSON values: one per line, or the whole file as one if its first line is not JSON by itself."""
        lines = self.lines(skip_long=False)
        number, first = next(lines, (0, b""))
        if not first:
            self.add_error("is empty")
            return
        try:
            raw = parse_json(first)
        except JsonError:
            yield from self._read_document(number, first)
            return
        yield self.wrap(raw, number)
        for number, line in lines:
            try:
                raw = parse_json(line)
            except JsonError as error:
                self.add_error(error.message, number, error.column)
            else:
                yield self.wrap(raw, number)

    def yaml_or_json(self) -> Iterator[JsonValue]:
        """Yield the values of a file, which is YAML unless it begins with ``{`` or ``[``."""
        if self.starts_with(b"{") or self.starts_with(b"["):
            yield from self.values()
        elif (whole := self._read_whole(b"", 0, _YAML_MEMORY_COSTS)) is not None:
            try:
                parsed_documents = list(parse_yaml(whole))
            except YamlError as error:
                self.add_error(error.message, error.line, error.column)
            else:
                yield from (self.wrap(raw, line) for line, raw in parsed_documents)
                if not parsed_documents:
                    self.add_error("is empty")

    def lines(self, *, skip_long: bool = True) -> Iterator[tuple[int, bytes]]:
        """Yield lines that are not blank, with their numbers; note an error for a line that is too long.

        Parameters
        ----------
        skip_long
            False yields the beginning of a first line that is too long, instead of an error; the caller reads the rest.

        """
        number = 0
        while line := self._read_line(MAX_LINE):
            number += 1
            if len(line) == MAX_LINE and not line.endswith(b"\n") and (skip_long or number > 1):
                self.add_error(f"is a line of more than {MAX_LINE:,} bytes", number)
                while line and not line.endswith(b"\n"):
                    line = self._read_line(MAX_LINE)
            elif line.strip():
                yield number, line

    def _read_whole(self, first: bytes, lines: int, costs: Mapping[bytes, int] = _MEMORY_COSTS) -> bytes | None:
        """Return the whole file, whose beginning was read already; note an error and return None if it is too large.

        ``lines`` blank lines came before ``first``; they are restored for the line numbers in error messages.
        """
        chunks, size, memory = [b"\n" * lines, first], len(first), _estimate_memory(first, costs)
        while chunk := self._read_line(MAX_LINE):
            chunks.append(chunk)
            size, memory = size + len(chunk), memory + _estimate_memory(chunk, costs)
            if size > MAX_DOCUMENT or memory > MAX_MEMORY:
                limit = f"{MAX_DOCUMENT >> 20} MiB" if size > MAX_DOCUMENT else f"{MAX_MEMORY >> 20} MiB of values"
                self.add_error(f"is a document of more than {limit}; write one item per line")
                return None
        return b"".join(chunks)

    def _read_document(self, number: int, first: bytes) -> Iterator[JsonValue]:
        """Yield the whole file as one JSON value; ``first``, in line ``number``, was read already."""
        if (whole := self._read_whole(first, number - 1)) is None:
            return
        try:
            raw = parse_json(whole)
        except JsonError as error:
            self.add_error(error.message, error.line, error.column)
        else:
            yield self.wrap(raw)

    def _read_line(self, limit: int) -> bytes:
        """Return the next line, or the next ``limit`` bytes of a longer line; empty at the end of the file."""
        try:
            data = self._file.readline(limit)
        except (EOFError, OSError, zlib.error) as error:
            self.add_error(f"cannot be unpacked: {error}")
            return b""
        self._errors.count_bytes(self.name, len(data))
        return data


def _starts_document(line: bytes) -> bool:
    """Return whether a line begins an object that does not end in it."""
    try:
        parse_json(line)
    except JsonError:
        return line.lstrip().startswith(b"{")
    return False


def _estimate_memory(chunk: bytes, costs: Mapping[bytes, int] = _MEMORY_COSTS) -> int:
    """Return an upper estimate of the memory that the values in a part of a file take, in bytes."""
    return sum(chunk.count(mark) * cost for mark, cost in costs.items())


class JsonError(ValueError):
    """Raised for text that `parse_json` refuses, with the line and column if they are known."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


def parse_json(raw: bytes) -> Any:
    """Parse JSON, refusing duplicate keys, NaN, infinity and whole numbers of more than 63 bits.

    Raises
    ------
    JsonError
        The text is not JSON, or has something that is refused.

    """
    if (value := _parse_compact(raw)) is not None:
        return value
    try:
        decoder = _CHECKED_DECODER if _has_long_number(raw) else _DECODER
        value = decoder.decode(raw.decode())
    except UnicodeDecodeError as error:
        raise JsonError(f"is not UTF-8 at byte {error.start + 1}") from None
    except json.JSONDecodeError as error:
        raise JsonError(f"is not JSON: {error.msg[:1].lower()}{error.msg[1:]}", error.lineno, error.colno) from None
    except RecursionError:
        raise JsonError("is nested too deeply") from None
    if _is_deep(value):
        raise JsonError("is nested too deeply")
    return value


def _is_deep(value: Any) -> bool:
    """Return whether objects and lists are nested more than _MAX_DEPTH deep."""
    level: list[Any] = [[value]]
    for _ in range(_MAX_DEPTH + 1):
        items = (item for parent in level for item in (parent.values() if isinstance(parent, dict) else parent))
        if not (level := [item for item in items if isinstance(item, dict | list)]):
            return False
    return True


def _parse_compact(raw: bytes) -> Any:
    """Return the value of compact JSON; None for other text, which may still be JSON.

    Machines send compact JSON, and orjson takes a quarter of json's time. It would accept a key that occurs twice, but
    then its own output differs from the text.
    """
    text = raw.rstrip(b"\r\n")
    if _has_long_compact_number(text) or not _has_short_keys(text):
        return None
    try:
        value = orjson.loads(text)
        return value if orjson.dumps(value) == text else None
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return None


def _has_long_number(raw: bytes) -> bool:
    return _LONG_NUMBER in raw.translate(_DIGITS_TO_ZERO)


def _has_long_compact_number(text: bytes) -> bool:
    """Return the same for compact text, in which a number follows a colon, a comma or a bracket, or begins the text.

    Most digits within strings, such as those of a digest, are not taken for a number.
    """
    zeros = text.translate(_COMPACT_TO_ZERO, b"-")
    return zeros.startswith(_LONG_NUMBER) or any(start + _LONG_NUMBER in zeros for start in (b'":', b","))


def _has_short_keys(text: bytes) -> bool:
    """Return whether no key of compact text is longer than MAX_KEY, which is certain if no string is."""
    has_long_string = _LONG_STRING in text.replace(rb"\"", b"..").translate(_UNQUOTED)
    return not has_long_string or _SHORT_KEYS.fullmatch(text) is not None


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if max(map(len, members), default=0) > MAX_KEY:
        raise JsonError(f"has a key of more than {MAX_KEY} characters")
    if len(members) < len(pairs):
        names = Counter(name for name, _ in pairs)
        raise JsonError(f"has the key {quote_value(names.most_common(1)[0][0])} twice in one object")
    return members


def _refuse_constant(word: str) -> float:
    raise JsonError(f"has {word}, which is not JSON")


def _parse_integer(digits: str) -> int:
    if len(digits) > len(str(-MAX_INTEGER)) or abs(number := int(digits)) > MAX_INTEGER:
        raise JsonError(f"has a whole number of {len(digits):,} digits; at most 63 bits are allowed")
    return number


def _parse_float(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise JsonError(f"has the number {quote_value(digits)}, which is too large")
    return number


_HOOKS: Final[Mapping[str, Any]] = {
    "object_pairs_hook": _build_object,
    "parse_constant": _refuse_constant,
    "parse_float": _parse_float,
}
_DECODER, _CHECKED_DECODER = json.JSONDecoder(**_HOOKS), json.JSONDecoder(**_HOOKS, parse_int=_parse_integer)
_DIGITS_TO_ZERO, _LONG_NUMBER = bytes.maketrans(b"123456789", b"000000000"), b"0" * len(str(MAX_INTEGER))
"""A whole number can be too large only in text that has this many zeros in a row after all digits are replaced by 0.
Other text skips the slower check of each number."""
_COMPACT_TO_ZERO: Final = bytes.maketrans(b"123456789[", b"000000000,")
_UNQUOTED: Final = bytes(character if character == ord('"') else ord(".") for character in range(256))
_LONG_STRING: Final = b"." * (MAX_KEY + 1)
"""Text with a string longer than MAX_KEY has this many dots in a row after all but quotes is replaced by dots."""
_SHORT_KEYS: Final = re.compile(
    rb'(?:[^"]++|"[^"\\]{0,%d}+"|"(?:[^"\\]|\\.){0,%d}+"|"(?:[^"\\]++|\\.)*+"(?!:))*+' % (MAX_KEY, MAX_KEY), re.DOTALL
)
"""Compact text in which no string before a colon is longer than MAX_KEY, so that no key is.

All repetitions are possessive: a string is read at most three times, whatever it contains.
"""
