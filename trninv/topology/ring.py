"""A ring: every node linked to the next, the last to the first."""


def ring_links(size: int) -> list[tuple[int, int]]:
    """Links of a ring of ``size`` nodes as (lower, higher), sorted.

    A ring of two is one link, of one no link: two nodes never have two links between them.
    """
    return sorted({(min(i, j), max(i, j)) for i in range(size) if (j := (i + 1) % size) != i})
