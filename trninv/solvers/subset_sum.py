"""Whole parts that together have a wanted number of chips (subset sum), by dynamic programming over sets of bits.

Parts of one size are taken in bundles of 1, 2, 4, …, so a thousand equal ones are ten steps, each of O(most) bits.
"""

from collections.abc import Iterator, Sequence


def largest(sizes: Sequence[int], most: int) -> list[int]:
    """Choose parts with as many chips together as there can be up to ``most``; their places in ``sizes``."""
    alike: dict[int, list[int]] = {}
    for at, size in enumerate(sizes):
        alike.setdefault(size, []).append(at)
    reached, steps = 1, list[tuple[int, int, int]]()
    within = (1 << most + 1) - 1
    for size, places in alike.items():
        for bundle in bundles(len(places)):
            if bundle * size <= most:
                steps.append((reached, size, bundle))
                reached |= reached << bundle * size & within
    total, chosen = reached.bit_length() - 1, list[int]()
    for before, size, bundle in reversed(steps):
        if not before >> total & 1:
            total -= bundle * size
            chosen += [alike[size].pop() for _ in range(bundle)]
    return sorted(chosen)


def bundles(number: int) -> Iterator[int]:
    """Bundles whose subsets make up every number to this one: 1, 2, 4, …, the rest."""
    bundle = 1
    while number > 0:
        yield min(bundle, number)
        number -= bundle
        bundle *= 2
