"""The words of ``domain_held``: bit 64·w + b of a domain's set of held chips is bit b of word w, as a signed number."""

from collections.abc import Mapping
from typing import Any

BITMASK_WORDS = 3
"""Of 64 chips each, in a row."""
_BITS = 64


def allocation_bits_row(domain: int, mask: int) -> dict[str, int]:
    """The row of a domain of which these chips are held."""
    parts = (mask >> _BITS * word & (1 << _BITS) - 1 for word in range(BITMASK_WORDS))
    return {"id": domain} | {f"held_{index}": part - (part >> _BITS - 1 << _BITS) for index, part in enumerate(parts)}


def allocated_mask(row: Mapping[str, Any]) -> int:
    """The held chips of a row."""
    return sum((row[f"held_{word}"] & (1 << _BITS) - 1) << _BITS * word for word in range(BITMASK_WORDS))
