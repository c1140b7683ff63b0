"""Refuse characters that cannot be stored, and escape those that control a terminal.

Character 0 cannot be stored in PostgreSQL, and surrogates cannot be encoded in UTF-8.
"""

import re
from collections.abc import Iterator

_FORBIDDEN = re.compile("[\0\ud800-\udfff]")

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters, with escape and line ends, and characters that change the direction of writing."""

FORBIDDEN_MESSAGE = "has character 0 or half of a surrogate pair; remove it"
"""The message for a value with such a character, to follow its name."""


def has_forbidden_characters(value: object) -> bool:
    """Return whether a text, or any text in nested lists and maps, has a forbidden character."""
    if isinstance(value, str):
        return _FORBIDDEN.search(value) is not None
    return any(isinstance(part, str) and _FORBIDDEN.search(part) for part in _values(value))


def escape_controls(text: str, *, keep: str = "") -> str:
    """Escape control characters as JSON does, except those in `keep`."""
    return _CONTROLS.sub(lambda match: match[0] if match[0] in keep else f"\\u{ord(match[0]):04x}", text)


def count_values(value: object) -> int:
    """Count the values in nested lists and maps."""
    return sum(1 for _ in _values(value))


def _values(value: object) -> Iterator[object]:
    remaining = [value]
    while remaining:
        yield (part := remaining.pop())
        if isinstance(part, dict):
            remaining += part
            remaining += part.values()
        elif isinstance(part, list):
            remaining += part
