"""Refuse characters that cannot be stored, and escape those that control a terminal.

Character 0 cannot be stored in PostgreSQL, and surrogates cannot be encoded in UTF-8.
"""

import re
from collections.abc import Iterator

_FORBIDDEN = re.compile("[\0\ud800-\udfff]")

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters, including escape and line ends, and characters that change the direction of writing."""

FORBIDDEN_MESSAGE = "has character 0 or half of a surrogate pair; remove it"
"""The end of an error message; the caller puts the name of the refused value before it."""


def has_forbidden_characters(value: object) -> bool:
    """Return whether a text, or any text in nested lists and maps, has a forbidden character."""
    if isinstance(value, str):
        return _FORBIDDEN.search(value) is not None
    return any(isinstance(inner, str) and _FORBIDDEN.search(inner) for inner in _values(value))


def escape_controls(text: str, *, keep: str = "") -> str:
    r"""Escape control characters in the form ``\u000a``, except those in `keep`."""
    return _CONTROLS.sub(lambda match: match[0] if match[0] in keep else f"\\u{ord(match[0]):04x}", text)


def count_values(value: object) -> int:
    """Count a value and all keys, values and items nested in it."""
    return sum(1 for _ in _values(value))


def _values(value: object) -> Iterator[object]:
    """Yield a value and all keys, values and items nested in it, without recursion."""
    remaining = [value]
    while remaining:
        yield (inner := remaining.pop())
        if isinstance(inner, dict):
            remaining += inner
            remaining += inner.values()
        elif isinstance(inner, list):
            remaining += inner
