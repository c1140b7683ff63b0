"""Represent what a source reports about servers: the records that source readers yield and `ingestion` stores."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from itertools import repeat
from typing import Final, NamedTuple, TypeAlias

from trninv.characters import escape_controls

NEURON_TYPE_PREFIXES: Final = ("trn", "inf")
"""Prefixes of the instance types that have Neuron devices."""
NO_BLOCK: Final = "-"
"""The block of a server that the scheduler's topology omits."""
BLOCK_KEY: Final = "trninv_block"
"""A key that discovery adds to a node of Kubernetes or Slurm: its block in the scheduler's topology."""
MAX_UNKNOWN_KEYS: Final = 20
"""The maximum number of unknown keys, and of unread parts, that are reported per server and per file."""
_MAX_KEY: Final = 60
"""The maximum length of an unknown key in reports, in characters."""


class ObservedChip(NamedTuple):
    """A chip that a server reports; the fields are the columns of ``observed_chip``.

    Attributes
    ----------
    ordinal
        Its number on the machine, which may differ from its number in a container.
    memory_bytes
        HBM, bytes.
    cores
        Physical NeuronCores: the tool's count times the logical core configuration.
    neighbours
        Ordinals of the chips that the driver's static table links it to, ascending; not a measurement.
    efa_bdf
        PCI address of its EFA device.
    ecc_uncorrected
        Uncorrected memory errors since the counters were cleared.
    taints
        Taints of its Kubernetes device, KEY=VALUE:EFFECT.

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
class ObservedServer:
    """A server, identified by its instance id, its host name or both.

    Attributes
    ----------
    where
        Its position in the source, for error messages.
    network_nodes
        Ids of the network nodes above the server, the top layer first.
    ultraserver, position, ultraserver_mode
        The id of its UltraServer, its position in that ring of servers, and the possible sizes of UltraServers.
    state, reason
        Its state in trninv's terms, such as down, and the reason in the source's words.
    logical_cores
        Its logical core configuration: the number of physical NeuronCores in a logical one.
    chip_count
        The number of chips, if the source only counts them.
    is_partial
        Whether the server may have more chips than reported, as in a container.
    scheduler_block
        The lowest group of servers that a scheduler has it in, such as a block of Slurm; `NO_BLOCK` if it is in none.
    expected
        Fields of the server and its chips that its source should report.
    unknown_keys
        Keys in the source that its reader does not read.

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
    scheduler_block: str | None = None
    chips: tuple[ObservedChip, ...] = field(default=())
    expected: Iterable[str] = ()
    unknown_keys: tuple[str, ...] = ()

    @property
    def missing_fields(self) -> tuple[str, ...] | None:
        """The expected fields that the server or one of its chips lacks; None if nothing is missing.

        Always None for instance types without Neuron chips.
        """
        if self.instance_type and not self.instance_type.lower().startswith(NEURON_TYPE_PREFIXES):
            return None
        columns = zip(*self.chips, strict=True) if self.chips else repeat((None,))
        unset = {name for name, column in zip(ObservedChip._fields, columns, strict=False) if None in column}
        if len(self.chips) == 1:  # a single chip has no neighbours
            unset.discard("neighbours")
        unset |= {name for name in _SERVER_FIELDS if getattr(self, name) is None}
        missing = tuple(name for name in self.expected if name in unset)
        return missing or None


@dataclass(frozen=True, slots=True)
class Unread:
    """A part of a file that its reader does not understand; the rest of the file is imported without it."""

    where: str
    why: str

    def __str__(self) -> str:
        return escape_controls(f"{self.where} {self.why}")


def shorten_keys(names: Iterable[str]) -> tuple[str, ...]:
    """Return a source's first unknown keys as short, printable ASCII, because they are untrusted text."""
    short = {escape_controls(name.encode("ascii", "backslashreplace").decode())[:_MAX_KEY] for name in names}
    return tuple(sorted(short)[:MAX_UNKNOWN_KEYS])


_SERVER_FIELDS: Final = tuple(server_field.name for server_field in fields(ObservedServer))


@dataclass(frozen=True, slots=True)
class ObservedSide:
    """The state of a server's links on one side in its UltraServer: "H" to another rack, "V" within the rack."""

    host: str
    side: str
    is_up: bool


@dataclass(frozen=True, slots=True)
class CapacityBlockStatus:
    """EC2's status of the links between a capacity block's servers: ok, impaired or insufficient-data."""

    capacity_block: str
    interconnect: str


@dataclass(frozen=True, slots=True)
class InstanceListing:
    """A marker that a file lists instances; an empty listing is refused unless the import allows it."""


@dataclass(frozen=True, slots=True)
class CompleteListing(InstanceListing):
    """A marker that a listing has every instance of the account or cluster."""


@dataclass(frozen=True, slots=True)
class TerminatedInstance:
    """An instance that a listing still has, but that is no more."""


ObservedRecord: TypeAlias = (
    ObservedServer | ObservedSide | CapacityBlockStatus | InstanceListing | TerminatedInstance | Unread
)
