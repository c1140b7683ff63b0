"""Files that something happened to on the way."""

import random


def _once(content: bytes, dice: random.Random) -> bytes:
    """A file with something cut out, doubled, swapped or replaced."""
    start, stop = sorted(dice.randrange(len(content) + 1) for _ in "ab")
    stop = min(stop, start + dice.choice([1, 5, 50]))
    words = (
        b'"',
        b"{",
        b"[",
        b"null",
        b"-1",
        b"true",
        b"1e400",
        b"\0",
        b"\xff",
        b"\n",
        b"[]",
        b"{}",
        b'"x"',
        b"NaN",
        b"",
    )
    return content[:start] + dice.choice([*words, content[start:stop] * 2]) + content[stop:]


def spoilt(content: bytes, dice: random.Random) -> bytes:
    """A file that this happened to once or several times."""
    for _ in range(dice.randint(1, 3)):
        content = _once(content, dice)
    return content
