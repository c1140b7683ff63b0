"""Chips of a server in few words, as answers print them: u-trn2x64/d0/s0/c0-3,8 stands for five chips."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from trninv.errors import AddressError, LimitError

MOST: Final = 100_000
"""Addresses that are written out at a time."""
_CHIPS = re.compile(r"(.*/c)(\d{1,3}(?:-\d{1,3})?(?:,\d{1,3}(?:-\d{1,3})?)*)", re.ASCII | re.DOTALL)


def each_of(addresses: Iterable[str]) -> list[str]:
    """Addresses with those of chips written out; a comma behind one, as in a list, is left out.

    Raises
    ------
    AddressError
        A range runs backwards.
    LimitError
        They are more than a hundred thousand.

    """
    every = (each for text in addresses for each in _each(text.strip().removesuffix(",")))
    found = list(islice(every, MOST + 1))
    if len(found) > MOST:
        raise LimitError(f"more than {MOST:,} addresses where ranges of chips are written out: name servers or racks")
    return found


def _each(text: str) -> Iterator[str]:
    found = _CHIPS.fullmatch(text)
    if found is None:
        yield text
        return
    for part in found[2].split(","):
        first, _, last = part.partition("-")
        if int(last or first) < int(first):
            raise AddressError(f"{text[:200]!r} runs backwards: write the lower number first, as c0-3")
        yield from (f"{found[1]}{chip}" for chip in range(int(first), int(last or first) + 1))
