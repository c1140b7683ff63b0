"""Share the attributes and the reader between GraphML and GEXF."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final
from xml.etree.ElementTree import Element

from trninv.exporters import xml_text
from trninv.exporters.format import Record
from trninv.exporters.graph import GraphEdge, GraphNode

ATTRIBUTES: Final = {
    "node": {"kind": "string", "state": "string"},
    "edge": {"bandwidth_bytes_per_s": "long", "scope": "string", "technology": "string", "state": "string"},
}
"""Names and types of the attributes of nodes and edges."""


def read_graph_xml(lines: Iterable[str], leaf: str, pair: Callable[[Element], tuple[str, str]]) -> Iterator[Record]:
    """Yield nodes and edges; ``pair`` returns name and value of the leaf elements, which are their attributes."""
    values: dict[str, str] = {}
    for element in xml_text.read_elements(lines):
        match element.tag:
            case "node":
                yield GraphNode(element.attrib["id"], **values)
                values = {}
            case "edge":
                bandwidth = int(values.pop("bandwidth_bytes_per_s"))
                yield GraphEdge(element.attrib["source"], element.attrib["target"], bandwidth, **values)
                values = {}
            case tag if tag == leaf:
                values |= [pair(element)]
