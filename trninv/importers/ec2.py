"""What ``aws ec2`` prints: instances, their topology, reservations' topology and capacity blocks' status.

Pages may come in one file, one a line, or in files of their own. Tags, security groups and whatever else is not named
here is left out. Network nodes' ids are made for each account: import one account's at a time.
"""

from collections.abc import Callable, Iterator, Mapping

from trninv.importers.answer import items
from trninv.importers.observed import Block, Listing, Seen, Server, Whole
from trninv.importers.reading import Source
from trninv.importers.value import Value

_OF_INSTANCE = {
    "host": "PrivateDnsName",
    "instance_type": "InstanceType",
    "zone": "Placement.AvailabilityZone",
    "state": "State.Name",
}
_OF_TOPOLOGY = {"instance_type": "InstanceType", "zone": "ZoneId", "network_nodes": "NetworkNodes"}
EXPECTED = _OF_TOPOLOGY | _OF_INSTANCE | {"zone": "Placement.AvailabilityZone or ZoneId"}
_STATES = {"pending": "maintenance", "running": "up", "stopping": "down", "shutting-down": "down", "stopped": "down"}
"""Of DescribeInstances; a terminated instance is none any more."""


def read(source: Source) -> Iterator[Seen]:
    """The servers and capacity blocks of a file."""
    ended: dict[str, bool] = {}
    for page in source.values():
        kinds = [name for name in _PAGES if isinstance(page.of, dict) and name in page.of]
        if not kinds:
            page.fault(f"has none of {', '.join(_PAGES)}")
        for name in kinds:
            yield from _PAGES[name](items(page, name))
            ended[name] = page.get("NextToken").as_text() is None
    yield from (listing for name, listing in _LISTS.items() if ended.get(name))


def _instances(reservations: Iterator[Value]) -> Iterator[Seen]:
    for reservation in reservations:
        for each in items(reservation, "Instances"):
            state = each.get("State").get("Name").as_text()
            if state != "terminated" and (instance := _required(each, "InstanceId")):
                placement = each.get("Placement")
                yield Server(
                    where=each.where,
                    instance=instance,
                    host=each.get("PrivateDnsName").as_name(),
                    instance_type=each.get("InstanceType").as_name(),
                    zone=placement.get("AvailabilityZoneId").as_name() or placement.get("AvailabilityZone").as_name(),
                    reservation=each.get("CapacityReservationId").as_name(),
                    capacity_block=each.get("CapacityBlockId").as_name(),
                    state=_STATES.get(state or ""),
                    reason=state,
                    expected=_OF_INSTANCE,
                )


def _topology(instances: Iterator[Value]) -> Iterator[Seen]:
    for each in instances:
        if instance := _required(each, "InstanceId"):
            yield Server(
                where=each.where,
                instance=instance,
                instance_type=each.get("InstanceType").as_name(),
                zone=each.get("ZoneId").as_name(),
                capacity_block=each.get("CapacityBlockId").as_name(),
                network_nodes=each.get("NetworkNodes").names() or None,
                expected=_OF_TOPOLOGY,
            )


def _reserved(reservations: Iterator[Value]) -> Iterator[Seen]:
    """Where instances of a reservation will stand; it names none, so nothing is known of servers yet."""
    for each in reservations:
        _required(each, "CapacityReservationId")
        each.get("NetworkNodes").names()
    yield from ()


def _blocks(statuses: Iterator[Value]) -> Iterator[Seen]:
    for each in statuses:
        block, status = _required(each, "CapacityBlockId"), each.get("InterconnectStatus").as_text()
        if status not in (None, "ok", "impaired", "insufficient-data"):
            each.get("InterconnectStatus").fault("is not ok, impaired or insufficient-data")
        elif block and status:
            yield Block(block, status)


def _required(each: Value, name: str) -> str | None:
    found = each.get(name).as_name()
    if found is None:
        each.fault(f"has no {name}")
    return found


_PAGES: Mapping[str, Callable[[Iterator[Value]], Iterator[Seen]]] = {
    "Reservations": _instances,
    "Instances": _topology,
    "CapacityReservations": _reserved,
    "CapacityBlockStatuses": _blocks,
}
_LISTS: Mapping[str, Listing] = {"Reservations": Whole(), "Instances": Listing()}
"""What the last page of a listing says of it."""
