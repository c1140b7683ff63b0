"""Write the chips, switches and links of a scope as GEXF 1.2, which Gephi, networkx and graphology read."""

from collections.abc import Iterator
from typing import Any

from trninv.exporters import graph_stream
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Format
from trninv.exporters.graph_stream import ATTRIBUTES
from trninv.exporters.serialization import XML, XmlElement
from trninv.exporters.serialization import xml_element as element


def _content(source: ExportSource) -> Iterator[Any]:
    yield element(
        "gexf",
        [element("graph", _parts(source), defaultedgetype="undirected", mode="static")],
        xmlns="http://www.gexf.net/1.2draft",
        version="1.2",
    )


def _parts(source: ExportSource) -> Iterator[XmlElement]:
    """Yield the declarations of attributes, then the nodes and the edges."""
    for kind, types in ATTRIBUTES.items():
        declarations = [element("attribute", id=name, title=name, type=type_) for name, type_ in types.items()]
        yield element("attributes", declarations, class_=kind, mode="static")
    yield element(
        "nodes",
        (
            XmlElement("node", {"id": node.address, "label": node.address}, _values("node", node._asdict()))
            for node in graph_stream.read_nodes(source)
        ),
    )
    yield element(
        "edges",
        (
            XmlElement(
                "edge", {"id": edge.address, "source": edge.a, "target": edge.b}, _values("edge", edge._asdict())
            )
            for edge in graph_stream.read_edges(source)
        ),
    )


def _values(kind: str, values: dict[str, object]) -> tuple[XmlElement]:
    """Return the attributes of a node or an edge."""
    return (
        element(
            "attvalues",
            tuple(XmlElement("attvalue", {"for": key, "value": str(values[key])}, ()) for key in ATTRIBUTES[kind]),
        ),
    )


FORMAT = Format(
    name="gexf",
    suffix=".gexf",
    description="the graph as GEXF 1.2, for Gephi, networkx and graphology",
    syntax=XML,
    content=_content,
)
