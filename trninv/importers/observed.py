"""What a source says of servers; None is what it does not say."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from trninv.characters import escape_controls

_NEURON_TYPE_PREFIXES: Final = ("trn", "inf")
"""How the instance types with Neuron devices begin."""


MAX_UNKNOWN_KEYS: Final = 20
"""Of a server, and of a file, as of what was not read: more tell nobody more."""
_MAX_KEY: Final = 60


class ObservedChip(NamedTuple):
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
class ObservedServer:
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
    expected
        Fields of it, and of each of its chips, that its source should report.
    unknown_keys
        Keys of the source that its reader does not know.

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
    chips: tuple[ObservedChip, ...] = field(default=())
    expected: Iterable[str] = ()
    unknown_keys: tuple[str, ...] = ()

    @property
    def missing_fields(self) -> tuple[str, ...] | None:
        """Return the expected fields that are not reported, of the server or of any chip; None if there is none."""
        if self.instance_type and not self.instance_type.lower().startswith(_NEURON_TYPE_PREFIXES):
            return None
        unset = set[str]().union(*map(_unset_fields, self.chips)) if self.chips else _CHIP_FIELDS
        if len(self.chips) == 1:
            unset = unset - {"neighbours"}
        unset |= {name for name in _SERVER_FIELDS if getattr(self, name) is None}
        missing = tuple(name for name in self.expected if name in unset)
        return missing or None


@dataclass(frozen=True, slots=True)
class Unread:
    """Something whose meaning its reader does not know: the rest of the file is kept without it."""

    where: str
    why: str

    def __str__(self) -> str:
        return escape_controls(f"{self.where} {self.why}")


def shorten_keys(names: Iterable[str]) -> tuple[str, ...]:
    """Return the first of a source's unknown keys as short, printable ASCII: they may be anything."""
    short = {escape_controls(name.encode("ascii", "backslashreplace").decode())[:_MAX_KEY] for name in names}
    return tuple(sorted(short)[:MAX_UNKNOWN_KEYS])


_CHIP_FIELDS: Final = frozenset(ObservedChip._fields)
_SERVER_FIELDS: Final = tuple(server_field.name for server_field in fields(ObservedServer))


@lru_cache(maxsize=4_096)  # most are alike
def _unset_fields(chip: ObservedChip) -> frozenset[str]:
    return frozenset(name for name, value in zip(ObservedChip._fields, chip, strict=True) if value is None)


@dataclass(frozen=True, slots=True)
class ObservedSide:
    """The links of a server towards one neighbour in its UltraServer: H goes to another rack, V stays in the rack."""

    host: str
    side: str
    is_up: bool


@dataclass(frozen=True, slots=True)
class CapacityBlockStatus:
    """What EC2 says of the links that join the servers of a capacity block: ok, impaired or insufficient-data."""

    capacity_block: str
    interconnect: str


@dataclass(frozen=True, slots=True)
class InstanceListing:
    """That a file lists instances: it is refused if it has none."""


@dataclass(frozen=True, slots=True)
class CompleteListing(InstanceListing):
    """That a listing has every instance that there is."""


ObservedRecord: TypeAlias = ObservedServer | ObservedSide | CapacityBlockStatus | InstanceListing | Unread
