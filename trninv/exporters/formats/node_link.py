"""Write the chips, switches and links of a scope as node-link JSON, which D3 and networkx read.

Links are under the key ``edges``. Before version 3.4, networkx's ``node_link_graph`` expects another key by default.
"""

from collections.abc import Iterator
from typing import Any

from trninv.exporters import graph_stream
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Format
from trninv.exporters.graph_stream import GraphEdge, GraphNode
from trninv.exporters.serialization import JSON, JsonDocument


def _content(source: ExportSource) -> Iterator[Any]:
    skeleton = {"directed": False, "multigraph": False}
    attributes = {"name": source.place.address, "event": source.event}
    nodes, edges = graph_stream.read_nodes(source), graph_stream.read_edges(source)
    yield JsonDocument(
        skeleton | {"graph": attributes, "nodes": [], "edges": []}, [map(_node, nodes), map(_edge, edges)]
    )


def _node(node: GraphNode) -> dict[str, object]:
    attributes = node._asdict()
    return {"id": attributes.pop("address"), **attributes}


def _edge(edge: GraphEdge) -> dict[str, object]:
    attributes = edge._asdict()
    return {"source": attributes.pop("a"), "target": attributes.pop("b"), **attributes}


FORMAT = Format(
    name="node-link",
    suffix=".json",
    description="the graph as node-link JSON, for networkx and D3",
    syntax=JSON,
    content=_content,
)
