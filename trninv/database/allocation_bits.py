"""Encode the allocated chips of a domain as the words of a row.

Bit 64·w + b of a domain's mask is bit b of word w in ``domain_allocated``; words are signed integers.
"""

from collections.abc import Mapping
from typing import Any

BITMASK_WORDS = 3
"""The number of words in a row, for 64 chips each."""
_BITS = 64


def allocation_bits_row(domain: int, mask: int) -> dict[str, int]:
    """Return the row of a domain whose allocated chips are the bits of `mask`."""
    parts = (mask >> _BITS * word & (1 << _BITS) - 1 for word in range(BITMASK_WORDS))
    return {"id": domain} | {
        f"allocated_{index}": part - (part >> _BITS - 1 << _BITS) for index, part in enumerate(parts)
    }


def allocated_mask(row: Mapping[str, Any]) -> int:
    """Return the mask of allocated chips of a row."""
    return sum((row[f"allocated_{word}"] & (1 << _BITS) - 1) << _BITS * word for word in range(BITMASK_WORDS))
