"""Write the chips, switches and links of a scope as GraphML, which networkx, igraph, Gephi, yEd and Cytoscape read."""

from collections.abc import Iterator
from typing import Any

from trninv.exporters import graph_stream
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Format
from trninv.exporters.graph_stream import ATTRIBUTES
from trninv.exporters.serialization import XML, XmlElement
from trninv.exporters.serialization import xml_element as element


def _content(source: ExportSource) -> Iterator[Any]:
    yield element("graphml", _parts(source), xmlns="http://graphml.graphdrawing.org/xmlns")


def _parts(source: ExportSource) -> Iterator[XmlElement]:
    """Yield the declarations of attributes, then the graph."""
    for kind, types in ATTRIBUTES.items():
        for name, type_ in types.items():
            yield element("key", id=f"{kind}.{name}", for_=kind, attr__name=name, attr__type=type_)
    yield element("graph", _nodes_and_edges(source), id=source.place.address, edgedefault="undirected")


def _nodes_and_edges(source: ExportSource) -> Iterator[XmlElement]:
    for node in graph_stream.read_nodes(source):
        yield XmlElement("node", {"id": node.address}, _data("node", node._asdict()))
    for edge in graph_stream.read_edges(source):
        yield XmlElement(
            "edge", {"id": edge.address, "source": edge.a, "target": edge.b}, _data("edge", edge._asdict())
        )


def _data(kind: str, values: dict[str, object]) -> tuple[XmlElement, ...]:
    """Return the attributes of a node or an edge."""
    return tuple(XmlElement("data", {"key": f"{kind}.{name}"}, str(values[name])) for name in ATTRIBUTES[kind])


FORMAT = Format(
    name="graphml",
    suffix=".graphml",
    description="the graph as GraphML, for networkx, igraph, Gephi, yEd and Cytoscape",
    syntax=XML,
    content=_content,
)
