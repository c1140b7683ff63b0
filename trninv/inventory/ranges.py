"""Expand ranges of chips as answers print them: u-trn2x64/d0/s0/c0-3,8 stands for five chips."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from trninv.errors import AddressError, InvalidArgumentError

MAX_ADDRESSES: Final = 100_000
"""The maximum number of addresses that a call returns."""
_CHIPS = re.compile(r"(.*/c)(\d{1,3}(?:-\d{1,3})?(?:,\d{1,3}(?:-\d{1,3})?)*)", re.ASCII | re.DOTALL)


def expand_chip_ranges(addresses: Iterable[str]) -> list[str]:
    """Expand the ranges of chips in addresses and drop a comma after an address, as copied from a list.

    Raises
    ------
    AddressError
        A range runs backwards.
    InvalidArgumentError
        The result has more than MAX_ADDRESSES addresses.
    """
    all_addresses = (address for text in addresses for address in _expand(text.strip().removesuffix(",")))
    expanded = list(islice(all_addresses, MAX_ADDRESSES + 1))
    if len(expanded) > MAX_ADDRESSES:
        raise InvalidArgumentError(
            f"more than {MAX_ADDRESSES:,} addresses where ranges of chips are written out: name servers or racks"
        )
    return expanded


def _expand(text: str) -> Iterator[str]:
    match = _CHIPS.fullmatch(text)
    if match is None:
        yield text
        return
    for part in match[2].split(","):
        first, _, last = part.partition("-")
        if int(last or first) < int(first):
            raise AddressError(f"{text[:200]!r} runs backwards: write the lower number first, as c0-3")
        yield from (f"{match[1]}{chip}" for chip in range(int(first), int(last or first) + 1))
