"""Write node-link JSON, which D3 and networkx read (node_link_graph with the key edges, the default from 3.4 on)."""

from collections.abc import Iterable, Iterator

from trninv.exporters import graph_stream
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Format, Record
from trninv.exporters.graph_stream import GraphEdge, GraphNode
from trninv.exporters.serialization import json_list, json_text, read_json_members


def _write(source: ExportSource) -> Iterator[str]:
    graph_attributes = {"name": source.place.address, "event": source.event}
    yield f'{{"directed": false, "multigraph": false, "graph": {json_text(graph_attributes)}, "nodes": ['
    yield from json_list(
        json_text({"id": address, **attributes}) for address, attributes in map(_node, graph_stream.read_nodes(source))
    )
    yield '], "edges": ['
    yield from json_list(
        json_text({"source": a, "target": b, **attributes})
        for a, b, attributes in map(_edge, graph_stream.read_edges(source))
    )
    yield "]}"


def _node(node: GraphNode) -> tuple[str, dict[str, object]]:
    attributes = node._asdict()
    return attributes.pop("address"), attributes


def _edge(edge: GraphEdge) -> tuple[str, str, dict[str, object]]:
    attributes = edge._asdict()
    return attributes.pop("a"), attributes.pop("b"), attributes


def _read(lines: Iterable[str]) -> Iterator[Record]:
    for member in read_json_members(lines):
        if "source" in member:
            yield GraphEdge(member.pop("source"), member.pop("target"), **member)
        elif "id" in member:
            yield GraphNode(member.pop("id"), **member)


FORMAT = Format(
    name="node-link",
    suffix=".json",
    description="node-link JSON: networkx, D3",
    write=_write,
    read=_read,
    expected_records=graph_stream.graph_records,
    comment_template="",
)
