"""JSON Graph Format, version 2."""

from collections.abc import Iterable, Iterator

from trninv.exporters import graph
from trninv.exporters.format import Format, Record
from trninv.exporters.graph import Edge, Node
from trninv.exporters.json_lines import listed, members, text
from trninv.exporters.source import Source


def _write(source: Source) -> Iterator[str]:
    of = {"event": source.event}
    yield f'{{"graph": {{"id": {text(source.place.address)}, "directed": false, "metadata": {text(of)}, "nodes": {{'
    yield from listed(map(_node, graph.nodes(source)))
    yield '}, "edges": ['
    yield from listed(map(_edge, graph.edges(source)))
    yield "]}}"


def _node(node: Node) -> str:
    said = {"label": node.address, "metadata": {"kind": node.kind, "state": node.state}}
    return f"{text(node.address)}: {text(said)}"


def _edge(edge: Edge) -> str:
    more = edge._asdict()
    ends = {"id": edge.address, "source": more.pop("a"), "target": more.pop("b"), "relation": more.pop("scope")}
    return text({**ends, "metadata": more})


def _read(lines: Iterable[str]) -> Iterator[Record]:
    for found in members(lines):
        if "source" in found:
            yield Edge(found["source"], found["target"], scope=found["relation"], **found["metadata"])
        elif len(found) == 1:
            ((address, said),) = found.items()
            yield Node(address, **said["metadata"])


FORMAT = Format(
    name="jgf",
    suffix=".json",
    says="JSON Graph Format, version 2",
    write=_write,
    read=_read,
    records=graph.records,
    comment="",
)
