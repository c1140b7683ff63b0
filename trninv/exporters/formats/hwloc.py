"""Write hwloc's XML of one server: processors, memory, chips and NICs, and bandwidths between chips as distances.

The inventory has neither sockets nor PCI addresses, so devices are direct children of the machine. There are no
comments, because hwloc's own XML reader, which it uses if built without libxml2, does not accept them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from trninv.errors import NotExpressibleError
from trninv.exporters import graph_stream, serialization
from trninv.exporters.export_source import ExportedServer, ExportSource
from trninv.exporters.format import Format, Record
from trninv.inventory.address.syntax import parse

_BANDWIDTH: Final = 10
"""hwloc's kind of distances: from the user (2) and bandwidth (8), in MB/s by convention."""
_MB: Final = 10**6
_DEVICES: Final = {"chip": ("neuron", 5), "nic": ("rdmap", 3)}
"""Prefixes of device names, and hwloc's types for co-processors and OpenFabrics NICs."""
_BITS: Final = 32
_VALUES_PER_LINE: Final = 10


def _write(source: ExportSource) -> Iterator[str]:
    server = _server(source)
    devices = [node for node in graph_stream.read_nodes(source) if node.kind in _DEVICES]
    numbers = {node.address: server.model.vcpus + 3 + index for index, node in enumerate(devices)}
    yield '<!DOCTYPE topology SYSTEM "hwloc2.dtd">'
    yield '<topology version="2.0">'
    yield from _machine_lines(server, source.event)
    for node in devices:
        name, kind = _DEVICES[node.kind]
        device_name = f"{name}{parse(node.address).steps[-1][1]}"
        yield serialization.format_tag(
            "object", type="OSDev", gp_index=numbers[node.address], name=device_name, osdev_type=kind
        )
    yield "</object>"
    yield from _distances(source, {node.address: numbers[node.address] for node in devices if node.kind == "chip"})
    yield "</topology>"


def _server(source: ExportSource) -> ExportedServer:
    if len(source.all_servers) > 1:
        raise NotExpressibleError(
            f"{source.place.address} has {len(source.all_servers):,} servers, and hwloc describes one machine; name "
            f"one, such as {source.all_servers[0].address}"
        )
    return source.servers[0]


def _machine_lines(server: ExportedServer, event: int) -> Iterator[str]:
    """Yield the machine with its memory and processors, without its end tag: the caller adds the devices."""
    sets = _processor_sets(processors := range(server.model.vcpus))
    allowed = {"allowed_cpuset": sets["cpuset"], "allowed_nodeset": sets["nodeset"]}
    yield serialization.format_tag("object", end="", type="Machine", os_index=0, **sets, **allowed, gp_index=1)
    yield serialization.format_tag("info", name="trninvAddress", value=server.address)
    yield serialization.format_tag("info", name="trninvEvent", value=event)
    memory = server.model.memory_bytes
    yield serialization.format_tag("object", type="NUMANode", os_index=0, **sets, gp_index=2, local_memory=memory)
    for cpu in processors:
        yield serialization.format_tag("object", type="PU", os_index=cpu, **_processor_sets([cpu]), gp_index=3 + cpu)


def _processor_sets(cpus: Iterable[int]) -> dict[str, str]:
    """Return hwloc's cpusets of some processors, and its nodesets: the machine has one NUMA node."""
    mask = sum(1 << cpu for cpu in cpus)
    words = [f"0x{mask >> shift & (1 << _BITS) - 1:08x}" for shift in range(0, max(mask.bit_length(), 1), _BITS)]
    cpuset, nodeset = ",".join(reversed(words)), "0x00000001"
    return {"cpuset": cpuset, "complete_cpuset": cpuset, "nodeset": nodeset, "complete_nodeset": nodeset}


def _distances(source: ExportSource, chips: dict[str, int]) -> Iterator[str]:
    """Yield the bandwidths between any two chips, 0 if there is no link; nothing if no chips are linked directly."""
    direct = _direct_links(source)
    if not direct:
        return
    attributes = {"type": "OSDev", "name": "NeuronLinkBandwidth", "indexing": "gp"}
    yield serialization.format_tag("distances2", end="", **attributes, nbobjs=len(chips), kind=_BANDWIDTH)
    yield from _numbers("indexes", list(chips.values()))
    yield from _numbers("u64values", [direct.get(frozenset((a, b)), 0) for a in chips for b in chips])
    yield "</distances2>"


def _direct_links(source: ExportSource) -> dict[frozenset[str], int]:
    """Return MB/s of the links between two chips, by their addresses."""
    chips = {node.address for node in graph_stream.read_nodes(source) if node.kind == "chip"}
    chip_links = (edge for edge in graph_stream.read_edges(source) if {edge.a, edge.b} <= chips)
    return {frozenset((edge.a, edge.b)): edge.bandwidth_bytes_per_s // _MB for edge in chip_links}


def _numbers(tag: str, values: Sequence[int]) -> Iterator[str]:
    for start in range(0, len(values), _VALUES_PER_LINE):
        text = "".join(f"{value} " for value in values[start : start + _VALUES_PER_LINE])
        yield f'<{tag} length="{len(text)}">{text}</{tag}>'


def _read(lines: Iterable[str]) -> Iterator[Record]:
    devices: list[tuple[str, str]] = []
    matrix: list[int] = []
    for element in serialization.read_elements(line for line in lines if not line.startswith("<!DOCTYPE")):
        match element.tag, element.attrib:
            case "info", {"name": "trninvAddress", "value": address}:
                yield "address", address
            case "object", {"type": "NUMANode", "local_memory": memory}:
                yield "memory", int(memory)
            case "object", {"type": "OSDev", "name": name, "osdev_type": kind}:
                devices.append((name, kind))
            case "u64values", _:
                matrix += map(int, (element.text or "").split())
    yield "devices", *devices
    yield "bandwidths", sum(matrix), len(matrix)


def _records(source: ExportSource) -> Iterator[Record]:
    server = _server(source)
    yield "address", server.address
    yield "memory", server.model.memory_bytes
    nodes = [(node.kind, parse(node.address).steps[-1][1]) for node in graph_stream.read_nodes(source)]
    devices = ((_DEVICES[kind], ordinal) for kind, ordinal in nodes if kind in _DEVICES)
    yield "devices", *((f"{name}{ordinal}", str(number)) for (name, number), ordinal in devices)
    chips, direct = [kind for kind, _ in nodes].count("chip"), _direct_links(source)
    yield "bandwidths", 2 * sum(direct.values()), chips**2 if direct else 0


FORMAT = Format(
    name="hwloc",
    suffix=".xml",
    description="hwloc's XML of one server, for lstopo and users of hwloc: chips, NICs, and bandwidths as distances",
    write=_write,
    read=_read,
    expected_records=_records,
    comment_template="",
    header_line=serialization.XML_DECLARATION,
)
