"""Characters that no text here has: 0, which PostgreSQL does not keep, and surrogates, which UTF-8 can't write.

And those that a terminal would obey instead of showing them.
"""

import re
from collections.abc import Iterator

_REFUSED = re.compile("[\0\ud800-\udfff]")

_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Controls, escape sequences among them, ends of lines, and what turns the direction of writing."""

SAYS = "has character 0 or half of a surrogate pair, which no text here has: leave it out"
"""What is wrong with a value that has one, and what to do."""


def refused(value: object) -> bool:
    """Whether a text, or one in lists and maps, has such a character."""
    if isinstance(value, str):
        return _REFUSED.search(value) is not None
    return any(isinstance(part, str) and _REFUSED.search(part) for part in _parts(value))


def plain(text: str, *, but: str = "") -> str:
    """A text for a terminal: what it would obey is written as JSON writes it, but for these characters."""
    return _OBEYED.sub(lambda found: found[0] if found[0] in but else f"\\u{ord(found[0]):04x}", text)


def parts(value: object) -> int:
    """How many values there are in lists and maps."""
    return sum(1 for _ in _parts(value))


def _parts(value: object) -> Iterator[object]:
    left = [value]
    while left:
        yield (part := left.pop())
        if isinstance(part, dict):
            left += part
            left += part.values()
        elif isinstance(part, list):
            left += part
