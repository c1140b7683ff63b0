"""Represent measurements before they are stored: what the user says of a run, and the timings that a tool printed."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from trninv.database.tables import MEASURED_OPERATION_MEANINGS
from trninv.errors import InvalidArgumentError
from trninv.importers.json_value import JsonValue

MAX_RANKS: Final = 1_000_000
MAX_BANDWIDTH: Final = 9 * 10**12
"""The fastest timing that is read, in bytes per second: more than the links of any chip carry."""
_MAX_NANOSECONDS: Final = 10**15
_MAX_CORES_PER_RANK: Final = 1_024
_SPELLINGS: Final[Mapping[str, str]] = {
    "allr": "all-reduce",
    "allg": "all-gather",
    "redsct": "reduce-scatter",
    "sendrecv": "send-receive",
    "alltoall": "all-to-all",
    "alltoallv": "all-to-all",
}
"""Operations as nccom-test abbreviates them."""
COLLECTIVES: Final = tuple(name for name in MEASURED_OPERATION_MEANINGS if name != "transfer")


def read_operation(text: str) -> str | None:
    """Return the operation that a text names as trninv or nccom-test writes it, or None."""
    name = _SPELLINGS.get(text, text.replace("_", "-"))
    return name if name in COLLECTIVES else None


def bus_factor(operation: str, members: int) -> Fraction:
    """Return the bus bandwidth over the size per time of a collective of some ranks, or of some chips.

    Each member of an all-gather receives the parts of the n - 1 others, so (n - 1) / n of the data; of an all-reduce,
    twice that (docs/reference/routing.md).
    """
    if operation in ("send-receive", "permute", "transfer"):
        return Fraction(1)
    return Fraction((2 if operation == "all-reduce" else 1) * (members - 1), members)


@dataclass(frozen=True, slots=True)
class RunDescription:
    """What a user says of a run: where its ranks were, and what they did.

    Attributes
    ----------
    hosts
        Servers, by address or as @NAME; each has an equal part of the ranks.
    cores_per_rank
        Physical cores of a rank, the LNC.

    """

    hosts: tuple[str, ...]
    ranks: int
    cores_per_rank: int
    operation: str

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> "RunDescription":
        """Check what options, a sidecar file and a command line say together.

        Raises
        ------
        InvalidArgumentError
            A value is missing or malformed.

        """
        hosts, operation = values.get("hosts") or (), read_operation(str(values.get("operation") or ""))
        if not hosts or not all(isinstance(host, str) and host for host in hosts):
            raise InvalidArgumentError("the servers of the run are unknown; add --host SERVER for each of them")
        if len(set(hosts)) < len(hosts):
            raise InvalidArgumentError("a server of the run is named twice; name each server once")
        if operation is None:
            raise InvalidArgumentError(f"the operation is unknown; add --operation, one of {', '.join(COLLECTIVES)}")
        ranks = _whole_number(values, "ranks", MAX_RANKS)
        if ranks % len(hosts):
            raise InvalidArgumentError(f"{ranks:,} ranks are not divided equally among {len(hosts)} servers")
        cores = _whole_number(values, "cores_per_rank", _MAX_CORES_PER_RANK)
        return cls(tuple(hosts), ranks, cores, operation)


def _whole_number(values: Mapping[str, Any], name: str, maximum: int) -> int:
    number, option = values.get(name), f"--{name.replace('_', '-')}"
    if number is None:
        raise InvalidArgumentError(f"the {name.replace('_', ' ')} of the run are unknown; add {option}")
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= maximum:
        raise InvalidArgumentError(f"{option} {str(number)[:40]} is out of range; use 1 to {maximum:,}")
    return number


@dataclass(frozen=True, slots=True)
class CollectiveTiming:
    """How long a collective of a size took."""

    where: str
    data_type: str | None
    size: int
    nanoseconds: int


@dataclass(frozen=True, slots=True)
class TransferTiming:
    """How long a transfer from one place to another took; both are addresses, or instances and hosts as @NAME."""

    where: str
    source: str
    target: str
    size: int
    nanoseconds: int


def check_timing(value: JsonValue, size: int, nanoseconds: int) -> bool:
    """Return whether a size and a time can be stored; note an error if not."""
    if not (size > 0 and 0 < nanoseconds <= _MAX_NANOSECONDS):
        value.add_error("has no size above 0, or a time of less than 1 ns or more than 11 days")
    elif size * 10**9 > MAX_BANDWIDTH * nanoseconds:
        value.add_error(
            f"moves {size:,} bytes in {nanoseconds:,} ns, more than {MAX_BANDWIDTH // 10**12} TB/s; check the units"
        )
    else:
        return True
    return False
