"""Read the output of ``aws ec2``: instances, instance topology, reservation topology and capacity block status.

Pages may be lines of one file or separate files. Tags, security groups and all other fields are ignored. The ids of
network nodes differ between accounts: import one account at a time.
"""

from collections.abc import Callable, Iterator, Mapping

from trninv.importers.input_file import InputFile
from trninv.importers.json_value import JsonValue
from trninv.importers.list_response import read_items
from trninv.importers.records import (
    CapacityBlockStatus,
    CompleteListing,
    InstanceListing,
    ObservedRecord,
    ObservedServer,
    TerminatedInstance,
)
from trninv.importers.source_declaration import SourceDeclaration

_INSTANCE_FIELDS = {
    "host": "PrivateDnsName",
    "instance_type": "InstanceType",
    "zone": "Placement.AvailabilityZone",
    "state": "State.Name",
}
_TOPOLOGY_FIELDS = {"instance_type": "InstanceType", "zone": "ZoneId", "network_nodes": "NetworkNodes"}
EXPECTED = _TOPOLOGY_FIELDS | _INSTANCE_FIELDS | {"zone": "Placement.AvailabilityZone or ZoneId"}
"""Fields of a server that this source should report, with their names in the source."""
_STATES = {"pending": "maintenance", "running": "up", "stopping": "down", "shutting-down": "down", "stopped": "down"}
"""The server state for each state in DescribeInstances; terminated instances are skipped."""


def read(source: InputFile) -> Iterator[ObservedRecord]:
    """Yield the servers and capacity block statuses in a file, then a marker for each list that ends in the file."""
    is_last_page: dict[str, bool] = {}
    for page in source.values():
        kinds = [name for name in _PAGE_READERS if isinstance(page.raw, dict) and name in page.raw]
        if not kinds:
            page.add_error(f"has none of {', '.join(_PAGE_READERS)}")
        for name in kinds:
            yield from _PAGE_READERS[name](read_items(page, name))
            is_last_page[name] = page.get("NextToken").as_text() is None
    yield from (listing for name, listing in _LISTINGS.items() if is_last_page.get(name))


def _read_instances(reservations: Iterator[JsonValue]) -> Iterator[ObservedRecord]:
    for reservation in reservations:
        for entry in read_items(reservation, "Instances"):
            state = entry.get("State").get("Name").as_text()
            if state == "terminated":
                yield TerminatedInstance()
            elif instance := _require_name(entry, "InstanceId"):
                placement = entry.get("Placement")
                yield ObservedServer(
                    where=entry.where,
                    instance=instance,
                    host=entry.get("PrivateDnsName").as_name(),
                    instance_type=entry.get("InstanceType").as_name(),
                    zone=placement.get("AvailabilityZoneId").as_name() or placement.get("AvailabilityZone").as_name(),
                    reservation=entry.get("CapacityReservationId").as_name(),
                    capacity_block=entry.get("CapacityBlockId").as_name(),
                    state=_STATES.get(state or ""),
                    reason=state,
                    expected=_INSTANCE_FIELDS,
                )


def _read_topology(instances: Iterator[JsonValue]) -> Iterator[ObservedRecord]:
    for entry in instances:
        if instance := _require_name(entry, "InstanceId"):
            yield ObservedServer(
                where=entry.where,
                instance=instance,
                instance_type=entry.get("InstanceType").as_name(),
                zone=entry.get("ZoneId").as_name(),
                capacity_block=entry.get("CapacityBlockId").as_name(),
                network_nodes=entry.get("NetworkNodes").names() or None,
                expected=_TOPOLOGY_FIELDS,
            )


def _read_reservations(reservations: Iterator[JsonValue]) -> Iterator[ObservedRecord]:
    """Check the topology of reservations, but yield nothing, because it does not name instances."""
    for reservation in reservations:
        _require_name(reservation, "CapacityReservationId")
        reservation.get("NetworkNodes").names()
    yield from ()


def _read_capacity_blocks(statuses: Iterator[JsonValue]) -> Iterator[ObservedRecord]:
    for entry in statuses:
        block, status = _require_name(entry, "CapacityBlockId"), entry.get("InterconnectStatus").as_text()
        if status not in (None, "ok", "impaired", "insufficient-data"):
            entry.get("InterconnectStatus").add_error("is not ok, impaired or insufficient-data")
        elif block and status:
            yield CapacityBlockStatus(block, status)


def _require_name(entry: JsonValue, name: str) -> str | None:
    """Return a member that must be a name; note an error and return None if there is none."""
    text = entry.get(name).as_name()
    if text is None:
        entry.add_error(f"has no {name}")
    return text


_PAGE_READERS: Mapping[str, Callable[[Iterator[JsonValue]], Iterator[ObservedRecord]]] = {
    "Reservations": _read_instances,
    "Instances": _read_topology,
    "CapacityReservations": _read_reservations,
    "CapacityBlockStatuses": _read_capacity_blocks,
}
"""The reader of each list that a response can have."""
_LISTINGS: Mapping[str, InstanceListing] = {"Reservations": CompleteListing(), "Instances": InstanceListing()}
"""The marker to yield after the last page of a listing; only DescribeInstances lists every instance."""


SOURCE = SourceDeclaration(
    name="ec2",
    title="EC2",
    commands=(
        "`aws ec2 describe-instances`, `describe-instance-topology`, "
        "`describe-capacity-reservation-topology`, `describe-capacity-block-status`"
    ),
    content="type, zone, capacity block, the network nodes above it; whether a block's interconnect is impaired",
    read=read,
    expected=EXPECTED,
    is_manager=True,
    host_name_rank=4,
    objects=(("reason", "DescribeInstances"), ("network_nodes", "DescribeInstanceTopology")),
)
