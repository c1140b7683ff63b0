"""Find the symmetries of a torus: shifts, reflections and exchanges of axes, for the wiring pattern torus.

All maps of nodes are computed as arrays, because thousands must be tried for a damaged torus. This is a separate module
because NumPy is slow to import, and most questions need no symmetry.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from trninv.topology.pattern import IsSymmetry, Permutation, Position


def symmetries(node_at: Mapping[Position, int], sides: Sequence[int], is_symmetry: IsSymmetry) -> Iterator[Permutation]:
    """Yield shifts, reflections and exchanges of axes, or all combinations of them if a shift or reflection fails.

    In an undamaged torus, all shifts and reflections are symmetries, and they and the exchanges generate all others.
    O(maps·nodes), with 2^axes·∏ sides maps for each order of the axes.

    Parameters
    ----------
    node_at
        The nodes by position; some positions may have none.

    Examples
    --------
    The only symmetry of a ring of four without node 3, except the identity, exchanges nodes 0 and 2:

    >>> list(symmetries({(0,): 0, (1,): 1, (2,): 2}, (4,), lambda _: True))
    [{0: 0, 1: 1, 2: 2}, {0: 2, 1: 1, 2: 0}]

    """
    positions, axes = np.array(list(node_at)), range(len(sides))
    nodes = np.array([node_at.get(position, -1) for position in product(*map(range, sides))])
    orders = [order for order in permutations(axes) if all(sides[i] == sides[order[i]] for i in axes)]

    def maps_to(new_positions: NDArray[np.int64]) -> Iterator[Permutation]:
        """Yield the maps of nodes to new positions (maps × nodes × axes), for maps with a node at each new position."""
        images = nodes[np.ravel_multi_index(tuple(np.moveaxis(new_positions % sides, -1, 0)), tuple(sides))]
        for image in images[(images >= 0).all(axis=1)].tolist():
            yield dict(zip(node_at.values(), image, strict=True))

    steps = np.eye(len(sides), dtype=np.int64)[:, None]
    generators = [*maps_to(positions + steps), *maps_to(positions * (1 - 2 * steps))]
    if len(generators) == 2 * len(sides) and all(map(is_symmetry, generators)):  # with exchanges, they generate all
        yield from generators
        yield from maps_to(np.stack([positions[:, order] for order in orders]))
        return
    shifts = np.array(list(product(*map(range, sides))))[:, None]
    for order, signs in product(orders, product((1, -1), repeat=len(sides))):
        yield from maps_to(positions[:, order] * signs + shifts)
