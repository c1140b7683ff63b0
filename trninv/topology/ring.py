"""Enumerate the links of a ring, in which every node is linked to the next and the last to the first."""


def ring_links(size: int) -> list[tuple[int, int]]:
    """Return the links of a ring of `size` nodes as sorted pairs (lower, higher).

    A ring of two nodes has one link, a ring of one has none: two nodes never have two links between them.
    """
    return sorted({(min(i, j), max(i, j)) for i in range(size) if (j := (i + 1) % size) != i})
