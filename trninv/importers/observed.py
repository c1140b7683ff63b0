"""What a source says of servers; None is what it does not say."""

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias


class Chip(NamedTuple):
    """A chip as a server shows it; its fields are the columns of ``observed_chip``.

    Attributes
    ----------
    ordinal
        Its number on the machine, whatever a container calls it.
    memory_bytes
        HBM, bytes.
    cores
        Physical NeuronCores: those that the tool counts, times the logical core configuration.
    neighbours
        The chips of the same server that the driver's table joins it with, ascending; it is not a measurement.
    efa_bdf
        PCI address of its EFA device.
    ecc_uncorrected
        Uncorrected errors of memory since the counters were cleared.
    taints
        Its taints as a device of Kubernetes, KEY=VALUE:EFFECT.

    """

    ordinal: int
    bdf: str | None = None
    serial: str | None = None
    memory_bytes: int | None = None
    cores: int | None = None
    numa_node: int | None = None
    neighbours: tuple[int, ...] | None = None
    efa_bdf: str | None = None
    ecc_uncorrected: int | None = None
    taints: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Server:
    """A server: an instance, known by its id, its host's name, or both.

    Attributes
    ----------
    where
        Where the source speaks of it, for faults.
    network_nodes
        Ids from the top layer down to the one above the server.
    ultraserver, position, ultraserver_mode
        The UltraServer that its driver elected, its place in that ring, and the sizes that it may have.
    chip_count
        How many chips are there, where the source only counts them.
    is_partial
        Whether more chips may be there than are shown, as in a container.

    """

    where: str
    instance: str | None = None
    host: str | None = None
    instance_type: str | None = None
    zone: str | None = None
    reservation: str | None = None
    capacity_block: str | None = None
    network_nodes: tuple[str, ...] | None = None
    ultraserver: str | None = None
    position: int | None = None
    ultraserver_mode: str | None = None
    state: str | None = None
    reason: str | None = None
    logical_cores: int | None = None
    chip_count: int | None = None
    is_partial: bool = False
    chips: tuple[Chip, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Side:
    """The links of a server towards one neighbour in its UltraServer: H goes to another rack, V stays in the rack."""

    host: str
    side: str
    is_up: bool


@dataclass(frozen=True, slots=True)
class Block:
    """What EC2 says of the links that join the servers of a capacity block: ok, impaired or insufficient-data."""

    capacity_block: str
    interconnect: str


@dataclass(frozen=True, slots=True)
class Listing:
    """That a file lists instances: it is refused if it has none."""


@dataclass(frozen=True, slots=True)
class Whole(Listing):
    """That a listing has every instance that there is."""


Seen: TypeAlias = Server | Side | Block | Listing
