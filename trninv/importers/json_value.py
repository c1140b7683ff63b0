"""Access untrusted JSON and collect errors with their positions.

Source readers use `JsonValue` instead of raw values: a member of the wrong type becomes an error in the import's list
and reads as None, so that one run reports all errors of all files.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from trninv.characters import FORBIDDEN_MESSAGE, has_forbidden_characters
from trninv.errors import InvalidFileError
from trninv.units import pluralize

MAX_TOTAL_BYTES: Final = 1 << 30
"""The maximum number of unpacked bytes of all files of one import."""
MAX_KEY: Final = 256
"""The maximum length of an object's key, in characters."""
MAX_TEXT: Final = 4_096
"""The maximum length of a text, in characters."""
MAX_NAME: Final = 253
"""The maximum length of a host name, in characters."""
MAX_ITEMS: Final = 100_000
"""The maximum number of items of a list."""
MAX_MESSAGES: Final = 1_000
"""The maximum number of errors that are reported; all are counted."""
MAX_INTEGER: Final = 2**63 - 1
_MAX_QUOTED = 60
_BDF = re.compile(r"(?:([0-9a-f]{4}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])")
"""A PCI address: an optional domain, then bus:device.function."""
_UNKNOWN_TEXTS = ("", "null")
"""Texts that tools write for an unknown value."""


@dataclass(slots=True)
class ImportErrors:
    """The errors in the files of one import, and how many more bytes of these files may be read."""

    messages: list[str] = field(default_factory=list)
    count: int = 0
    bytes_left: int = field(default_factory=lambda: MAX_TOTAL_BYTES)

    def add(self, where: str, message: str) -> None:
        """Note an error."""
        self.count += 1
        if len(self.messages) < MAX_MESSAGES:
            self.messages.append(f"{where}: {message}")

    def count_bytes(self, where: str, size: int) -> None:
        """Count bytes that were read.

        Raises
        ------
        InvalidFileError
            The files together are larger than the limit.

        """
        self.bytes_left -= size
        if self.bytes_left < 0:
            self.add(where, f"exceeds {MAX_TOTAL_BYTES >> 20:,} MiB, the limit of one import; import it in parts")
            self.raise_if_any()

    def raise_if_any(self) -> None:
        """Raise InvalidFileError, which refuses the import, if there are errors."""
        if self.count:
            raise InvalidFileError(f"{pluralize(self.count, 'error')}; nothing was imported", self.messages)


class JsonValue:
    """A JSON value with its position: file, line and path.

    Parameters
    ----------
    parent
        The value that contains it, or the file and line where it begins.

    """

    __slots__ = ("_key", "_parent", "errors", "raw")

    def __init__(self, raw: Any, errors: ImportErrors, parent: "JsonValue | str", key: str | int = "") -> None:
        self.raw, self.errors, self._parent, self._key = raw, errors, parent, key

    @property
    def where(self) -> str:
        """The position for error messages, such as ``nodes.json:3.items[0].name``."""
        if isinstance(self._parent, str):
            return self._parent
        return (
            f"{self._parent.where}[{self._key}]" if isinstance(self._key, int) else f"{self._parent.where}.{self._key}"
        )

    def add_error(self, message: str) -> None:
        """Note an error at this position."""
        self.errors.add(self.where, message)

    def get(self, name: str) -> "JsonValue":
        """Return a member of an object; null if there is none."""
        return JsonValue(self.raw.get(name) if isinstance(self.raw, dict) else None, self.errors, self, name)

    def with_raw(self, raw: object) -> "JsonValue":
        """Return another value at the same position."""
        return JsonValue(raw, self.errors, self._parent, self._key)

    def objects(self) -> Iterator["JsonValue"]:
        """Return the items of a list that are objects, and note errors for others; no items if the value is null."""
        return (item for item in self._items() if item.is_a(dict, "an object"))

    def integers(self, limit: int) -> tuple[int, ...] | None:
        """Return the items of a list that are whole numbers from 0 to the limit; None if the value is null."""
        items = [item for item in self._items() if item.is_a(int, f"a whole number from 0 to {limit}", limit)]
        return None if self.raw is None else tuple(item.raw for item in items)

    def names(self) -> tuple[str, ...] | None:
        """Return the items of a list that are names; None if the value is null."""
        names = [item.as_name() for item in self._items()]
        return None if self.raw is None else tuple(name for name in names if name is not None)

    def is_a(self, kind: type, description: str, limit: int = MAX_INTEGER) -> bool:
        """Return whether the value is of a type, and note an error if not."""
        is_kind = isinstance(self.raw, kind) and not isinstance(self.raw, bool)
        if is_kind and (kind is not int or 0 <= self.raw <= limit):
            return True
        self.add_error(f"is {quote_value(self.raw)}, not {description}")
        return False

    def as_text(self) -> str | None:
        """Return the value as text; None for "", "null" and null."""
        if self.raw is None or self.raw in _UNKNOWN_TEXTS:
            return None
        if not isinstance(self.raw, str) or len(self.raw) > MAX_TEXT:
            self.add_error(f"is {quote_value(self.raw)}, not text of up to {MAX_TEXT:,} characters")
            return None
        if has_forbidden_characters(self.raw):
            self.add_error(f"is {quote_value(self.raw)}, which {FORBIDDEN_MESSAGE}")
            return None
        return self.raw

    def as_name(self) -> str | None:
        """Return the value as a printable name without blanks; None for "", "null" and null."""
        text = self.as_text()
        if text is None or (len(text) <= MAX_NAME and text.isprintable() and " " not in text):
            return text
        self.add_error(f"is {quote_value(text)}, not a name of up to {MAX_NAME} printable characters without blanks")
        return None

    def as_integer(self, limit: int = MAX_INTEGER) -> int | None:
        """Return the value as a whole number from 0; None for null, or for an object of Slurm that is not set."""
        if isinstance(self.raw, dict) and "number" in self.raw:
            return self.get("number").as_integer(limit) if self.raw.get("set") is True else None
        if self.raw is None or not self.is_a(int, f"a whole number from 0 to {limit:,}", limit):
            return None
        return int(self.raw)

    def as_digits(self, limit: int) -> int | None:
        """Return the value as a whole number from 0, which may be written as text; None for null, -1, "" and "null"."""
        text = self.as_text() if isinstance(self.raw, str) else None
        if text is None:
            return None if self.raw in (-1, *_UNKNOWN_TEXTS) else self.as_integer(limit)
        if text == "-1":
            return None
        if text.isdecimal() and text.isascii() and len(text) <= len(str(limit)) and int(text) <= limit:
            return int(text)
        self.add_error(f"is {quote_value(text)}, not a whole number from 0 to {limit:,}")
        return None

    def as_bdf(self) -> str | None:
        """Return the value as a PCI address with its domain, which is 0000 if not written; None for null."""
        text = self.as_text()
        if text is None:
            return None
        if parts := _BDF.fullmatch(text.lower()):
            return f"{parts[1] or '0000'}:{parts[2]}"
        self.add_error(f"is {quote_value(text)}, not a PCI address such as 0000:cc:00.0")
        return None

    def _items(self) -> Iterator["JsonValue"]:
        if self.raw is None or not self.is_a(list, "a list"):
            return
        if len(self.raw) > MAX_ITEMS:
            self.add_error(f"has {len(self.raw):,} items; at most {MAX_ITEMS:,} are read")
            return
        for index, raw in enumerate(self.raw):
            yield JsonValue(raw, self.errors, self, index)


def quote_value(value: object) -> str:
    """Return a value for an error message: short, on one line, without control characters."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = ascii(value)
    return text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…"
