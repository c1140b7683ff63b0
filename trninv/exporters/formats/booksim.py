"""Write a domain as a network for the simulator BookSim, in its format anynet.

Each chip and each switch is a router, and each chip has a node. The format has neither comments nor bandwidths: all
links are equal.
"""

from collections.abc import Iterator

from trninv.errors import NotExpressibleError
from trninv.exporters import graph_stream
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Format
from trninv.exporters.serialization import Syntax


def _content(source: ExportSource) -> Iterator[list[str]]:
    for router, node, neighbors in _routers(source):
        words = ["router", router] if node is None else ["router", router, "node", node]
        yield list(map(str, words + [word for other in neighbors for word in ("router", other, 1)]))  # latency 1


def _routers(source: ExportSource) -> Iterator[tuple[int, int | None, tuple[int, ...]]]:
    """Yield each router's number, its node's number or None, and the numbers of the routers linked to it.

    Raises
    ------
    NotExpressibleError
        The routers are not one connected network, or there is only one.

    """
    graph_stream.require_one_domain(source)
    parts = [node for node in graph_stream.read_nodes(source) if node.kind in ("chip", "switch")]
    number = {node.address: index for index, node in enumerate(parts)}
    neighbors: dict[int, list[int]] = {index: [] for index in number.values()}
    for edge in graph_stream.read_edges(source):
        if edge.a in number and edge.b in number:
            neighbors[number[edge.a]].append(number[edge.b])
            neighbors[number[edge.b]].append(number[edge.a])
    if _count_reachable(neighbors) < len(parts) or len(parts) == 1:
        raise NotExpressibleError(f"{source.place.address} is not one connected network of chips, which BookSim needs")
    chips = iter(range(len(parts)))
    for index, part in enumerate(parts):
        yield index, next(chips) if part.kind == "chip" else None, tuple(sorted(neighbors[index]))


def _count_reachable(neighbors: dict[int, list[int]]) -> int:
    """Return how many routers are reachable from the first, including it."""
    reached, pending = {0}, [0]
    while pending:
        new = set(neighbors.get(pending.pop(), ())) - reached
        reached |= new
        pending += new
    return len(reached)


_WORDS = Syntax(
    write=lambda words: iter([" ".join(words)]), read=lambda file: (line.split() for line in file), comment_template=""
)
"""Lines of words separated by blanks, as BookSim reads them."""

FORMAT = Format(
    name="booksim",
    suffix=".anynet",
    description="BookSim's anynet: one domain as routers and equal links",
    syntax=_WORDS,
    content=_content,
)
