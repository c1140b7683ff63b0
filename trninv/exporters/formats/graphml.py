"""Write GraphML, which networkx, igraph, Gephi, yEd and Cytoscape read."""

from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape

from trninv.exporters import graph_stream, serialization
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Format, Record
from trninv.exporters.graph_stream import ATTRIBUTES


def _write(source: ExportSource) -> Iterator[str]:
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for element, kinds in ATTRIBUTES.items():
        for name, kind in kinds.items():
            yield serialization.format_tag(
                "key", id=f"{element}.{name}", for_=element, attr__name=name, attr__type=kind
            )
    yield serialization.format_tag("graph", end="", id=source.place.address, edgedefault="undirected")
    for node in graph_stream.read_nodes(source):
        yield serialization.format_tag("node", end="", id=node.address) + _data("node", node._asdict()) + "</node>"
    for edge in graph_stream.read_edges(source):
        start = serialization.format_tag("edge", end="", id=edge.address, source=edge.a, target=edge.b)
        yield start + _data("edge", edge._asdict()) + "</edge>"
    yield "</graph>"
    yield "</graphml>"


def _data(element: str, values: dict[str, object]) -> str:
    return "".join(f'<data key="{element}.{name}">{escape(str(values[name]))}</data>' for name in ATTRIBUTES[element])


def _read(lines: Iterable[str]) -> Iterator[Record]:
    return graph_stream.read_graph_xml(
        lines, "data", lambda data: (data.attrib["key"].rpartition(".")[2], data.text or "")
    )


FORMAT = Format(
    name="graphml",
    suffix=".graphml",
    description="GraphML: networkx, igraph, Gephi, yEd, Cytoscape",
    write=_write,
    read=_read,
    expected_records=graph_stream.graph_records,
    comment_template=serialization.XML_COMMENT,
    header_line=serialization.XML_DECLARATION,
)
