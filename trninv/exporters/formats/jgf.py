"""Write the chips, switches and links of a place in the graph in JSON Graph Format, version 2.

An edge's "relation" is what its link joins, such as parts of one server, rack or domain (`LINK_SCOPES`).
"""

from collections.abc import Iterator
from typing import Any

from trninv.exporters import graph_stream
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Format
from trninv.exporters.graph_stream import GraphEdge, GraphNode
from trninv.exporters.serialization import JSON, JsonDocument


def _content(source: ExportSource) -> Iterator[Any]:
    skeleton = {"id": source.place.address, "directed": False, "metadata": {"event": source.event}}
    nodes, edges = graph_stream.read_nodes(source), graph_stream.read_edges(source)
    yield JsonDocument({"graph": skeleton | {"nodes": {}, "edges": []}}, [map(_node, nodes), map(_edge, edges)])


def _node(node: GraphNode) -> tuple[str, dict[str, object]]:
    return node.address, {"label": node.address, "metadata": {"kind": node.kind, "state": node.state}}


def _edge(edge: GraphEdge) -> dict[str, object]:
    attributes = edge._asdict()
    ends = {
        "id": edge.address,
        "source": attributes.pop("a"),
        "target": attributes.pop("b"),
        "relation": attributes.pop("scope"),
    }
    return {**ends, "metadata": attributes}


FORMAT = Format(
    name="jgf",
    suffix=".json",
    description="JSON Graph Format, version 2",
    syntax=JSON,
    content=_content,
)
