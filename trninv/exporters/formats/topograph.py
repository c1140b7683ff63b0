"""Write a model for topograph's simulator: switches, and a block for each scale-up domain."""

from collections.abc import Iterable, Iterator

from trninv.exporters import serialization
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Format, Record
from trninv.hostlist import expand, fold

_DOMAIN = "accelerator.topology.test/domain"


def _write(source: ExportSource) -> Iterator[str]:
    children_by_name: dict[str, dict[str, None]] = {}
    for server in source.servers:
        for index, name in enumerate(path := (*server.network, server.domain)):
            children_by_name.setdefault(name, {})
            if index:
                children_by_name[path[index - 1]][name] = None
    switches = {name: {"switches": list(children)} for name, children in children_by_name.items() if children}
    if switches:
        yield from serialization.yaml_document({"switches": switches})
    blocks = [
        {"switch": name, "nodes": [fold([server.name for server in members])], "annotations": {_DOMAIN: name}}
        for name, members in source.servers_by_domain().items()
    ]
    yield from serialization.yaml_document({"blocks": blocks})


def _read(lines: Iterable[str]) -> Iterator[Record]:
    (document,) = serialization.read_yaml_documents(lines)
    parents = {child: name for name, switch in document.get("switches", {}).items() for child in switch["switches"]}
    for block in document["blocks"]:
        path = [block["switch"]]
        while path[0] in parents:
            path.insert(0, parents[path[0]])
        yield from ((name, *path) for nodes in block["nodes"] for name in expand(nodes))


def _records(source: ExportSource) -> Iterator[Record]:
    yield from ((server.name, *server.network, server.domain) for server in source.servers)


FORMAT = Format(
    name="topograph",
    suffix=".yaml",
    description="a model for topograph's simulated providers: switches, and a block per domain",
    write=_write,
    read=_read,
    expected_records=_records,
)
