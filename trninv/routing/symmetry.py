"""Symmetries of a wiring: permutations of its nodes that keep every link and its capacity.

Candidates follow from the pattern (shifts, mirrors and swapped axes of a torus; swapped servers, chips and racks of a
switched domain) and each is checked on the graph as it is, link by link; what fails the check is not used. So failures
that a symmetry maps onto each other have equal answers, whatever the state of the wiring.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations, product

from trninv.routing.graph import Graph, capacities

Position = tuple[int, ...]
Permutation = Mapping[int, int]
Failure = tuple[tuple[int, ...], ...]
"""What fails together: nodes as (id,), links as (low id, high id); in rising order."""


def symmetries(graph: Graph) -> list[Permutation]:
    """The candidates that are symmetries, without the identity."""
    at = {of["position"]: node for node, of in graph.nodes(data=True) if of.get("position") is not None}
    candidates = _of_torus(at) if len(at) == len(graph) else _of_switches(graph)
    carries = {frozenset((a, b)): capacity for a, b, capacity in capacities(graph)}
    kind = dict(graph.nodes(data="kind"))

    def keeps(image: Permutation) -> bool:
        return all(kind[node] == kind.get(image[node]) for node in graph) and all(
            carries.get(frozenset(image[node] for node in edge)) == capacity for edge, capacity in carries.items()
        )

    found = (image for image in candidates if any(node != to for node, to in image.items()))
    return [image for image in found if len(image) == len(graph) == len(set(image.values())) and keeps(image)]


def _of_torus(at: Mapping[Position, int]) -> Iterator[Permutation]:
    """Shifts along each axis, mirrored or not, axes of equal length in any order."""
    sides = [max(axis) + 1 for axis in zip(*at, strict=True)]
    axes = range(len(sides))
    orders = [order for order in permutations(axes) if all(sides[i] == sides[order[i]] for i in axes)]
    for order, signs, shift in product(orders, product((1, -1), repeat=len(sides)), product(*map(range, sides))):
        image = {}
        for position, node in at.items():
            moved = tuple((signs[i] * position[order[i]] + shift[i]) % sides[i] for i in axes)
            if moved in at:
                image[node] = at[moved]
        yield image


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
