"""``kubectl get resourceclaims,resourceslices -A -o json``: claims of dynamic resource allocation that hold chips.

A claim that is allocated is a job; its results name a device of a pool. The ResourceSlices say which chip that is, and
of which node; without them a device's number is the chip's, and the pool is called as its node.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

from trninv.importers.answer import is_list, next_page, objects
from trninv.importers.held import Held, Part, called
from trninv.importers.kubernetes_health import DRIVER
from trninv.importers.kubernetes_slices import attributes, device_number, is_node, number_in
from trninv.importers.reading import Source
from trninv.importers.value import Value, shown
from trninv.timestamps import format_timestamp

Devices = Mapping[tuple[str, str], tuple[str, int | None]]
"""By pool and device the node, and the chip's number; None stands for all chips of the node."""


def read(source: Source) -> Iterator[Held]:
    """The claims of a file that are allocated."""
    claims: list[Value] = []
    devices: dict[tuple[str, str], tuple[str, int | None]] = {}
    page: Value | None = None
    for value in source.yaml_or_json():
        for kind, each in objects(value, "ResourceClaim", "ResourceSlice"):
            if kind == "ResourceClaim":
                claims.append(each)
            elif kind == "ResourceSlice":
                devices |= _devices(each.get("spec"))
        page = value if is_list(value) else page
    if page is not None and next_page(page) is not None:
        page.get("metadata").get("continue").fault("has more pages: put them all into one file, one a line")
    for claim in claims:
        yield from _claim(claim, devices)


def _devices(spec: Value) -> Iterator[tuple[tuple[str, str], tuple[str, int | None]]]:
    node, pool = spec.get("nodeName").as_name(), spec.get("pool").get("name").as_name()
    if spec.get("driver").as_text() != DRIVER or node is None or pool is None:
        return
    for device in spec.get("devices").objects():
        chip = device_number(device)
        if (chip is not None or is_node(attributes(device))) and (name := device.get("name").as_name()):
            yield (pool, name), (node, chip)


def _claim(claim: Value, devices: Devices) -> Iterator[Held]:
    metadata, status = claim.get("metadata"), claim.get("status")
    held: dict[str, set[int] | None] = {}
    for result in status.get("allocation").get("devices").get("results").objects():
        if result.get("driver").as_text() != DRIVER or result.get("adminAccess").of is True:
            continue
        pool, device = result.get("pool").as_name(), result.get("device").as_name()
        number = number_in(device)
        if (found := devices.get((pool or "", device or ""))) is None and pool and number is not None:
            found = pool, number
        if found is None:
            result.fault("is a device of no ResourceSlice: give kubectl get resourceclaims,resourceslices -A -o json")
            continue
        host, chip = found
        before = held.setdefault(host, set())
        if chip is None:
            held[host] = None
        elif before is not None:
            before.add(chip)
    if not held:
        return
    if metadata.get("name").of in (None, "", "null"):
        metadata.fault("has no name")
    name = f"{metadata.get('namespace').as_name() or 'default'}/{metadata.get('name').as_name()}"
    users = [called(user.get("name"), "") for user in status.get("reservedFor").objects()]
    yield Held(
        where=claim.where,
        identity=metadata.get("uid").as_name() or name,
        name=name,
        who=next(filter(None, users), "kubernetes"),
        parts=tuple(Part(host, None if chips is None else tuple(sorted(chips))) for host, chips in held.items()),
        submitted=_time(metadata.get("creationTimestamp")),
        began=_time(status.get("allocation").get("allocationTimestamp")),
    )


def _time(value: Value) -> str | None:
    """A time as Kubernetes writes it, 2026-11-22T02:10:00Z."""
    if (text := value.as_text()) is None:
        return None
    try:
        return format_timestamp(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        value.fault(f"is {shown(text)}, not a time such as 2026-11-22T02:10:00Z")
        return None
