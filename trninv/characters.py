"""Characters that no text here has: 0, which PostgreSQL does not keep, and surrogates, which UTF-8 can't write.

And those that a terminal would obey instead of showing them.
"""

import re
from collections.abc import Iterator

_FORBIDDEN = re.compile("[\0\ud800-\udfff]")

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Controls, escape sequences among them, ends of lines, and what turns the direction of writing."""

FORBIDDEN_MESSAGE = "has character 0 or half of a surrogate pair, which no text here has: leave it out"
"""What is wrong with a value that has one, and what to do."""


def has_forbidden_characters(value: object) -> bool:
    """Whether a text, or one in lists and maps, has such a character."""
    if isinstance(value, str):
        return _FORBIDDEN.search(value) is not None
    return any(isinstance(part, str) and _FORBIDDEN.search(part) for part in _values(value))


def escape_controls(text: str, *, keep: str = "") -> str:
    """A text for a terminal: what it would obey is written as JSON writes it, but for these characters."""
    return _CONTROLS.sub(lambda match: match[0] if match[0] in keep else f"\\u{ord(match[0]):04x}", text)


def count_values(value: object) -> int:
    """How many values there are in lists and maps."""
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
