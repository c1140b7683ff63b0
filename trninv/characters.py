"""Characters that no text here has: 0, which PostgreSQL does not keep, and surrogates, which UTF-8 can't write."""

import re
from collections.abc import Iterator

_REFUSED = re.compile("[\0\ud800-\udfff]")

SAYS = "has character 0 or half of a surrogate pair, which no text here has: leave it out"
"""What is wrong with a value that has one, and what to do."""


def refused(value: object) -> bool:
    """Whether a text, or one in lists and maps, has such a character."""
    return any(isinstance(part, str) and _REFUSED.search(part) for part in _parts(value))


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
