"""Answer how much capacity remains when parts fail, at rates of the user, of the history or of a report.

Capacity is counted in whole domains, and for each legal job size in the chips of as many jobs as could run. A result
with a binomial distribution is computed exactly; the others are sampled (`trninv.solvers.survival`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

from trninv import solvers
from trninv.database.as_of import current_time
from trninv.enumeration import DescribedEnum
from trninv.errors import InvalidArgumentError
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.parameter import Argument, FreeText
from trninv.placement.allocations.reservations import (
    Window,
    list_reservations,
    parse_window,
    render_reservations,
)
from trninv.placement.candidates.free_capacity import read_capacity
from trninv.placement.candidates.placement_model import read_legal_sets
from trninv.placement.candidates.reserved_chips import without_maintenance
from trninv.placement.capacity_estimate import (
    MAX_SPARES,
    CapacityEstimate,
    SpareRequirement,
    draw_samples,
    estimate,
    exact_distribution,
    spare_requirements,
)
from trninv.placement.failure_model import FailureModel, single_bits
from trninv.placement.failure_rates import (
    OTHER,
    PESSIMISTIC_HELP,
    RATES_HELP,
    SINCE_HELP,
    RatesSource,
    SelectedRate,
    read_rates,
    render_rates,
)
from trninv.rendered_text import Rendered, RenderedTable
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.questions.availability import MeanTime
from trninv.routing.snapshot import Snapshot
from trninv.routing.sweep_journal import Progress
from trninv.units import format_timestamp

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from trninv.solvers.survival import FailureCause

MAX_SAMPLES, MAX_SEED, MAX_HOURS = 1_000_000, 2**31 - 1, 10_000_000
"""The largest values of the arguments."""
_MAX_INLINE_SAMPLES = 20_000
"""The most samples without an executor (a pool of workers), so that a request finishes in time."""
_MOMENT = timedelta(microseconds=1)

_DEFINITION = (
    "parts fail independently; the failure of a server cascades to its chips, that of a rack to its servers; "
    "{reading}; {start}; a domain is whole with all chips, links, switches and NICs up; chips in jobs of a size "
    "are those of legal sets that are up with every link, allocated or not; P5 is the number that is reached "
    "in 95 of 100 cases (inverted_cdf)"
)


class InitialState(DescribedEnum):
    """Initial state of the fleet."""

    NOW = "NOW", "The current state: parts that are down stay down."
    NEW = "NEW", "Every part is up."


@dataclass(frozen=True, slots=True)
class AppliedRate:
    """A failure rate, and the probability that follows from it."""

    kind: Annotated[str, "Kind of part."]
    mtbf_hours: Annotated[float, "Mean time between failures, hours."]
    mttr_hours: Annotated[float | None, "Mean time to repair, hours."]
    failures: Annotated[int | None, "Counted failures; null for rates of a file."]
    mtbf: Annotated[MeanTime, "Mean time between failures, with 95 % limits if failures were counted."]
    mttr: Annotated[MeanTime, "Mean time to repair, likewise."]
    probability: Annotated[float, "Probability that a part is down, 0 to 1."]
    parts: Annotated[int, "Parts per domain; 1 for a rack that several domains share."]


@dataclass(frozen=True, kw_only=True)
class CapacityAnswer(Answer):
    """Capacity that remains when parts fail."""

    scope: Annotated[AddressText, "The scope."]
    mission_hours: Annotated[int | None, "Hours without repair; null for any time, with repairs."]
    start: Annotated[InitialState, "Initial state of the fleet."]
    rates: Annotated[tuple[AppliedRate, ...], "Failure rates that were applied."]
    source: Annotated[RatesSource, "Where the rates come from."]
    uncounted: Annotated[
        tuple[str, ...], "Kinds of parts that count as never failing, because no failure was observed, with the limit."
    ]
    domains: Annotated[CapacityEstimate, "Whole domains: the size of the largest possible job of whole domains."]
    sizes: Annotated[tuple[CapacityEstimate, ...], "Chips in jobs of each legal size."]
    domain_probability: Annotated[
        float | None, "Probability that a whole domain stays whole; null if domains fail together."
    ]
    spares: Annotated[
        tuple[SpareRequirement, ...], "Spare domains with which jobs of whole domains have enough in 99 of 100 cases."
    ]
    samples: Annotated[int, "Number of samples; 0 if all results are exact."]
    seed: Annotated[int, "Seed of the samples."]
    reservations: Annotated[
        tuple[str, ...],
        "The first reservations of chips of the scope, with their times; those in maintenance count as down.",
    ]

    def render(self) -> Rendered:
        period = "at any time" if self.mission_hours is None else f"after {self.mission_hours:,} hours without repair"
        drawn = f"; {self.samples:,} samples, seed {self.seed}" if self.samples else ""
        yield f"{self.scope}: remaining capacity {period}, from {self.start.lower()}{drawn}"
        yield from self.source.render()
        yield from render_rates(self.rates)
        if self.uncounted:
            yield f"counted as never failing: {', '.join(self.uncounted)}"
        yield RenderedTable(
            ["rate", "MTBF h", "MTTR h", "down"],
            (
                [rate.kind, f"{rate.mtbf_hours:,g}", _format_hours(rate.mttr_hours), f"{rate.probability:.3g}"]
                for rate in self.rates
            ),
        )
        yield RenderedTable(
            ["", "at most", "mean", "± standard error", "P5", "P50", "P95"],
            map(_estimate_row, (self.domains, *self.sizes)),
        )
        if self.spares:
            yield RenderedTable(
                ["job of domains", "spares for 99%"], ([s.domains, _format_spares(s)] for s in self.spares)
            )
        yield from render_reservations(self.reservations)


def _format_hours(hours: float | None) -> str:
    return "" if hours is None else f"{hours:,g}"


def _format_spares(requirement: SpareRequirement) -> str:
    return f"{requirement.spares:,}" if requirement.spares is not None else "too many"


def _estimate_row(estimate: CapacityEstimate) -> Sequence[str]:
    name = "whole domains" if estimate.job_chips is None else f"chips in jobs of {estimate.job_chips}"
    error = "exact" if estimate.standard_error is None else f"{estimate.standard_error:.2g}"
    return [
        name,
        f"{estimate.chips:,}",
        f"{estimate.mean:,.2f}",
        error,
        f"{estimate.p5:,}",
        f"{estimate.p50:,}",
        f"{estimate.p95:,}",
    ]


@question(cost=ROUTED_COST, examples=("capacity u-trn2x64 --rates rates.toml",), has_baseline=False, reads_clock=True)
def capacity(
    snapshot: Snapshot,
    scope: Annotated[str, Argument("Chip, server, rack, domain or cluster.", metavar="SCOPE")],
    rates: Annotated[
        FreeText | None,
        Argument(f"{RATES_HELP}.", metavar="FILE"),
    ] = None,
    mission: Annotated[
        int | None,
        Argument(
            "Hours after which to look, without repairs; by default the long-run state, with repairs",
            minimum=1,
            maximum=MAX_HOURS,
            metavar="HOURS",
        ),
    ] = None,
    start: Annotated[InitialState, Argument("Initial state of the fleet.", option="--from")] = InitialState.NOW,
    gang: Annotated[
        int | None, Argument("Also compute spares for a job of this many whole domains", minimum=1, maximum=MAX_SPARES)
    ] = None,
    samples: Annotated[
        int, Argument("Samples for results that can't be computed exactly", minimum=100, maximum=MAX_SAMPLES)
    ] = 10_000,
    seed: Annotated[int, Argument("Seed of the samples", maximum=MAX_SEED)] = 0,
    until: Annotated[
        FreeText | None,
        Argument(
            "Chips in maintenance at any moment until then count as down: a time, or a duration such as 12h; by "
            "default those in maintenance now.",
            metavar="TIME",
        ),
    ] = None,
    rates_since: Annotated[FreeText | None, Argument(SINCE_HELP, metavar="TIME")] = None,
    pessimistic: Annotated[bool, Argument(PESSIMISTIC_HELP)] = False,
    repair_hours: Annotated[
        int | None,
        Argument("Time to repair where the rates have none", minimum=1, maximum=MAX_HOURS, metavar="HOURS"),
    ] = None,
    *,
    executor: "Executor | None" = None,
    progress: Progress = lambda *_: None,
) -> CapacityAnswer:
    """Estimate what remains when parts fail: whole domains, chips in jobs of each size, and spares for 99 %.

    No document states failure rates of Trainium. Supply your own, count those of the recorded events (history), or take
    those of a published report (llama3). The same seed gives the same results on any number of workers.
    """
    if rates is None:
        raise InvalidArgumentError(
            "rates: no document states failure rates; give your own (--rates FILE), or use --rates history or llama3"
        )
    if executor is None and samples > _MAX_INLINE_SAMPLES:
        raise InvalidArgumentError(
            f"{samples:,} samples are too many; use at most {_MAX_INLINE_SAMPLES:,}, or the command line with --workers"
        )
    now = current_time(snapshot.connection)
    window = parse_window(None, until, now) if until else Window(*map(format_timestamp, (now, now + _MOMENT)))
    initial = without_maintenance(snapshot, read_capacity(snapshot, scope), window)
    model = initial.model
    legal_sets = snapshot.cached(("legal", model.slug), lambda: read_legal_sets(snapshot.connection, model))
    failure_model, failure_rates = FailureModel(model, legal_sets), read_rates(snapshot, scope, rates, rates_since)
    selected = [rate for rate in failure_rates.select(pessimistic=pessimistic) if rate.rate.kind != OTHER]
    unavailable = {rate.rate.kind: rate.unavailability(mission, repair_hours) for rate in selected}
    causes = failure_model.causes(unavailable, initial)
    if start is InitialState.NEW:
        initial = initial.all_up()
    # What to count: whole domains first, then jobs of each size.
    counted_sets = [
        solvers.survival.CountedSets(failure_model.whole_domain),
        *map(failure_model.counted_sets, legal_sets.sizes),
    ]
    job_sizes: list[int | None] = [None, *legal_sets.sizes]
    intact = failure_model.intact_sets(initial)
    distributions = [
        exact_distribution(intact, causes, counted, sets)
        for counted, sets in zip(counted_sets, single_bits(counted_sets), strict=True)
    ]
    drawn = (
        draw_samples(intact, causes, counted_sets, samples, seed, executor, progress) if None in distributions else None
    )
    estimates = [
        estimate(size, int(counted.count_intact(intact).sum()), exact, None if drawn is None else drawn[:, index])
        for index, (size, counted, exact) in enumerate(zip(job_sizes, counted_sets, distributions, strict=True))
    ]
    probability = (
        float(solvers.survival.survival_probabilities(causes, failure_model.whole_domain)[0])
        if distributions[0] is not None
        else None
    )
    return CapacityAnswer(
        scope=scope.strip(),
        mission_hours=mission,
        start=start,
        rates=tuple(_applied_rate(rate, repair_hours, cause) for rate, cause in zip(selected, causes, strict=True)),
        source=failure_rates.source,
        uncounted=failure_rates.uncounted(pessimistic=pessimistic),
        domains=estimates[0],
        sizes=tuple(estimates[1:]),
        domain_probability=probability,
        spares=tuple(spare_requirements(len(initial.ordinals), probability, gang)),
        samples=0 if drawn is None else samples,
        seed=seed,
        reservations=list_reservations(snapshot.connection, resolve_place(snapshot.connection, scope), window),
        definition=_DEFINITION.format(
            reading="nothing is repaired" if mission else "a part is down for MTTR / (MTBF + MTTR) of the time",
            start="parts that are down now stay down" if start is InitialState.NOW else "all parts are up at first",
        ),
        facts=evidence.cite(
            snapshot, sorted({model.domain_model.server.slug, model.slug}), ["chip_sets", "server_sets"]
        ),
    )


def _applied_rate(selected: SelectedRate, repair_hours: int | None, cause: "FailureCause") -> AppliedRate:
    rate, repair = selected.rate, repair_hours if selected.mttr_hours is None else selected.mttr_hours
    return AppliedRate(
        rate.kind,
        selected.mtbf_hours,
        repair,
        rate.failures,
        rate.mtbf,
        rate.mttr,
        cause.probability,
        len(cause.destroys),
    )
