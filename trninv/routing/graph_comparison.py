"""Compare a networkx graph that a user brings with the wiring that the inventory has, for `fleet.check_against`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from trninv.errors import InvalidArgumentError, UnitError
from trninv.rendered_text import Rendered, RenderedTable
from trninv.routing.answer_display import AnswerDisplay
from trninv.units import Bandwidth, pluralize

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph

_MAX_LISTED: Final = 20
_CHIP: Final = re.compile(r"/c\d+$", re.ASCII)
"""The end of a chip's address."""
Ends = tuple[str, str]


@dataclass(frozen=True, slots=True)
class GraphLink:
    """A link that only one of two graphs has, by its ends."""

    a: str
    b: str

    def __str__(self) -> str:
        return f"{self.a}--{self.b}"


@dataclass(frozen=True, slots=True)
class DifferentBandwidth:
    """A link with another bandwidth in the graph than in the inventory."""

    a: str
    b: str
    inventory: Bandwidth
    graph: Bandwidth


@dataclass(frozen=True)
class GraphComparison(AnswerDisplay):
    """How a graph differs from the parts and links of the inventory that carry traffic.

    Attributes
    ----------
    missing_nodes, missing_links
        What only the inventory has.
    extra_nodes, extra_links
        What only the graph has.
    compared
        Number of links that both have.

    """

    scope: str
    missing_nodes: tuple[str, ...]
    extra_nodes: tuple[str, ...]
    missing_links: tuple[GraphLink, ...]
    extra_links: tuple[GraphLink, ...]
    different: tuple[DifferentBandwidth, ...]
    compared: int

    @property
    def is_equal(self) -> bool:
        """Whether there is no difference."""
        return not (self.missing_nodes or self.extra_nodes or self.missing_links or self.extra_links or self.different)

    def render(self) -> Rendered:
        if self.is_equal:
            yield f"{self.scope}: the graph is that of the inventory, {pluralize(self.compared, 'link')}"
            return
        counts = (
            f"missing {pluralize(len(self.missing_nodes), 'node')} and {pluralize(len(self.missing_links), 'link')}",
            f"extra {pluralize(len(self.extra_nodes), 'node')} and {pluralize(len(self.extra_links), 'link')}",
            f"another bandwidth {len(self.different):,} of {pluralize(self.compared, 'link')}",
        )
        yield f"{self.scope}: {'; '.join(counts)}"
        names = {
            "missing": (*self.missing_nodes, *self.missing_links),
            "extra": (*self.extra_nodes, *self.extra_links),
        }
        for name, parts in names.items():
            if parts:
                yield RenderedTable([name], ([part] for part in _listed(parts)))
        if self.different:
            links = ([f"{link.a}--{link.b}", link.inventory, link.graph] for link in self.different[:_MAX_LISTED])
            yield RenderedTable(["link", "inventory", "graph"], links)


def _listed(parts: Sequence[object]) -> Iterable[object]:
    yield from parts[:_MAX_LISTED]
    if len(parts) > _MAX_LISTED:
        yield f"… {len(parts) - _MAX_LISTED:,} more"


def compare_graphs(
    scope: str, inventory: "Graph", graph: Any, attribute: str = "bandwidth", tolerance: float = 0.0
) -> GraphComparison:
    """Compare a networkx graph with the wiring of a scope, as `Fleet.graph` returns it.

    Parallel edges of a link add up. In a directed graph, each direction is compared.

    Parameters
    ----------
    attribute
        The edge attribute with the bandwidth; edges without it are not compared by bandwidth.
    tolerance
        The part of the inventory's bandwidth by which the graph's may differ.

    Raises
    ------
    InvalidArgumentError
        It is no graph, a bandwidth is none, or the tolerance is negative.

    """
    if not 0 <= tolerance < 1:
        raise InvalidArgumentError(f"tolerance {tolerance}: use a number from 0 to below 1, such as 0.05")
    nodes, links = set(map(str, _parts(graph, "nodes"))), _sum_bandwidths(graph, attribute)
    pairs = {_sorted(ends) for ends in links}
    wiring = {_sorted((a, b)): Bandwidth(link["bandwidth"]) for a, b, link in inventory.edges(data=True)}
    different = (
        DifferentBandwidth(*ends, wiring[_sorted(ends)], Bandwidth(round(value)))
        for ends, value in sorted(links.items())
        if value is not None and _sorted(ends) in wiring and not _is_close(value, wiring[_sorted(ends)], tolerance)
    )
    return GraphComparison(
        scope,
        missing_nodes=tuple(sorted(set(inventory) - nodes)),
        extra_nodes=tuple(sorted(nodes - set(inventory))),
        missing_links=tuple(GraphLink(*ends) for ends in sorted(wiring.keys() - pairs)),
        extra_links=tuple(GraphLink(*ends) for ends in sorted(pairs - wiring.keys())),
        different=tuple(different),
        compared=len(pairs & wiring.keys()),
    )


def common_place(graph: Any) -> str:
    """Return the smallest place that contains all chips of a graph; without chips, all its nodes.

    Raises
    ------
    InvalidArgumentError
        It is no graph, or its nodes are not addresses of one cluster.

    """
    addresses = list(map(str, _parts(graph, "nodes")))
    chips = [address for address in addresses if _CHIP.search(address)]
    steps = [address.split("/") for address in chips or addresses]
    common = [names[0] for names in takewhile(lambda names: len(set(names)) == 1, zip(*steps, strict=False))]
    if not common:
        raise InvalidArgumentError("the graph's nodes are not addresses of one cluster; name the scope")
    return "/".join(common)


def _parts(graph: Any, name: str, **options: Any) -> Any:
    try:
        return getattr(graph, name)(**options)
    except (AttributeError, TypeError):
        raise InvalidArgumentError(f"{type(graph).__name__} is not a graph of networkx") from None


def _sum_bandwidths(graph: Any, attribute: str) -> Mapping[Ends, float | None]:
    """Return the bandwidth of each link, by its ends in order unless the graph is directed; None if it has none."""
    is_directed, sums = graph.is_directed(), dict[Ends, float | None]()
    for a, b, attributes in _parts(graph, "edges", data=True):
        ends = (str(a), str(b)) if is_directed else _sorted((str(a), str(b)))
        value, total = _bandwidth(ends, attributes.get(attribute)), sums.get(ends)
        sums[ends] = value if total is None else total if value is None else total + value
    return sums


def _bandwidth(ends: Ends, value: Any) -> float | None:
    """Return a bandwidth in bytes per second: a number, or a text such as "128 GB/s"."""
    if value is None:
        return None
    try:
        number = Bandwidth.parse(value) if isinstance(value, str) else float(value)
        if isfinite(number) and number >= 0:
            return number
    except (UnitError, TypeError, ValueError, OverflowError):
        pass
    raise InvalidArgumentError(f"{'--'.join(ends)}: {str(value)[:40]!r} is not a bandwidth in bytes per second")


def _is_close(value: float, expected: int, tolerance: float) -> bool:
    return abs(value - expected) <= tolerance * expected


def _sorted(ends: Ends) -> Ends:
    return ends if ends[0] <= ends[1] else (ends[1], ends[0])
