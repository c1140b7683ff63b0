"""Write JSON Graph Format, version 2."""

from collections.abc import Iterable, Iterator

from trninv.exporters import graph_stream
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Format, Record
from trninv.exporters.graph_stream import GraphEdge, GraphNode
from trninv.exporters.serialization import json_list, json_text, read_json_members


def _write(source: ExportSource) -> Iterator[str]:
    metadata = {"event": source.event}
    yield (
        f'{{"graph": {{"id": {json_text(source.place.address)}, "directed": false, "metadata": '
        f'{json_text(metadata)}, "nodes": {{'
    )
    yield from json_list(map(_node, graph_stream.read_nodes(source)))
    yield '}, "edges": ['
    yield from json_list(map(_edge, graph_stream.read_edges(source)))
    yield "]}}"


def _node(node: GraphNode) -> str:
    content = {"label": node.address, "metadata": {"kind": node.kind, "state": node.state}}
    return f"{json_text(node.address)}: {json_text(content)}"


def _edge(edge: GraphEdge) -> str:
    attributes = edge._asdict()
    ends = {
        "id": edge.address,
        "source": attributes.pop("a"),
        "target": attributes.pop("b"),
        "relation": attributes.pop("scope"),
    }
    return json_text({**ends, "metadata": attributes})


def _read(lines: Iterable[str]) -> Iterator[Record]:
    for member in read_json_members(lines):
        if "source" in member:
            yield GraphEdge(member["source"], member["target"], scope=member["relation"], **member["metadata"])
        elif len(member) == 1:
            ((address, content),) = member.items()
            yield GraphNode(address, **content["metadata"])


FORMAT = Format(
    name="jgf",
    suffix=".json",
    description="JSON Graph Format, version 2",
    write=_write,
    read=_read,
    expected_records=graph_stream.graph_records,
    comment_template="",
)
