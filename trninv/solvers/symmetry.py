"""Symmetries of a wiring: permutations of its nodes that keep every link and its capacity.

Candidates follow from the pattern (shifts, mirrors and swapped axes of a torus; swapped servers, chips and racks of a
switched domain) and each is checked on the graph as it is, link by link; what fails the check is not used. So failures
that a symmetry maps onto each other have equal answers, whatever the state of the wiring.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, permutations, product

from trninv.solvers.graph import Graph, capacities

Position = tuple[int, ...]
Permutation = Mapping[int, int]
Move = tuple[Sequence[int], Sequence[int], Sequence[int]]
"""Of a torus: which axis becomes each axis, mirrored (-1) or not, shifted by how much."""
Failure = tuple[tuple[int, ...], ...]
"""What fails together: nodes as (id,), links as (low id, high id); in rising order."""


def symmetries(graph: Graph) -> list[Permutation]:
    """Candidates that are symmetries, without the identity: enough to make up all that there are of the pattern."""
    at = {of["position"]: node for node, of in graph.nodes(data=True) if of.get("position") is not None}
    if len(at) != len(graph):
        return _kept(graph, _of_switches(graph))
    sides = [max(axis) + 1 for axis in zip(*at, strict=True)]
    axes, still = range(len(sides)), (0,) * len(sides)
    ahead, order = (1,) * len(sides), tuple(range(len(sides)))
    one = [tuple(int(i == axis) for i in axes) for axis in axes]
    steps = [_moved(at, sides, (order, ahead, shift)) for shift in one]
    steps += [_moved(at, sides, (order, tuple(1 - 2 * i for i in mirror), still)) for mirror in one]
    orders = [o for o in permutations(axes) if all(sides[i] == sides[o[i]] for i in axes)]
    if len(_kept(graph, steps)) == sum(map(_moves, steps)):  # then these and orders of the axes make up all others
        return _kept(graph, [*steps, *(_moved(at, sides, (each, ahead, still)) for each in orders)])
    every = product(orders, product((1, -1), repeat=len(sides)), product(*map(range, sides)))
    return _kept(graph, (_moved(at, sides, move) for move in every))


def _kept(graph: Graph, candidates: Iterable[Permutation]) -> list[Permutation]:
    carries = {frozenset((a, b)): capacity for a, b, capacity in capacities(graph)}
    kind = dict(graph.nodes(data="kind"))

    def keeps(image: Permutation) -> bool:
        return all(kind[node] == kind.get(image[node]) for node in graph) and all(
            carries.get(frozenset(image[node] for node in edge)) == capacity for edge, capacity in carries.items()
        )

    found = (image for image in candidates if _moves(image))
    return [image for image in found if len(image) == len(graph) == len(set(image.values())) and keeps(image)]


def _moved(at: Mapping[Position, int], sides: Sequence[int], move: Move) -> Permutation:
    """Each chip to where its position is moved to, as far as there are chips."""
    order, signs, shift = move
    image = {}
    for position, node in at.items():
        to = tuple((signs[i] * position[order[i]] + shift[i]) % sides[i] for i in range(len(sides)))
        if to in at:
            image[node] = at[to]
    return image


def _moves(image: Permutation) -> bool:
    return any(node != to for node, to in image.items())


def _of_switches(graph: Graph) -> Iterator[Permutation]:
    """Two servers of a rack (in every rack), two chips of a server (in every rack) or two racks change places."""
    label = {
        node: (of["rack"], of["server"], of["kind"], _ordinal(of["address"])) for node, of in graph.nodes(data=True)
    }
    racks = sorted({rack for rack, *_ in label.values()})
    per_rack = [sorted({s for r, s, *_ in label.values() if r == rack and s is not None}) for rack in racks]
    place = {
        rack: {server: i for i, server in enumerate(servers)} for rack, servers in zip(racks, per_rack, strict=True)
    }
    home: dict[tuple[object, ...], int] = {}
    where: dict[int, tuple[object, ...]] = {}
    for node, (rack, server, kind, ordinal) in label.items():
        inside = None if server is None else place[rack][server]
        # a switch of a server or rack is the only one there: its number within the domain does not matter
        where[node] = racks.index(rack), inside, kind, ordinal if kind == "chip" else 0
        home[where[node]] = node
    servers = max(map(len, per_rack), default=0)
    chips = sorted({o for _, _, kind, o in where.values() if kind == "chip"}, key=str)
    swaps = [
        *(_swap(where, home, 1, pair, None) for pair in combinations(range(servers), 2)),
        *(_swap(where, home, 3, pair, server) for server in range(servers) for pair in combinations(chips, 2)),
        *(_swap(where, home, 0, pair, None) for pair in combinations(range(len(racks)), 2)),
    ]
    yield from swaps


def _swap(
    where: Mapping[int, tuple[object, ...]],
    home: Mapping[tuple[object, ...], int],
    field: int,
    pair: tuple[object, object],
    server: int | None,
) -> Permutation:
    """Exchange two values of a field of the places, on one server of each rack or on all."""
    other = dict([pair, pair[::-1]])
    image = {}
    for node, place in where.items():
        moved = place
        if place[field] in other and (field != 3 or (place[1] == server and place[2] == "chip")):  # noqa: PLR2004
            moved = (*place[:field], other[place[field]], *place[field + 1 :])
        if moved in home:
            image[node] = home[moved]
    return image


def _ordinal(address: str) -> int:
    return int(address.rsplit("/", 1)[-1].lstrip("abcdefghijklmnopqrstuvwxyz") or 0)


def classes(failures: Sequence[Failure], images: Sequence[Permutation]) -> list[list[Failure]]:
    """Failures that symmetries map onto each other, each class in the order given."""
    parent = {failure: failure for failure in failures}

    def root(failure: Failure) -> Failure:
        while parent[failure] != failure:
            parent[failure] = parent[parent[failure]]
            failure = parent[failure]
        return failure

    for image in images:
        for failure in failures:
            mapped = tuple(sorted(tuple(sorted(image[node] for node in part)) for part in failure))
            if mapped in parent:
                parent[root(mapped)] = root(failure)
    found: dict[Failure, list[Failure]] = {}
    for failure in failures:
        found.setdefault(root(failure), []).append(failure)
    return list(found.values())
