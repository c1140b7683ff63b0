"""Node-link JSON, which networkx reads (node_link_graph, with the key edges, as from 3.4 on) and D3 too."""

from collections.abc import Iterable, Iterator

from trninv.exporters import graph
from trninv.exporters.format import Format, Record
from trninv.exporters.graph import Edge, Node
from trninv.exporters.json_lines import listed, members, text
from trninv.exporters.source import Source


def _write(source: Source) -> Iterator[str]:
    of = {"name": source.place.address, "event": source.event}
    yield f'{{"directed": false, "multigraph": false, "graph": {text(of)}, "nodes": ['
    yield from listed(text({"id": address, **more}) for address, more in map(_node, graph.nodes(source)))
    yield '], "edges": ['
    yield from listed(text({"source": a, "target": b, **more}) for a, b, more in map(_edge, graph.edges(source)))
    yield "]}"


def _node(node: Node) -> tuple[str, dict[str, object]]:
    more = node._asdict()
    return more.pop("address"), more


def _edge(edge: Edge) -> tuple[str, str, dict[str, object]]:
    more = edge._asdict()
    return more.pop("a"), more.pop("b"), more


def _read(lines: Iterable[str]) -> Iterator[Record]:
    for found in members(lines):
        if "source" in found:
            yield Edge(found.pop("source"), found.pop("target"), **found)
        elif "id" in found:
            yield Node(found.pop("id"), **found)


FORMAT = Format(
    name="node-link",
    suffix=".json",
    says="node-link JSON: networkx, D3",
    write=_write,
    read=_read,
    records=graph.records,
    comment="",
)
