"""GraphML, which networkx, igraph, Gephi, yEd and Cytoscape read."""

from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape

from trninv.exporters import graph, graph_xml, xml_text
from trninv.exporters.format import Format, Record
from trninv.exporters.graph_xml import ATTRIBUTES
from trninv.exporters.source import Source


def _write(source: Source) -> Iterator[str]:
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for of, kinds in ATTRIBUTES.items():
        for name, kind in kinds.items():
            yield xml_text.tag("key", id=f"{of}.{name}", for_=of, attr__name=name, attr__type=kind)
    yield xml_text.tag("graph", end="", id=source.place.address, edgedefault="undirected")
    for node in graph.nodes(source):
        yield xml_text.tag("node", end="", id=node.address) + _data("node", node._asdict()) + "</node>"
    for edge in graph.edges(source):
        begin = xml_text.tag("edge", end="", id=edge.address, source=edge.a, target=edge.b)
        yield begin + _data("edge", edge._asdict()) + "</edge>"
    yield "</graph>"
    yield "</graphml>"


def _data(of: str, values: dict[str, object]) -> str:
    return "".join(f'<data key="{of}.{name}">{escape(str(values[name]))}</data>' for name in ATTRIBUTES[of])


def _read(lines: Iterable[str]) -> Iterator[Record]:
    return graph_xml.read(lines, "data", lambda data: (data.attrib["key"].rpartition(".")[2], data.text or ""))


FORMAT = Format(
    name="graphml",
    suffix=".graphml",
    says="GraphML: networkx, igraph, Gephi, yEd, Cytoscape",
    write=_write,
    read=_read,
    records=graph.records,
    comment=xml_text.COMMENT,
    first=xml_text.DECLARATION,
)
