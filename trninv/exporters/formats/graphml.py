"""Write GraphML, which networkx, igraph, Gephi, yEd and Cytoscape read."""

from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape

from trninv.exporters import graph, graph_xml, xml_text
from trninv.exporters.format import Format, Record
from trninv.exporters.graph_xml import ATTRIBUTES
from trninv.exporters.source import ExportSource


def _write(source: ExportSource) -> Iterator[str]:
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for element, kinds in ATTRIBUTES.items():
        for name, kind in kinds.items():
            yield xml_text.format_tag("key", id=f"{element}.{name}", for_=element, attr__name=name, attr__type=kind)
    yield xml_text.format_tag("graph", end="", id=source.place.address, edgedefault="undirected")
    for node in graph.read_nodes(source):
        yield xml_text.format_tag("node", end="", id=node.address) + _data("node", node._asdict()) + "</node>"
    for edge in graph.read_edges(source):
        start = xml_text.format_tag("edge", end="", id=edge.address, source=edge.a, target=edge.b)
        yield start + _data("edge", edge._asdict()) + "</edge>"
    yield "</graph>"
    yield "</graphml>"


def _data(element: str, values: dict[str, object]) -> str:
    return "".join(f'<data key="{element}.{name}">{escape(str(values[name]))}</data>' for name in ATTRIBUTES[element])


def _read(lines: Iterable[str]) -> Iterator[Record]:
    return graph_xml.read_graph_xml(
        lines, "data", lambda data: (data.attrib["key"].rpartition(".")[2], data.text or "")
    )


FORMAT = Format(
    name="graphml",
    suffix=".graphml",
    description="GraphML: networkx, igraph, Gephi, yEd, Cytoscape",
    write=_write,
    read=_read,
    expected_records=graph.graph_records,
    comment_template=xml_text.XML_COMMENT,
    header_line=xml_text.XML_DECLARATION,
)
