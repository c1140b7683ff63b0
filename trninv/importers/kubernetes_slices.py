"""Read ResourceSlices of Neuron's DRA driver: the chips of a node, and their taints.

A device that represents a whole node is not a chip. Its taints apply to every chip of the node, unless a chip itself
has an active taint, which keeps pods off it: then the driver derived the node's taint from that chip's taint. If the
slices have no other device, the number of chips follows from the node's instance type.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from trninv.catalog.instance_types import chips_of
from trninv.importers.json_value import JsonValue
from trninv.importers.kubernetes_health import DRIVER, TaintRule, device_taints, is_active
from trninv.importers.records import ObservedChip, ObservedServer, Unread

EXPECTED: Final = {"instance_type": "instanceType", "efa_bdf": "resource.aws.com/devicegroup1_id"}
"""Fields of a server and its chips that the slices should report, with the names of their attributes."""
SLICE_ATTRIBUTES: Final = (*EXPECTED.values(), "deviceId", "resourceType", "networkNodeLayer", "capacityBlockId")
"""Prefixes of the attributes of a device that are read."""
MAX_CHIPS: Final = 128
"""The maximum number of chips of a node."""
_UNKNOWN_CHIPS: Final = "is tainted, but no device or instanceType identifies its chips"
_DEVICE_NAME: Final = re.compile(r"neuron-?device-?(\d{1,4})", re.ASCII)


class _Device(NamedTuple):
    """A device of a slice; ``number`` is None if it represents the whole node."""

    entry: JsonValue
    attributes: JsonValue
    number: int | None
    taints: tuple[str, ...]


def is_neuron_slice(resource_slice: JsonValue) -> bool:
    """Return whether a ResourceSlice is of Neuron's driver."""
    return resource_slice.get("spec").get("driver").as_text() == DRIVER


def servers_from_slices(
    host: str, slices: Sequence[JsonValue], rules: Sequence[TaintRule]
) -> Iterator[ObservedServer | Unread]:
    """Yield a node with its chips, from all of its slices.

    The node is partial if slices are missing, or if no device represents a single chip. If the number of its chips is
    unknown, its tainted devices are yielded as `Unread`.
    """
    pools = _newest_pools(slices)
    specs = [spec for pool in pools for spec in pool]
    devices = [device for spec in specs for device in _read_devices(spec, rules)]
    chips = _build_chips(devices)
    if not host:
        specs[0].add_error("has no nodeName")
    elif len({chip.ordinal for chip in chips}) < len(chips):
        specs[0].add_error("names a device twice")
    elif devices:
        # the attributes of a chip if there is one, else of the device for the whole node
        attributes = min(devices, key=lambda device: device.number is None).attributes
        instance_type = _instance_type(devices)
        is_partial = not chips or any(len(pool) < _expected_slices(pool[0]) for pool in pools)
        if not (chips := chips or _chips_of_node(devices, instance_type)):
            tainted = (device for device in devices if any(map(is_active, device.taints)))
            yield from (Unread(device.entry.where, _UNKNOWN_CHIPS) for device in tainted)
        layers = (attributes.get(f"networkNodeLayer{number}").as_name() for number in (1, 2, 3))
        yield ObservedServer(
            where=specs[0].where,
            host=host,
            instance_type=instance_type,
            capacity_block=attributes.get("capacityBlockId").as_name(),
            network_nodes=tuple(layer for layer in layers if layer) or None,
            is_partial=is_partial,
            chips=tuple(sorted(chips, key=lambda chip: chip.ordinal)),
            expected=EXPECTED,
        )


def _newest_pools(slices: Sequence[JsonValue]) -> list[list[JsonValue]]:
    """Return the slices of each pool; a newer generation replaces all slices of older ones."""
    pools = defaultdict[str | None, dict[int, list[JsonValue]]](lambda: defaultdict(list))
    for spec in (resource_slice.get("spec") for resource_slice in slices):
        pool = spec.get("pool")
        pools[pool.get("name").as_name()][pool.get("generation").as_integer() or 0].append(spec)
    return [generations[max(generations)] for generations in pools.values()]


def _expected_slices(spec: JsonValue) -> int:
    """Return how many slices the pool of a slice has in total, according to the slice."""
    return spec.get("pool").get("resourceSliceCount").as_integer() or 1


def _read_devices(spec: JsonValue, rules: Sequence[TaintRule]) -> list[_Device]:
    """Return the devices of a slice, with the taints of the driver and of rules."""
    pool, devices = spec.get("pool").get("name").as_name(), []
    for device in spec.get("devices").objects():
        device_attributes, taints = untyped_attributes(device), device_taints(device, pool, rules)
        number = device_number(device, device_attributes)
        if number is None and not is_whole_node(device_attributes):
            device_attributes.add_error("has no deviceId")
        else:
            devices.append(_Device(device, device_attributes, number, taints))
    return devices


def _instance_type(devices: Sequence[_Device]) -> str | None:
    instance_types = (device.attributes.get("instanceType").as_name() for device in devices)
    return next(filter(None, instance_types), None)


def _build_chips(devices: Sequence[_Device]) -> list[ObservedChip]:
    """Return the chips that are devices, with their own taints and the node's taints that apply to them."""
    node_taints = _taints_of_node(devices)
    if any(map(is_active, (taint for device in devices if device.number is not None for taint in device.taints))):
        node_taints = set()
    return [
        ObservedChip(
            device.number,
            efa_bdf=device.attributes.get("resource.aws.com/devicegroup1_id").as_bdf(),
            taints=tuple(sorted({*device.taints, *node_taints})) or None,
        )
        for device in devices
        if device.number is not None
    ]


def _chips_of_node(devices: Sequence[_Device], instance_type: str | None) -> list[ObservedChip]:
    """Return as many chips as the node's instance type has, with the node's taints."""
    taints = tuple(sorted(_taints_of_node(devices))) or None
    count = chips_of(instance_type) if instance_type else None
    return [ObservedChip(ordinal, taints=taints) for ordinal in range(count or 0)]


def _taints_of_node(devices: Sequence[_Device]) -> set[str]:
    """Return the taints of the devices that represent a whole node."""
    return {taint for device in devices if device.number is None for taint in device.taints}


def untyped_attributes(device: JsonValue) -> JsonValue:
    """Return a device's attributes without the object that names the type of each; v1beta1 nests them in ``basic``."""
    original = device.get("attributes") if "attributes" in device.raw else device.get("basic").get("attributes")
    typed = original.raw if isinstance(original.raw, dict) else {}
    plain = {
        name: next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value
        for name, value in typed.items()
    }
    return original.with_raw(plain)


def is_whole_node(attributes: JsonValue) -> bool:
    """Return whether a device represents a whole node."""
    return attributes.get("resourceType").as_text() == "neuron_node"


def device_number(device: JsonValue, attributes: JsonValue) -> int | None:
    """Return the chip number of a device, from its untyped attributes or else its name; None for a whole node."""
    if is_whole_node(attributes):
        return None
    number = attributes.get("deviceId").as_integer(MAX_CHIPS - 1)
    return parse_device_number(device.get("name").as_name()) if number is None else number


def parse_device_number(name: str | None) -> int | None:
    """Return the number in a device's name, such as neuron-device-3 or neurondevice3, or None."""
    match = _DEVICE_NAME.fullmatch(name or "")
    return int(match[1]) if match and int(match[1]) < MAX_CHIPS else None
