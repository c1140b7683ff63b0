"""Answer how fast collectives and transfers were measured, beside the limit of the wiring at that moment."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from sqlalchemy import Row

from trninv.inventory.parameter import Argument
from trninv.rendered_text import Rendered, RenderedTable
from trninv.routing.answer import AddressText, Answer, ExactInt
from trninv.routing.measurement_rows import BrokenAssumption, broken_assumption, read_measurements
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.questions import find
from trninv.routing.scope import Scope
from trninv.routing.snapshot import Snapshot
from trninv.units import Bandwidth, Capacity, pluralize

MAX_MEASUREMENTS: Final = 10_000
_DEFINITION: Final = (
    "bus bandwidth of a chip, one direction: the size over the time, times (n - 1) / n for n chips, or twice that for "
    "all-reduce; of a transfer, the size over the time. The limit is that of the wiring at the time of the measurement"
)


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """A measurement beside the limit of the wiring at its time."""

    operation: Annotated[str, "What was timed."]
    address: Annotated[AddressText, "Place of its chips, or source of a transfer."]
    peer: Annotated[AddressText | None, "Target of a transfer."]
    machine: Annotated[str | None, "The instance or host that measured."]
    measured_at: Annotated[str, "When it was measured (UTC)."]
    event: Annotated[int, "Number of the last event up to then."]
    chips: Annotated[int, "Number of chips."]
    ranks: Annotated[int | None, "Number of ranks."]
    data_type: Annotated[str | None, "Type of the data."]
    size: Annotated[Capacity, "Size of the data."]
    nanoseconds: Annotated[ExactInt, "Time that it took, nanoseconds."]
    bandwidth: Annotated[Bandwidth, "Bus bandwidth of a chip."]
    limit: Annotated[Bandwidth | None, "Limit of the wiring at that time; null if trninv knows none."]
    breaks: Annotated[
        BrokenAssumption | None, "The assumption to check if it is above the limit, which is impossible; else null."
    ]

    @property
    def share(self) -> float | None:
        """Bandwidth over its limit; null without a limit, or if it is 0."""
        return self.bandwidth / self.limit if self.limit else None

    @classmethod
    def from_row(cls, row: Row[Any]) -> "MeasuredRun":
        """Convert a row of ``measurement``."""
        limit = None if row.limit_bandwidth is None else Bandwidth(row.limit_bandwidth)
        return cls(
            *(row.operation, row.address, row.peer, row.machine, row.measured_at, row.event),
            *(row.chips, row.ranks, row.data_type, Capacity(row.bytes), row.nanoseconds),
            Bandwidth(row.bus_bandwidth),
            limit,
            broken_assumption(row.bus_bandwidth, limit, row.ranks),
        )


@dataclass(frozen=True, kw_only=True)
class MeasuredBandwidthAnswer(Answer):
    """Measured bandwidths beside the limits of the wiring."""

    scope: Annotated[AddressText, "The scope."]
    runs: Annotated[tuple[MeasuredRun, ...], "Measurements, newest first."]
    runs_size: Annotated[int, "Number of all measurements in the scope."]

    @property
    def impossible(self) -> int:
        """Number of listed measurements above their limit."""
        return sum(run.breaks is not None for run in self.runs)

    def best(self) -> list[MeasuredRun]:
        """Return the possible run with the highest share for each operation, data type, place and number of chips."""
        best_runs: dict[tuple[object, ...], MeasuredRun] = {}
        for run in self.runs:
            key = (run.operation, run.data_type, run.address, run.peer, run.chips)
            if run.breaks is None and (key not in best_runs or (run.share or 0) > (best_runs[key].share or 0)):
                best_runs[key] = run
        return [best_runs[key] for key in sorted(best_runs, key=str)]

    def render(self) -> Rendered:
        yield f"{self.scope}: {pluralize(self.runs_size, 'measurement')}"
        if not self.runs:
            yield "none is stored; trninv import nccom-test --help says how to import some"
            return
        if best_runs := self.best():
            columns = ["best of each", "type", "place", "chips", "size", "measured", "limit", "share"]
            yield RenderedTable(columns, map(_best_row, best_runs))
        yield RenderedTable(
            ["measured at", "operation", "type", "place", "chips", "size", "measured", "limit", "share"],
            map(_run_row, self.runs),
        )
        if broken := {run.breaks: run for run in reversed(self.runs) if run.breaks}:
            yield f"impossible: {pluralize(self.impossible, 'measurement')} above the limit; check"
            yield from (f"  {breaks.description}" for breaks in BrokenAssumption if breaks in broken)
        if self.truncated:
            yield f"… {self.runs_size - len(self.runs):,} earlier measurements (--last)"


def _place(run: MeasuredRun) -> str:
    return run.address if run.peer is None else f"{run.address} to {run.peer}"


def _figures(run: MeasuredRun) -> Iterator[str]:
    yield _place(run)
    yield f"{run.chips or ''}"
    yield str(run.size)
    yield f"{run.bandwidth / 10**9:,.4g} GB/s"
    yield "" if run.limit is None else str(run.limit)
    share = "" if run.share is None else f"{run.share:.1%}"
    yield f"{share} impossible: {run.breaks.lower()}" if run.breaks else share


def _best_row(run: MeasuredRun) -> Sequence[str]:
    return [run.operation, run.data_type or "", *_figures(run)]


def _run_row(run: MeasuredRun) -> Sequence[str]:
    return [run.measured_at[:19] + "Z", run.operation, run.data_type or "", *_figures(run)]


@question(
    cost=ROUTED_COST,
    command="collectives --measured",
    examples=("collectives u-trn2x64 --measured",),
    has_baseline=False,
)
def measured_bandwidth(
    snapshot: Snapshot,
    scope: Annotated[str, Argument("Chip, core, server, rack, domain or cluster.", metavar="SCOPE")],
    last: Annotated[
        int, Argument("Most measurements to list, newest first", minimum=1, maximum=MAX_MEASUREMENTS)
    ] = 1_000,
) -> MeasuredBandwidthAnswer:
    """Compare measured collectives and transfers with the limit of the wiring at their time."""
    place = Scope.resolve(snapshot, scope).place
    rows, count = read_measurements(snapshot.connection, place, last)
    return MeasuredBandwidthAnswer(
        scope=place.address,
        runs=tuple(map(MeasuredRun.from_row, rows)),
        runs_size=count,
        truncated=len(rows) < count,
        definition=_DEFINITION,
        facts=find("collectives").function(snapshot, scope).facts if rows else (),
    )
