"""GEXF 1.2, which Gephi, networkx and graphology read."""

from collections.abc import Iterable, Iterator

from trninv.exporters import graph, graph_xml, xml_text
from trninv.exporters.format import Format, Record
from trninv.exporters.graph_xml import ATTRIBUTES
from trninv.exporters.source import Source


def _write(source: Source) -> Iterator[str]:
    yield '<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">'
    yield '<graph defaultedgetype="undirected" mode="static">'
    for of, kinds in ATTRIBUTES.items():
        yield xml_text.tag("attributes", end="", class_=of, mode="static")
        for name, kind in kinds.items():
            yield xml_text.tag("attribute", id=name, title=name, type=kind)
        yield "</attributes>"
    yield "<nodes>"
    for node in graph.nodes(source):
        yield (
            xml_text.tag("node", end="", id=node.address, label=node.address)
            + _values("node", node._asdict())
            + "</node>"
        )
    yield "</nodes>"
    yield "<edges>"
    for edge in graph.edges(source):
        begin = xml_text.tag("edge", end="", id=edge.address, source=edge.a, target=edge.b)
        yield begin + _values("edge", edge._asdict()) + "</edge>"
    yield "</edges>"
    yield "</graph>"
    yield "</gexf>"


def _values(of: str, values: dict[str, object]) -> str:
    given = "".join(xml_text.tag("attvalue", for_=name, value=values[name]) for name in ATTRIBUTES[of])
    return f"<attvalues>{given}</attvalues>"


def _read(lines: Iterable[str]) -> Iterator[Record]:
    return graph_xml.read(lines, "attvalue", lambda value: (value.attrib["for"], value.attrib["value"]))


FORMAT = Format(
    name="gexf",
    suffix=".gexf",
    says="GEXF 1.2: Gephi, networkx, graphology",
    write=_write,
    read=_read,
    records=graph.records,
    comment=xml_text.COMMENT,
    first=xml_text.DECLARATION,
)
