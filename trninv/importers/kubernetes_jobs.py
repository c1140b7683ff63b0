"""Read ``kubectl get resourceclaims,resourceslices -A -o json``: jobs with chips.

Dynamic resource allocation (DRA) assigns chips to claims. An allocated claim counts as a job; each result of its
allocation names a pool and a device, which the ResourceSlices map to a node and a chip. Without slices, the pool's name
is taken as the node's, and the number in the device's name as the chip's.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

from trninv.importers.input_file import InputFile
from trninv.importers.json_value import JsonValue, quote_value
from trninv.importers.kubernetes_health import DRIVER
from trninv.importers.kubernetes_slices import device_number, is_whole_node, parse_device_number, untyped_attributes
from trninv.importers.list_response import is_list, next_page_token, read_objects
from trninv.importers.scheduler_job import HostAllocation, SchedulerJob, clean_job_name
from trninv.units import format_timestamp

DeviceKey = tuple[str, str]
"""A pool and a device in it, by name."""
DeviceLocation = tuple[str, int | None]
"""A node and the number of a chip; None means all chips of the node."""


def read(source: InputFile) -> Iterator[SchedulerJob]:
    """Yield the allocated claims in a file as jobs."""
    claims: list[JsonValue] = []
    devices: dict[DeviceKey, DeviceLocation] = {}
    page: JsonValue | None = None
    for value in source.yaml_or_json():
        for kind, resource in read_objects(value, "ResourceClaim", "ResourceSlice"):
            if kind == "ResourceClaim":
                claims.append(resource)
            elif kind == "ResourceSlice":
                devices |= _read_devices(resource.get("spec"))
            elif kind == "Pod":  # with the device plugin, it may have chips: without an error, they would count as free
                resource.add_error(
                    "is a Pod, which does not say which chips it has; "
                    "use kubectl get resourceclaims,resourceslices -A -o json"
                )
        page = value if is_list(value) else page
    if page is not None and next_page_token(page) is not None:
        page.get("metadata").get("continue").add_error("has more pages; put all of them into one file, one per line")
    for claim in claims:
        yield from _read_claim(claim, devices)


def _read_devices(spec: JsonValue) -> Iterator[tuple[DeviceKey, DeviceLocation]]:
    """Yield the devices in a ResourceSlice of Neuron's driver."""
    node, pool = spec.get("nodeName").as_name(), spec.get("pool").get("name").as_name()
    if spec.get("driver").as_text() != DRIVER or node is None or pool is None:
        return
    for device in spec.get("devices").objects():
        attributes = untyped_attributes(device)
        chip = device_number(device, attributes)
        if (chip is not None or is_whole_node(attributes)) and (name := device.get("name").as_name()):
            yield (pool, name), (node, chip)


def _read_claim(claim: JsonValue, devices: Mapping[DeviceKey, DeviceLocation]) -> Iterator[SchedulerJob]:
    """Yield a claim's job if Neuron devices are allocated to it, not counting those with shared admin access."""
    metadata, status = claim.get("metadata"), claim.get("status")
    chips_by_host: dict[str, set[int] | None] = {}
    for result in status.get("allocation").get("devices").get("results").objects():
        if result.get("driver").as_text() != DRIVER or result.get("adminAccess").raw is True:
            continue
        pool, device = result.get("pool").as_name(), result.get("device").as_name()
        number = parse_device_number(device)
        if (location := devices.get((pool or "", device or ""))) is None and pool and number is not None:
            location = pool, number
        if location is None:
            result.add_error(
                "has a device that no ResourceSlice lists; use kubectl get resourceclaims,resourceslices -A -o json"
            )
            continue
        host, chip = location
        host_chips = chips_by_host.setdefault(host, set())
        if chip is None:
            chips_by_host[host] = None  # all chips of the host
        elif host_chips is not None:
            host_chips.add(chip)
    if not chips_by_host:
        return
    if metadata.get("name").raw in (None, "", "null"):
        metadata.add_error("has no name")
    name = f"{metadata.get('namespace').as_name() or 'default'}/{metadata.get('name').as_name()}"
    users = [clean_job_name(user.get("name"), "") for user in status.get("reservedFor").objects()]
    yield SchedulerJob(
        where=claim.where,
        identity=metadata.get("uid").as_name() or name,
        name=name,
        who=next(filter(None, users), "kubernetes"),
        allocations=tuple(
            HostAllocation(host, None if chips is None else tuple(sorted(chips)))
            for host, chips in chips_by_host.items()
        ),
        submitted_at=_read_time(metadata.get("creationTimestamp")),
        started_at=_read_time(status.get("allocation").get("allocationTimestamp")),
    )


def _read_time(value: JsonValue) -> str | None:
    """Convert a time as Kubernetes writes it, such as 2026-11-22T02:10:00Z, to the database's format."""
    if (text := value.as_text()) is None:
        return None
    try:
        return format_timestamp(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        value.add_error(f"is {quote_value(text)}, not a time such as 2026-11-22T02:10:00Z")
        return None
