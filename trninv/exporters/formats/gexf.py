"""Write GEXF 1.2, which Gephi, networkx and graphology read."""

from collections.abc import Iterable, Iterator

from trninv.exporters import graph_stream, serialization
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Format, Record
from trninv.exporters.graph_stream import ATTRIBUTES


def _write(source: ExportSource) -> Iterator[str]:
    yield '<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">'
    yield '<graph defaultedgetype="undirected" mode="static">'
    for element, kinds in ATTRIBUTES.items():
        yield serialization.format_tag("attributes", end="", class_=element, mode="static")
        for name, kind in kinds.items():
            yield serialization.format_tag("attribute", id=name, title=name, type=kind)
        yield "</attributes>"
    yield "<nodes>"
    for node in graph_stream.read_nodes(source):
        yield (
            serialization.format_tag("node", end="", id=node.address, label=node.address)
            + _values("node", node._asdict())
            + "</node>"
        )
    yield "</nodes>"
    yield "<edges>"
    for edge in graph_stream.read_edges(source):
        start = serialization.format_tag("edge", end="", id=edge.address, source=edge.a, target=edge.b)
        yield start + _values("edge", edge._asdict()) + "</edge>"
    yield "</edges>"
    yield "</graph>"
    yield "</gexf>"


def _values(element: str, values: dict[str, object]) -> str:
    content = "".join(
        serialization.format_tag("attvalue", for_=name, value=values[name]) for name in ATTRIBUTES[element]
    )
    return f"<attvalues>{content}</attvalues>"


def _read(lines: Iterable[str]) -> Iterator[Record]:
    return graph_stream.read_graph_xml(lines, "attvalue", lambda value: (value.attrib["for"], value.attrib["value"]))


FORMAT = Format(
    name="gexf",
    suffix=".gexf",
    description="GEXF 1.2: Gephi, networkx, graphology",
    write=_write,
    read=_read,
    expected_records=graph_stream.graph_records,
    comment_template=serialization.XML_COMMENT,
    header_line=serialization.XML_DECLARATION,
)
