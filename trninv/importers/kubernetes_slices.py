"""ResourceSlices of Neuron's DRA driver: the chips of a node, and their taints.

A device that stands for a whole node is no chip. What taints it taints each chip of the node, unless a chip has a taint
of its own: then the node's follows from that. Where slices have no other device, the node's type says its chips.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from trninv.catalog.instance_types import chips_of
from trninv.importers.kubernetes_health import DRIVER, TaintRule, device_taints, is_active
from trninv.importers.observed import Chip, Server, Unread
from trninv.importers.value import Value

EXPECTED: Final = {"instance_type": "instanceType", "efa_bdf": "resource.aws.com/devicegroup1_id"}
MOST_CHIPS: Final = 128
_WHOSE_CHIPS: Final = "is tainted, and no device or instanceType says which chips are its own"
_NUMBERED: Final = re.compile(r"neuron-?device-?(\d{1,4})", re.ASCII)


class _Device(NamedTuple):
    """A device of a slice; without a number, the whole node."""

    where: str
    attributes: Value
    number: int | None
    taints: tuple[str, ...]


def is_ours(resource_slice: Value) -> bool:
    """Whether a ResourceSlice is of Neuron's driver."""
    return resource_slice.get("spec").get("driver").as_text() == DRIVER


def servers_of(host: str, slices: Sequence[Value], rules: Sequence[TaintRule]) -> Iterator[Server | Unread]:
    """Yield a node with its chips, by the newest generation of each pool; a part, where not all slices are there."""
    pools = _pools(slices)
    specs = [spec for pool in pools for spec in pool]
    devices = [each for spec in specs for each in _devices(spec, rules)]
    chips = _chips(devices)
    if not host:
        specs[0].fault("has no nodeName")
    elif len({chip.ordinal for chip in chips}) < len(chips):
        specs[0].fault("names a device twice")
    elif devices:
        first, kind = min(devices, key=lambda device: device.number is None).attributes, _instance_type(devices)
        is_partial = not chips or any(len(pool) < _wanted(pool[0]) for pool in pools)
        if not (chips := chips or _chips_of_node(devices, kind)):
            yield from (Unread(each.where, _WHOSE_CHIPS) for each in devices if any(map(is_active, each.taints)))
        layers = (first.get(f"networkNodeLayer{number}").as_name() for number in (1, 2, 3))
        yield Server(
            where=specs[0].where,
            host=host,
            instance_type=kind,
            capacity_block=first.get("capacityBlockId").as_name(),
            network_nodes=tuple(layer for layer in layers if layer) or None,
            is_partial=is_partial,
            chips=tuple(sorted(chips, key=lambda chip: chip.ordinal)),
            expected=EXPECTED,
        )


def _pools(slices: Sequence[Value]) -> list[list[Value]]:
    """Return the newest generation of the slices of each pool."""
    pools = defaultdict[str | None, dict[int, list[Value]]](lambda: defaultdict(list))
    for spec in (each.get("spec") for each in slices):
        pool = spec.get("pool")
        pools[pool.get("name").as_name()][pool.get("generation").as_integer() or 0].append(spec)
    return [generations[max(generations)] for generations in pools.values()]


def _wanted(spec: Value) -> int:
    return spec.get("pool").get("resourceSliceCount").as_integer() or 1


def _devices(spec: Value, rules: Sequence[TaintRule]) -> list[_Device]:
    pool, found = spec.get("pool").get("name").as_name(), []
    for device in spec.get("devices").objects():
        has, taints = attributes(device), device_taints(device, pool, rules)
        number = device_number(device)
        if number is None and not is_node(has):
            has.fault("has no deviceId")
        else:
            found.append(_Device(device.where, has, number, taints))
    return found


def _instance_type(devices: Sequence[_Device]) -> str | None:
    kinds = (device.attributes.get("instanceType").as_name() for device in devices)
    return next((kind for kind in kinds if kind), None)


def _chips(devices: Sequence[_Device]) -> list[Chip]:
    of_node = _taints_of_node(devices)
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


def _chips_of_node(devices: Sequence[_Device], kind: str | None) -> list[Chip]:
    """Return the chips that a node of a type has, where its slices show no device but the node."""
    taints = tuple(sorted(_taints_of_node(devices))) or None
    count = chips_of(kind) if kind else None
    return [Chip(ordinal, taints=taints) for ordinal in range(count or 0)]


def _taints_of_node(devices: Sequence[_Device]) -> set[str]:
    return {taint for device in devices if device.number is None for taint in device.taints}


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
