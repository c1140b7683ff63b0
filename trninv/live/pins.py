"""Where an instance stands because a person says so."""

from sqlalchemy import Connection

from trninv.errors import UsageError
from trninv.inventory.binding import Standing, server_at
from trninv.inventory.named import is_host, is_instance
from trninv.live.newest import Machine, newest


def pin(connection: Connection, slot: str, name: str) -> Standing:
    """That an instance, or the one of a host, stands in a slot because a person says so; nothing is written.

    Raises
    ------
    WrongLevelError
        The slot is no server.
    UsageError
        Several instances say that they are that host.

    """
    place, seen = server_at(connection, slot), newest(connection)
    instance = name.lower() if is_instance(name.lower()) else None
    host = None if instance else name
    machine = seen.machines.get(instance) if instance else seen.hosts.get(name)
    if instance is None and (several := seen.contested.get(name)):
        raise UsageError(f"{name} is what {' and '.join(several)} call themselves: name the instance")
    if machine is not None and is_named(machine):
        instance, host = machine.instance, host_of(machine)
    return Standing(place.id, place.address, instance, host, "pin", "certain")


def is_named(machine: Machine) -> bool:
    """Whether it is called as an instance or a host can be."""
    if machine.instance is not None:
        return is_instance(machine.instance)
    return machine.host is not None and is_host(machine.host)


def host_of(machine: Machine) -> str | None:
    """The name of its host, if a host can be called so."""
    host = machine.host
    return host if host is not None and is_host(host, of=machine.instance) else None
