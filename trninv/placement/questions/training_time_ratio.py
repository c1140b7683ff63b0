"""Answer how much of its time a job trains if every failure sends it back to its last checkpoint (ETTR).

The formulas are in `trninv.solvers.checkpointing`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

from trninv import solvers
from trninv.enumeration import DescribedEnum
from trninv.errors import InvalidArgumentError
from trninv.inventory.parameter import Argument, FreeText
from trninv.placement.candidates.free_capacity import count_chips, read_capacity
from trninv.placement.candidates.placement_model import PlacementModel
from trninv.placement.failure_rates import (
    OTHER,
    PESSIMISTIC_HELP,
    RATES_HELP,
    SINCE_HELP,
    FailureRates,
    RatesSource,
    read_rates,
)
from trninv.rendered_text import Rendered, RenderedTable
from trninv.routing.answer import AddressText, Answer
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.questions.availability import MeanTime
from trninv.routing.snapshot import Snapshot

MAX_CHIPS, MAX_SECONDS = 100_000_000, 100_000_000
_HOUR, _DAY = 3600, 24
_DEFINITION: Final = (
    "any failure of one of the job's parts interrupts it; it has parts in proportion to its chips, rounded up. Then it "
    "restarts from its last checkpoint, and it waits while it writes one. ETTR is the expected share of the time with "
    "new training: τ / (M·e^(R/M)·(e^((τ+δ)/M) - 1)), for random failures with a mean time M between them, restart "
    "time R, checkpoint time δ and interval τ (Daly, A higher order estimate of the optimum checkpoint interval for "
    "restart dumps, 2006). The approximation is (1 - (R + τ/2)/M) / (1 + δ/τ) (Kokolis et al., Revisiting Reliability "
    "in Large-Scale Machine Learning Research Clusters, arXiv:2410.21680). The best intervals are Young's √(2δM) "
    "(1974) and Daly's. The limits follow from the sums of the 95 % limits of all kinds of parts"
)


class IntervalChoice(DescribedEnum):
    """How a checkpoint interval was chosen."""

    REQUESTED = "REQUESTED", "The requested interval."
    YOUNG = "YOUNG", "The best interval by Young."
    DALY = "DALY", "The best interval by Daly."


@dataclass(frozen=True, slots=True)
class InterruptionRate:
    """How often the parts of one kind interrupt a job."""

    kind: Annotated[str, "Kind of part; other: interruptions that belong to no part, per chip."]
    parts: Annotated[int, "Parts of the job."]
    failures: Annotated[int | None, "Counted failures; null for rates of a file."]
    mtbf: Annotated[MeanTime, "Mean time between failures of one part."]
    per_day: Annotated[float, "Interruptions a day by all of them."]


@dataclass(frozen=True, slots=True)
class CheckpointInterval:
    """The share of useful time with one checkpoint interval."""

    choice: Annotated[IntervalChoice, "How the interval was chosen."]
    seconds: Annotated[float, "Training between two checkpoints, seconds."]
    ratio: Annotated[float, "Effective training time ratio (ETTR), 0 to 1."]
    ratio_lower: Annotated[float | None, "The ratio at the lower limit of the job's MTBF; null without limits."]
    ratio_upper: Annotated[float | None, "The ratio at its upper limit, or without interruptions if it has none."]
    approximation: Annotated[float, "The ratio by the approximation of Kokolis et al.; 0 where that would be negative."]


@dataclass(frozen=True, kw_only=True)
class TrainingTimeAnswer(Answer):
    """Effective training time ratio of a job."""

    scope: Annotated[AddressText, "The place whose kind of domain the job uses."]
    chips: Annotated[int, "Chips of the job."]
    source: Annotated[RatesSource, "Where the rates come from."]
    rates: Annotated[tuple[InterruptionRate, ...], "Interruptions by kind of part."]
    uncounted: Annotated[tuple[str, ...], "Kinds of parts without a failure, with the limit of their MTBF."]
    mtbf_hours: Annotated[float, "Mean time between interruptions of the job, hours."]
    mtbf_lower_hours: Annotated[float | None, "Its lower limit; null without limits."]
    mtbf_upper_hours: Annotated[float | None, "Its upper limit; null if there is none."]
    checkpoint_seconds: Annotated[int, "Time to write a checkpoint, seconds."]
    restart_seconds: Annotated[int, "Time from an interruption until training continues, seconds."]
    intervals: Annotated[tuple[CheckpointInterval, ...], "The requested interval, if any, and the best ones."]

    def render(self) -> Rendered:
        limits = _limits(self.mtbf_lower_hours, self.mtbf_upper_hours, "{:,.4g}")
        per_day = sum(rate.per_day for rate in self.rates)
        yield (
            f"{self.scope}: a job of {self.chips:,} chips is interrupted every {self.mtbf_hours:,.4g} h{limits}, "
            f"{per_day:,.3g} times a day"
        )
        yield from self.source.render()
        if self.uncounted:
            yield f"counted as never failing: {', '.join(self.uncounted)}"
        yield RenderedTable(
            ["kind", "parts", "failures", "MTBF (95% limits)", "interruptions a day"],
            (
                [rate.kind, f"{rate.parts:,}", _count(rate.failures), rate.mtbf, f"{rate.per_day:,.3g}"]
                for rate in self.rates
            ),
        )
        yield RenderedTable(
            ["checkpoint every", "", "training (ETTR)", "95% limits", "approximation"],
            map(_interval_row, self.intervals),
        )


def _count(failures: int | None) -> str:
    return "" if failures is None else f"{failures:,}"


def _limits(lower: float | None, upper: float | None, number: str) -> str:
    """Return confidence limits in parentheses; empty without limits."""
    if lower is None:
        return ""
    return f" (> {number.format(lower)})" if upper is None else f" ({number.format(lower)} to {number.format(upper)})"


def _interval_row(interval: CheckpointInterval) -> Iterator[str]:
    yield f"{interval.seconds / 60:,.4g} min"
    yield "" if interval.choice is IntervalChoice.REQUESTED else f"best by {interval.choice.name.capitalize()}"
    yield f"{interval.ratio:.2%}"
    yield _limits(interval.ratio_lower, interval.ratio_upper, "{:.2%}").strip(" ()")
    yield f"{interval.approximation:.2%}"


@question(
    cost=ROUTED_COST,
    command="ettr",
    examples=(
        "ettr u-trn2x64 --rates history --pessimistic --checkpoint-seconds 60 --restart-seconds 600",
        "ettr u-trn2x64 --rates llama3 --chips 16384 --checkpoint-seconds 60 --restart-seconds 600",
    ),
    has_baseline=False,
    reads_clock=True,
)
def training_time_ratio(
    snapshot: Snapshot,
    scope: Annotated[str, Argument("Place whose kind of domain the job uses.", metavar="SCOPE")],
    rates: Annotated[FreeText, Argument(f"{RATES_HELP}.", option="--rates", metavar="FILE")],
    checkpoint_seconds: Annotated[
        int,
        Argument(
            "Seconds for which the job waits for a checkpoint", option="--checkpoint-seconds", maximum=MAX_SECONDS
        ),
    ],
    restart_seconds: Annotated[
        int,
        Argument(
            "Seconds from an interruption until training continues, with detection, queueing and loading",
            option="--restart-seconds",
            maximum=MAX_SECONDS,
        ),
    ],
    interval_seconds: Annotated[
        int | None, Argument("Also seconds of training between two checkpoints", minimum=1, maximum=MAX_SECONDS)
    ] = None,
    chips: Annotated[
        int | None, Argument("Chips of the job; by default those of the scope", minimum=1, maximum=MAX_CHIPS)
    ] = None,
    rates_since: Annotated[FreeText | None, Argument(SINCE_HELP, metavar="TIME")] = None,
    pessimistic: Annotated[bool, Argument(PESSIMISTIC_HELP)] = False,
) -> TrainingTimeAnswer:
    """Estimate the share of its time that a job trains (ETTR), with checkpoints, and the best checkpoint interval."""
    if not checkpoint_seconds and interval_seconds is None:
        raise InvalidArgumentError(
            "--checkpoint-seconds 0: a checkpoint that takes no time has no best interval; add --interval-seconds"
        )
    capacity = read_capacity(snapshot, scope)
    job_chips = chips or count_chips(capacity.in_scope)
    failure_rates = read_rates(snapshot, scope, rates, rates_since)
    parts = {rate.kind: parts_of_job(capacity.model, rate.kind, job_chips) for rate in failure_rates.rates}
    interruptions = tuple(
        InterruptionRate(
            selected.rate.kind,
            parts[selected.rate.kind],
            selected.rate.failures,
            selected.rate.mtbf,
            _DAY * parts[selected.rate.kind] / selected.mtbf_hours,
        )
        for selected in failure_rates.select(pessimistic=pessimistic)
        if parts[selected.rate.kind]
    )
    if not interruptions:
        raise InvalidArgumentError(
            f"rates: {scope.strip()} has none of these parts; add a rate of its chips or servers"
        )
    mtbf = _DAY / sum(rate.per_day for rate in interruptions)
    lower, upper = _mtbf_limits(failure_rates, parts)
    intervals = {IntervalChoice.REQUESTED: float(interval_seconds)} if interval_seconds else {}
    if checkpoint_seconds:
        checkpointing = solvers.checkpointing
        intervals[IntervalChoice.YOUNG] = checkpointing.young_interval(checkpoint_seconds, mtbf * _HOUR)
        intervals[IntervalChoice.DALY] = checkpointing.daly_interval(checkpoint_seconds, mtbf * _HOUR)
    return TrainingTimeAnswer(
        scope=scope.strip(),
        chips=job_chips,
        source=failure_rates.source,
        rates=interruptions,
        uncounted=failure_rates.uncounted(pessimistic=pessimistic),
        mtbf_hours=mtbf,
        mtbf_lower_hours=lower,
        mtbf_upper_hours=upper,
        checkpoint_seconds=checkpoint_seconds,
        restart_seconds=restart_seconds,
        intervals=tuple(
            _rate_interval(choice, (seconds, checkpoint_seconds, restart_seconds), mtbf, lower, upper)
            for choice, seconds in intervals.items()
        ),
        definition=_DEFINITION,
        facts=(),
    )


def parts_of_job(model: PlacementModel, kind: str, chips: int) -> int:
    """Return how many parts of a kind a job of ``chips`` chips has, in proportion to those of a domain, rounded up."""
    nodes: list[str] = [node.kind for node in model.domain_model.blueprint.nodes]
    parts_by_kind = {
        OTHER: model.chips,
        "server": model.servers,
        "rack": len(model.racks),
        "link": len(model.domain_model.blueprint.scale_up_links),
    }
    domains = model.domain_model.domains_per_rack if kind == "rack" else 1
    return -(-chips * parts_by_kind.get(kind, nodes.count(kind)) // (model.chips * domains))


def _mtbf_limits(failure_rates: FailureRates, parts: dict[str, int]) -> tuple[float | None, float | None]:
    """Return the limits of the job's mean time between interruptions in hours; None if there is none.

    A kind of part without a failure has only a lower limit.
    """
    limits = [(parts[rate.kind], rate.mtbf.lower, rate.mtbf.upper) for rate in failure_rates.rates]
    most, least = (sum(count / limit for count, *pair in limits if (limit := pair[index])) for index in (0, 1))
    lower, upper = (1 / per_second / _HOUR if per_second else None for per_second in (most, least))
    return lower, upper if lower else None


def _rate_interval(
    choice: IntervalChoice,
    times: tuple[float, float, float],
    mtbf: float,
    lower: float | None,
    upper: float | None,
) -> CheckpointInterval:
    """Return the ratios of an interval; ``times`` are τ, δ and R in seconds, the others hours."""
    tau, delta, restart = times

    def ratio(hours: float) -> float:
        return solvers.checkpointing.training_time_ratio(tau, delta, restart, hours * _HOUR)

    return CheckpointInterval(
        choice,
        tau,
        ratio(mtbf),
        None if lower is None else ratio(lower),
        None if lower is None else ratio(upper) if upper else tau / (tau + delta),
        solvers.checkpointing.approximate_training_time_ratio(tau, delta, restart, mtbf * _HOUR),
    )
