"""Failure rates that others published, with their source: `--rates NAME` of `trninv capacity` and `trninv ettr`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final


@dataclass(frozen=True, slots=True)
class InterruptionCause:
    """How often one cause interrupted a job."""

    cause: Annotated[str, "The cause, as the source names it."]
    count: Annotated[int, "Number of interruptions."]
    kind: Annotated[str, "Kind of part that it counts for; other: it interrupts a job, but belongs to no part."]


@dataclass(frozen=True, slots=True)
class RatePreset:
    """Interruptions of one long job, as a document counts them.

    Attributes
    ----------
    hours
        Length of the counted period.
    parts
        Number of parts of each kind that the job had; a cause of kind ``other`` counts per chip.

    """

    title: str
    quote: str
    note: str
    hours: int
    parts: Mapping[str, int]
    causes: tuple[InterruptionCause, ...]

    def interruptions(self, kind: str) -> int:
        """Return the number of interruptions that count for a kind of part."""
        return sum(cause.count for cause in self.causes if cause.kind == kind)


_LLAMA3_GPUS: Final = 16_384
_LLAMA3_TABLE: Final = (
    ("Faulty GPU", 148, "chip"),
    ("GPU HBM3 Memory", 72, "chip"),
    ("Software Bug", 54, "other"),
    ("Network Switch/Cable", 35, "other"),
    ("Host Maintenance", 32, "server"),
    ("GPU SRAM Memory", 19, "chip"),
    ("GPU System Processor", 17, "chip"),
    ("NIC", 7, "server"),
    ("NCCL Watchdog Timeouts", 7, "other"),
    ("Silent Data Corruption", 6, "chip"),
    ("GPU Thermal Interface + Sensor", 6, "chip"),
    ("SSD", 3, "server"),
    ("Power Supply", 3, "server"),
    ("Server Chassis", 2, "server"),
    ("IO Expansion Board", 2, "server"),
    ("Dependency", 2, "other"),
    ("CPU", 2, "server"),
    ("System Memory", 2, "server"),
)
"""Table 5. The printed shares are of these counts, except 30.1 % for Faulty GPU: 148 of 419 are 35.3 %."""

PRESETS: Final[Mapping[str, RatePreset]] = {
    "llama3": RatePreset(
        title="The Llama 3 Herd of Models (Meta, arXiv:2407.21783), section 3.3.4 and table 5",
        quote=(
            "During a 54-day snapshot period of pre-training, we experienced a total of 466 job interruptions. … The "
            "remaining 419 were unexpected interruptions, which are classified in Table 5."
        ),
        note=(
            "16,384 H100 GPUs, not Trainium: a chip here is a GPU, and a server has eight. No repair time is stated. "
            "The number of switches and cables is not stated, so their 35 interruptions count per chip."
        ),
        hours=54 * 24,
        parts={"chip": _LLAMA3_GPUS, "server": _LLAMA3_GPUS // 8, "other": _LLAMA3_GPUS},
        causes=tuple(InterruptionCause(*row) for row in _LLAMA3_TABLE),
    )
}
