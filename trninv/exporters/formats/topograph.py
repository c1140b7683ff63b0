"""Write a model for topograph's simulated providers: switches, and a block for each scale-up domain.

topograph is a tool that reports a cloud's topology to schedulers. A scale-up domain is the servers that NeuronLink
connects.
"""

from collections.abc import Iterator
from typing import Any

from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Format
from trninv.exporters.yaml_syntax import YAML
from trninv.hostlist import fold

_DOMAIN = "accelerator.topology.test/domain"
"""The annotation that names the domain of a block's nodes."""


def _content(source: ExportSource) -> Iterator[Any]:
    children_by_name: dict[str, dict[str, None]] = {}
    for server in source.servers:
        for index, name in enumerate(path := (*server.network, server.domain)):
            children_by_name.setdefault(name, {})
            if index:
                children_by_name[path[index - 1]][name] = None  # a dict as an ordered set
    switches = {name: {"switches": list(children)} for name, children in children_by_name.items() if children}
    blocks = [
        {"switch": name, "nodes": [fold([server.name for server in members])], "annotations": {_DOMAIN: name}}
        for name, members in source.servers_by_domain().items()
    ]
    yield ({"switches": switches} if switches else {}) | {"blocks": blocks}


FORMAT = Format(
    name="topograph",
    suffix=".yaml",
    description="a model for topograph's simulated providers: switches, and each domain as a block",
    syntax=YAML,
    content=_content,
)
