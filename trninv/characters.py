"""Characters that no text here has: 0, which PostgreSQL does not keep, and surrogates, which UTF-8 can't write."""

import re

_REFUSED = re.compile("[\0\ud800-\udfff]")

SAYS = "has character 0 or half of a surrogate pair, which no text here has: leave it out"
"""What is wrong with a value that has one, and what to do."""


def refused(value: object) -> bool:
    """Whether a text, or one in lists and maps, has such a character."""
    left = [value]
    while left:
        match left.pop():
            case str() as text if _REFUSED.search(text):
                return True
            case dict() as members:
                left += members
                left += members.values()
            case list() as items:
                left += items
    return False
