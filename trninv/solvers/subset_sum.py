"""Choose parts of a graph that together have as many chips as possible up to a limit (subset sum).

The bisection of a graph is 0 if some of its parts, which no link connects with each other, together have half of the
chips. `trninv.solvers.parts` and `trninv.solvers.quotient` call this module to check that.

A dynamic program (Bellman 1957) computes the sums that can be reached, as the bits of an integer. Parts of equal size
are added in bundles of 1, 2, 4, …, so a thousand equal parts take ten steps, each of O(limit) bits.
"""

from collections.abc import Iterator, Sequence


def largest_sum(sizes: Sequence[int], limit: int) -> list[int]:
    """Return the indices of parts with the largest total size up to ``limit``.

    Bellman's dynamic program; O(sizes·log(parts of a size)·limit / 64) word operations.

    Examples
    --------
    Of parts with 4, 12, 3 and 5 chips, at most 10 chips: 4 + 5.

    >>> largest_sum([4, 12, 3, 5], 10)
    [0, 3]

    """
    indices_by_size: dict[int, list[int]] = {}
    for index, size in enumerate(sizes):
        indices_by_size.setdefault(size, []).append(index)
    # bit s of `reachable` is set if some parts sum to s; a step has the reachable sums before a bundle was added, and
    # the size and number of the bundle's parts
    reachable, steps = 1, list[tuple[int, int, int]]()
    mask = (1 << limit + 1) - 1
    for size, indices in indices_by_size.items():
        for bundle in bundles(len(indices)):
            if bundle * size <= limit:
                steps.append((reachable, size, bundle))
                reachable |= reachable << bundle * size & mask
    total, chosen = reachable.bit_length() - 1, list[int]()
    for before, size, bundle in reversed(steps):
        if not before >> total & 1:  # the total cannot be reached without this bundle
            total -= bundle * size
            chosen += [indices_by_size[size].pop() for _ in range(bundle)]
    return sorted(chosen)


def bundles(count: int) -> Iterator[int]:
    """Yield numbers whose subsets sum to every number up to ``count``: 1, 2, 4, … and the rest; O(log(count)).

    Examples
    --------
    >>> list(bundles(10))
    [1, 2, 4, 3]

    """
    bundle = 1
    while count > 0:
        yield min(bundle, count)
        count -= bundle
        bundle *= 2
