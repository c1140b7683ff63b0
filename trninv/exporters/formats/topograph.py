"""A model of topograph's simulator: switches, and a block for each scale-up domain."""

from collections.abc import Iterable, Iterator

from trninv.exporters import yaml_text
from trninv.exporters.format import Format, Record
from trninv.exporters.source import Source
from trninv.hostlist import expanded, folded

_DOMAIN = "accelerator.topology.test/domain"


def _write(source: Source) -> Iterator[str]:
    below: dict[str, dict[str, None]] = {}
    for server in source.servers:
        for at, name in enumerate(way := (*server.network, server.domain)):
            below.setdefault(name, {})
            if at:
                below[way[at - 1]][name] = None
    switches = {name: {"switches": list(children)} for name, children in below.items() if children}
    if switches:
        yield from yaml_text.document({"switches": switches})
    blocks = [
        {"switch": name, "nodes": [folded([server.name for server in of])], "annotations": {_DOMAIN: name}}
        for name, of in source.domains().items()
    ]
    yield from yaml_text.document({"blocks": blocks})


def _read(lines: Iterable[str]) -> Iterator[Record]:
    (found,) = yaml_text.documents(lines)
    above = {child: name for name, of in found.get("switches", {}).items() for child in of["switches"]}
    for block in found["blocks"]:
        way = [block["switch"]]
        while way[0] in above:
            way.insert(0, above[way[0]])
        yield from ((name, *way) for nodes in block["nodes"] for name in expanded(nodes))


def _records(source: Source) -> Iterator[Record]:
    yield from ((server.name, *server.network, server.domain) for server in source.servers)


FORMAT = Format(
    name="topograph",
    suffix=".yaml",
    says="a model for topograph's simulated providers: switches, and a block a domain",
    write=_write,
    read=_read,
    records=_records,
)
