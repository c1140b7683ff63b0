"""Write hwloc's XML of one server: processors, memory, chips and NICs, and bandwidths between chips as distances.

Devices are direct children of the machine, because the inventory's tables have neither sockets nor PCI addresses. There
are no comments, because hwloc's own XML reader, which it uses if built without libxml2, does not accept them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from trninv.errors import NotExpressibleError
from trninv.exporters import graph_stream
from trninv.exporters.export_source import ExportedServer, ExportSource
from trninv.exporters.format import Format
from trninv.exporters.serialization import XML, XmlElement
from trninv.exporters.serialization import xml_element as element
from trninv.inventory.address.syntax import parse

_BANDWIDTH_KIND: Final = 10
"""hwloc's kind for distances that a user provides (2) and that are bandwidths (8), in MB/s by convention."""
_MB: Final = 10**6
_DEVICES: Final = {"chip": ("neuron", 5), "nic": ("rdmap", 3)}
"""The prefix of device names and hwloc's number for the type of device: co-processor or OpenFabrics NIC."""
_WORD_BITS: Final = 32
"""hwloc writes sets of processors as words of this many bits."""
_VALUES_PER_ELEMENT: Final = 10
"""The number of values in each element that lists indexes or bandwidths."""
_FIRST_PROCESSOR_INDEX: Final = 3
"""The gp_index (hwloc's unique number of an object) of the first processor; the machine has 1 and its memory 2."""


def _content(source: ExportSource) -> Iterator[Any]:
    server = _server(source)
    devices = [node for node in graph_stream.read_nodes(source) if node.kind in _DEVICES]
    first_index = _FIRST_PROCESSOR_INDEX + server.model.vcpus
    gp_indexes = {node.address: index for index, node in enumerate(devices, first_index)}
    machine = _machine(server, source.event, [_device(node, gp_indexes[node.address]) for node in devices])
    chips = {node.address: gp_indexes[node.address] for node in devices if node.kind == "chip"}
    yield element("topology", [machine, *_distances(source, chips)], version="2.0")


def _device(node: graph_stream.GraphNode, gp_index: int) -> XmlElement:
    prefix, device_type = _DEVICES[node.kind]
    name = f"{prefix}{_ordinal(node.address)}"
    return element("object", type="OSDev", gp_index=gp_index, name=name, osdev_type=device_type)


def _ordinal(address: str) -> int:
    """Return the number at the end of an address."""
    return parse(address).steps[-1][1]


def _server(source: ExportSource) -> ExportedServer:
    """Return the only server of the scope."""
    if len(source.all_servers) > 1:
        raise NotExpressibleError(
            f"{source.place.address} has {len(source.all_servers):,} servers, and hwloc describes one machine; name "
            f"one, such as {source.all_servers[0].address}"
        )
    return source.servers[0]


def _machine(server: ExportedServer, event: int, devices: list[XmlElement]) -> XmlElement:
    """Return the machine with its memory, processors and devices."""
    sets = _processor_sets(processors := range(server.model.vcpus))
    allowed = {"allowed_cpuset": sets["cpuset"], "allowed_nodeset": sets["nodeset"]}
    memory = server.model.memory_bytes
    content = [
        element("info", name="trninvAddress", value=server.address),
        element("info", name="trninvEvent", value=event),
        element("object", type="NUMANode", os_index=0, **sets, gp_index=2, local_memory=memory),
    ]
    for cpu in processors:
        gp_index = _FIRST_PROCESSOR_INDEX + cpu
        content.append(element("object", type="PU", os_index=cpu, **_processor_sets([cpu]), gp_index=gp_index))
    return element("object", content + devices, type="Machine", os_index=0, **sets, **allowed, gp_index=1)


def _processor_sets(cpus: Iterable[int]) -> dict[str, str]:
    """Return the attributes for a set of processors in hwloc's notation; all processors are in one NUMA node."""
    mask = sum(1 << cpu for cpu in cpus)
    words = [
        f"0x{mask >> shift & (1 << _WORD_BITS) - 1:08x}" for shift in range(0, max(mask.bit_length(), 1), _WORD_BITS)
    ]
    cpuset, nodeset = ",".join(reversed(words)), "0x00000001"
    return {"cpuset": cpuset, "complete_cpuset": cpuset, "nodeset": nodeset, "complete_nodeset": nodeset}


def _distances(source: ExportSource, chips: dict[str, int]) -> Iterator[XmlElement]:
    """Yield the bandwidths between any two chips, 0 if there is no link; nothing if no chips are linked directly.

    ``chips`` has each chip's gp_index by address.
    """
    direct = _direct_links(source)
    if not direct:
        return
    content = [
        *_numbers("indexes", list(chips.values())),
        *_numbers("u64values", [direct.get(frozenset((a, b)), 0) for a in chips for b in chips]),
    ]
    attributes = {"type": "OSDev", "name": "NeuronLinkBandwidth", "indexing": "gp"}
    yield element("distances2", content, **attributes, nbobjs=len(chips), kind=_BANDWIDTH_KIND)


def _direct_links(source: ExportSource) -> dict[frozenset[str], int]:
    """Return the bandwidth in MB/s of each link between chips, by the addresses of its ends."""
    chips = {node.address for node in graph_stream.read_nodes(source) if node.kind == "chip"}
    chip_links = (edge for edge in graph_stream.read_edges(source) if {edge.a, edge.b} <= chips)
    return {frozenset((edge.a, edge.b)): edge.bandwidth_bytes_per_s // _MB for edge in chip_links}


def _numbers(tag: str, values: Sequence[int]) -> Iterator[XmlElement]:
    """Yield elements that list values, with the length of their text in characters as an attribute."""
    for start in range(0, len(values), _VALUES_PER_ELEMENT):
        text = "".join(f"{value} " for value in values[start : start + _VALUES_PER_ELEMENT])
        yield element(tag, text, length=len(text))


_DOCTYPE: Final = '<!DOCTYPE topology SYSTEM "hwloc2.dtd">'

FORMAT = Format(
    name="hwloc",
    suffix=".xml",
    description="hwloc's XML, for lstopo and hwloc's library: chips and NICs of one server, bandwidths as distances",
    syntax=replace(XML, comment_template="", header_lines=(*XML.header_lines, _DOCTYPE)),
    content=_content,
)
