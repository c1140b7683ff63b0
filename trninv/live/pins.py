"""Bind a machine to a slot that a user names."""

from sqlalchemy import Connection

from trninv.errors import UsageError
from trninv.inventory.binding import ProposedBinding, resolve_slot
from trninv.inventory.named import is_host_name, is_instance_id
from trninv.live.newest import Machine, load_latest_observations


def pinned_binding(connection: Connection, slot: str, name: str) -> ProposedBinding:
    """Return a binding of an instance, or of a host's instance, to a slot that a person chose; write nothing.

    Raises
    ------
    WrongLevelError
        The slot is no server.
    UsageError
        Several instances say that they are that host.

    """
    place, latest = resolve_slot(connection, slot), load_latest_observations(connection)
    instance = name.lower() if is_instance_id(name.lower()) else None
    host = None if instance else name
    machine = latest.machines.get(instance) if instance else latest.hosts.get(name)
    if instance is None and (instances := latest.ambiguous_hosts.get(name)):
        raise UsageError(f"{name} is what {' and '.join(instances)} call themselves: name the instance")
    if machine is not None and has_valid_name(machine):
        instance, host = machine.instance, valid_host_name(machine)
    return ProposedBinding(place.id, place.address, instance, host, "pin", "certain")


def has_valid_name(machine: Machine) -> bool:
    """Whether it is called as an instance or a host can be."""
    if machine.instance is not None:
        return is_instance_id(machine.instance)
    return machine.host is not None and is_host_name(machine.host)


def valid_host_name(machine: Machine) -> str | None:
    """Return the machine's host name if it is a valid one, or None."""
    host = machine.host
    return host if host is not None and is_host_name(host, instance=machine.instance) else None
