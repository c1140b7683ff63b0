"""ResourceSlices of Neuron's DRA driver: the chips of a node, and their taints.

A device that stands for a whole node is no chip. What taints it taints each chip of the node, unless a chip has a taint
of its own: then the node's follows from that.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from trninv.importers.kubernetes_health import DRIVER, TaintRule, device_taints, is_active
from trninv.importers.observed import Chip, Server
from trninv.importers.value import Value

EXPECTED: Final = {"instance_type": "instanceType", "efa_bdf": "resource.aws.com/devicegroup1_id"}
MOST_CHIPS: Final = 128
_NUMBERED: Final = re.compile(r"neuron-?device-?(\d{1,4})", re.ASCII)


class _Device(NamedTuple):
    """A device of a slice; without a number, the whole node."""

    attributes: Value
    number: int | None
    taints: tuple[str, ...]


def is_ours(resource_slice: Value) -> bool:
    """Whether a ResourceSlice is of Neuron's driver."""
    return resource_slice.get("spec").get("driver").as_text() == DRIVER


def server_of(host: str, slices: Sequence[Value], rules: Sequence[TaintRule]) -> Server | None:
    """Return a node with its chips, by the newest generation of its pool; a part, where not all slices are there."""
    specs = [each.get("spec") for each in slices]
    generation = max(spec.get("pool").get("generation").as_integer() or 0 for spec in specs)
    newest = [spec for spec in specs if (spec.get("pool").get("generation").as_integer() or 0) == generation]
    wanted = newest[0].get("pool").get("resourceSliceCount").as_integer() or 1
    devices = [each for spec in newest for each in _devices(spec, rules)]
    chips = _chips(devices)
    if not host:
        newest[0].fault("has no nodeName")
    elif len({chip.ordinal for chip in chips}) < len(chips):
        newest[0].fault("names a device twice")
    elif devices:
        first = devices[0].attributes
        layers = (first.get(f"networkNodeLayer{number}").as_name() for number in (1, 2, 3))
        return Server(
            where=newest[0].where,
            host=host,
            instance_type=first.get("instanceType").as_name(),
            capacity_block=first.get("capacityBlockId").as_name(),
            network_nodes=tuple(layer for layer in layers if layer) or None,
            is_partial=len(newest) < wanted,
            chips=tuple(sorted(chips, key=lambda chip: chip.ordinal)),
            expected=EXPECTED,
        )
    return None


def _devices(spec: Value, rules: Sequence[TaintRule]) -> list[_Device]:
    pool, found = spec.get("pool").get("name").as_name(), []
    for device in spec.get("devices").objects():
        has, taints = attributes(device), device_taints(device, pool, rules)
        number = device_number(device)
        if number is None and not is_node(has):
            has.fault("has no deviceId")
        else:
            found.append(_Device(has, number, taints))
    return found


def _chips(devices: Sequence[_Device]) -> list[Chip]:
    of_node = {taint for device in devices if device.number is None for taint in device.taints}
    if any(map(is_active, (taint for device in devices if device.number is not None for taint in device.taints))):
        of_node = set()
    return [
        Chip(
            device.number,
            efa_bdf=device.attributes.get("resource.aws.com/devicegroup1_id").as_bdf(),
            taints=tuple(sorted({*device.taints, *of_node})) or None,
        )
        for device in devices
        if device.number is not None
    ]


def attributes(device: Value) -> Value:
    """The attributes of a device without their types, which v1beta1 has below ``basic``."""
    given = device.get("attributes") if "attributes" in device.of else device.get("basic").get("attributes")
    typed = given.of if isinstance(given.of, dict) else {}
    plain = {
        name: next(iter(each.values())) if isinstance(each, dict) and len(each) == 1 else each
        for name, each in typed.items()
    }
    return given.with_(plain)


def is_node(attributes: Value) -> bool:
    """Whether a device is a whole node."""
    return attributes.get("resourceType").as_text() == "neuron_node"


def device_number(device: Value) -> int | None:
    """Return the number of a device's chip, or that in its name; None of a device that is a whole node."""
    has = attributes(device)
    if is_node(has):
        return None
    number = has.get("deviceId").as_integer(MOST_CHIPS - 1)
    return number_in(device.get("name").as_name()) if number is None else number


def number_in(name: str | None) -> int | None:
    """Return the number in a device's name, neuron-device-3 or neurondevice3."""
    found = _NUMBERED.fullmatch(name or "")
    return int(found[1]) if found and int(found[1]) < MOST_CHIPS else None
