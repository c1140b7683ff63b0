"""Write BookSim's anynet: a router for each chip and switch of a domain, and a node at each chip.

The format has no bandwidths, so all links are equal, and no comments.
"""

import re
from collections.abc import Iterable, Iterator

from trninv.errors import NotExpressibleError
from trninv.exporters import graph_stream
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Format, Record

_LINE = re.compile(r"router (\d+)(?: node (\d+))?((?: router \d+ 1)*)")


def _write(source: ExportSource) -> Iterator[str]:
    for router, node, neighbors in _records(source):
        start = f"router {router}" if node is None else f"router {router} node {node}"
        yield start + "".join(f" router {other} 1" for other in neighbors)


def _read(lines: Iterable[str]) -> Iterator[Record]:
    for line in lines:
        if match := _LINE.fullmatch(line):
            neighbors = match[3].replace(" router ", ",").replace(" 1", "").split(",")[1:]
            yield int(match[1]), match[2] and int(match[2]), tuple(map(int, neighbors))


def _records(source: ExportSource) -> Iterator[tuple[int, int | None, tuple[int, ...]]]:
    """Yield each router's number, its node's number or None, and the numbers of the routers linked to it.

    Raises
    ------
    NotExpressibleError
        The routers are not one connected network.

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


FORMAT = Format(
    name="booksim",
    suffix=".anynet",
    description="BookSim's anynet: routers and equal links of one domain",
    write=_write,
    read=_read,
    expected_records=_records,
    comment_template="",
)
