"""Bring the failures of domains with equal wiring to a canonical form, so that equivalent failures are solved once.

The failures of two such domains are equivalent if a symmetry of the undamaged wiring maps the failed and degraded parts
of one domain onto those of the other. The canonical form of failures is the least of their images under symmetries;
an image is compared as the sorted numbers of its parts with the capacity that each part still carries. Domains with
equal forms are isomorphic, because each form is the image of a domain's failures under a symmetry that was checked link
by link. Equivalent failures have equal forms if all symmetries are tried:

- If there are at most `_MAX_SYMMETRIES`, as in a torus, all are listed once for each wiring.
- Otherwise the wiring pattern proposes some that move the failed nodes to the first places (`Pattern.arrangements`).
- Without symmetries, failures are their own form.

If equivalent failures get different forms, both are solved, which only costs time.

`trninv.routing.pattern_groups` groups the domains of a cluster by their forms.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trninv import solvers

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph

Ints = NDArray[np.int64]
Part = tuple[int, ...]
"""A node is (id,), a link (lower id, higher id)."""
FailureForm = tuple[tuple[Part, int], ...]
"""Failed parts, each with the millionths of its capacity that it still carries, in the order of the parts' numbers."""
_MAX_SYMMETRIES = 4_096
"""Limit of symmetries that are listed."""
_CODE_BASE = 1 << 20
"""A failed part is encoded as its number times this plus the millionths it carries, which are at most 10⁶."""


class FailureForms:
    """The symmetries of an undamaged domain, which give failures of such a domain their canonical form.

    Examples
    --------
    In a ring of four, all chips are equivalent, and all links are:

    >>> from trninv.solvers.graph import Graph
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(0, 1, 10), (1, 2, 10), (2, 3, 10), (3, 0, 10)], weight="capacity")
    >>> for chip in range(4):
    ...     graph.add_node(chip, kind="chip", server=0, rack=0, ordinal=chip, wiring="torus", sides=(4,))
    >>> forms = FailureForms(graph)
    >>> form, node_of = forms.canonical({(3,): 0})
    >>> form, node_of[0]
    ((((0,), 0),), 3)
    >>> forms.canonical({(0, 3): 0})[0]
    (((0, 1), 0),)

    """

    def __init__(self, graph: "Graph") -> None:
        self._arrays = solvers.symmetry.GraphArrays.from_graph(graph)
        nodes = self._arrays.nodes
        parts: list[Part] = [(node,) for node in nodes]
        self._parts = parts + [(nodes[u], nodes[v]) for u, v in self._arrays.ends.tolist()]
        self._number = {part: number for number, part in enumerate(self._parts)}
        symmetries = _closure([*self._arrays.symmetries()], len(nodes))
        self._symmetries = None if symmetries is None else self._part_images(symmetries)

    def canonical(self, failures: Mapping[Part, int]) -> tuple[FailureForm, dict[int, int]]:
        """Return the canonical form of failures, and a map from each node of the form's domain to the actual node.

        O(symmetries·parts).

        Parameters
        ----------
        failures
            The millionths of its capacity that each failed or degraded part carries.

        """
        images = self._symmetries
        if images is None:
            images = self._part_images(list(self._arrays.arrangements(self._labels(failures))))
        numbers = np.array([self._number[part] for part in failures], dtype=np.int64)
        codes = np.sort(images[:, numbers].astype(np.int64) * _CODE_BASE + list(failures.values()), axis=1)
        least = int(np.lexsort(codes.T[::-1])[0]) if len(numbers) else 0
        form = tuple((self._parts[code // _CODE_BASE], code % _CODE_BASE) for code in codes[least].tolist())
        nodes = self._arrays.nodes
        return form, {nodes[target]: node for node, target in zip(nodes, images[least].tolist(), strict=False)}

    def _part_images(self, images: Sequence[Ints]) -> Ints:
        """Return the image of each node and link by the identity and by some symmetries."""
        identity = np.arange(len(self._arrays.nodes))
        return np.array(
            [np.concatenate([image, len(image) + self._arrays.link_images(image)]) for image in [identity, *images]],
            dtype=np.int32,
        )

    def _labels(self, failures: Mapping[Part, int]) -> dict[int, tuple[tuple[int, ...], ...]]:
        """Return a label for each chip and switch that describes its failures; a NIC's failures count for its chips."""
        graph, kind_of = self._arrays.graph, dict(zip(self._arrays.nodes, self._arrays.kinds.tolist(), strict=True))
        labels: dict[int, list[tuple[int, ...]]] = {}
        for part, carried in failures.items():
            for node in part:
                ends = ((kind_of[other], graph[node][other]["capacity"]) for other in part if other != node)
                tag = (kind_of[node], carried, *chain.from_iterable(ends))
                for labelled_node in graph[node] if kind_of[node] == solvers.symmetry.NIC else [node]:
                    labels.setdefault(labelled_node, []).append(tag)
        return {node: tuple(sorted(tags)) for node, tags in labels.items()}


def _closure(generators: Sequence[Ints], count: int) -> list[Ints] | None:
    """Return all compositions of some permutations except the identity; None if there are too many."""
    identity = np.arange(count)
    visited = {identity.tobytes()}
    queue = [identity]
    for image in queue:  # the loop appends to the queue
        for generator in generators:
            composed = image[generator]
            if (key := composed.tobytes()) not in visited:
                visited.add(key)
                queue.append(composed)
        if len(queue) > _MAX_SYMMETRIES:
            return None
    return queue[1:]
