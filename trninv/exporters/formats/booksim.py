"""A network file of BookSim's anynet: a router for each chip and switch of a domain, a node at each chip.

The format has neither bandwidths, so that all links are alike, nor comments.
"""

import re
from collections.abc import Iterable, Iterator

from trninv.errors import NotExpressibleError
from trninv.exporters import graph
from trninv.exporters.format import Format, Record
from trninv.exporters.source import Source

_LINE = re.compile(r"router (\d+)(?: node (\d+))?((?: router \d+ 1)*)")


def _write(source: Source) -> Iterator[str]:
    for router, node, near in _records(source):
        here = f"router {router}" if node is None else f"router {router} node {node}"
        yield here + "".join(f" router {other} 1" for other in near)


def _read(lines: Iterable[str]) -> Iterator[Record]:
    for line in lines:
        if found := _LINE.fullmatch(line):
            near = found[3].replace(" router ", ",").replace(" 1", "").split(",")[1:]
            yield int(found[1]), found[2] and int(found[2]), tuple(map(int, near))


def _records(source: Source) -> Iterator[tuple[int, int | None, tuple[int, ...]]]:
    """Of each router its number, that of its node, and the routers that it is linked to.

    Raises
    ------
    NotExpressibleError
        They are not one network.

    """
    graph.one_domain(source)
    parts = [node for node in graph.nodes(source) if node.kind in ("chip", "switch")]
    number = {node.address: at for at, node in enumerate(parts)}
    near: dict[int, list[int]] = {at: [] for at in number.values()}
    for edge in graph.edges(source):
        if edge.a in number and edge.b in number:
            near[number[edge.a]].append(number[edge.b])
            near[number[edge.b]].append(number[edge.a])
    if _reach(near) < len(parts) or len(parts) == 1:
        raise NotExpressibleError(
            f"{source.place.address} is not one network of chips, between all of which BookSim routes"
        )
    chips = iter(range(len(parts)))
    for at, part in enumerate(parts):
        yield at, next(chips) if part.kind == "chip" else None, tuple(sorted(near[at]))


def _reach(near: dict[int, list[int]]) -> int:
    """How many routers the first one reaches."""
    reached, left = {0}, [0]
    while left:
        new = set(near.get(left.pop(), ())) - reached
        reached |= new
        left += new
    return len(reached)


FORMAT = Format(
    name="booksim",
    suffix=".anynet",
    says="BookSim's anynet: routers and links of one domain, all links alike",
    write=_write,
    read=_read,
    records=_records,
    comment="",
)
