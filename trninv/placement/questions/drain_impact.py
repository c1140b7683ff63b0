"""Answer which jobs a drain disrupts, where they can go and what free capacity remains.

A drain takes a place out of service; `trninv.placement.moves.drain` computes its effect, and this module reports it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from trninv.inventory.parameter import Argument
from trninv.placement.allocations.allocation_masks import read_allocations
from trninv.placement.allocations.plan_revision import plan_revision
from trninv.placement.allocations.reservations import render_reservations
from trninv.placement.candidates.candidate_search import CandidateSearch
from trninv.placement.candidates.free_blocks import max_free_block, stranded_chips
from trninv.placement.candidates.free_capacity import FreeCapacity, count_chips
from trninv.placement.candidates.placement_model import LegalSets, read_legal_sets
from trninv.placement.candidates.results import abbreviate_places
from trninv.placement.moves.drain import DisruptedJob, DrainImpact, DrainMove, DrainOutcome, JobOutcome
from trninv.placement.questions.make_room import JobMove, render_moves, render_revision
from trninv.rendered_text import Rendered, RenderedTable
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.snapshot import Snapshot
from trninv.units import Bandwidth, pluralize

MAX_JOBS = 200
"""The most jobs in one answer."""

_DEFINITION = (
    "a job is disrupted if it has chips in the place or loses a link among its chips, to a switch or between its "
    "domains; it must stop unless an equally large spare is left for each affected part: its chips in a domain of a "
    "torus, or in a server otherwise. Jobs are placed largest first, and chips that one gets are not free for the "
    "next. A job keeps its remaining chips if the wiring allows a replacement of the lost ones; else it gets the best "
    "place that trninv place finds, else one that the fewest moves of other jobs make. It gets no chips that are "
    "reserved for a time before its end. Free capacity is that of the cluster's domains of this model, with current "
    "reservations: before the drain, and after it and the moves, while a job without a place keeps its chips, as do "
    f"jobs after the first {MAX_JOBS}, which are not planned"
)


@dataclass(frozen=True, slots=True)
class DrainedJob:
    """A disrupted job and where it can go."""

    job: Annotated[str, "Name, or SYSTEM:ID if another system runs it."]
    chips: Annotated[int, "Working chips, without spares."]
    lost_chips: Annotated[int, "Working chips that it loses; 0 if it loses only links."]
    must_stop: Annotated[bool, "Whether it must stop: no spare replaces the loss."]
    outcome: Annotated[DrainOutcome, "Outcome for the job."]
    destination: Annotated[
        tuple[AddressText, ...], "Domains, servers or chips that it has then; empty if there are none."
    ]
    degraded_after: Annotated[bool, "Whether a part of the destination is degraded; limits take that into account."]
    all_gather: Annotated[
        Bandwidth,
        "All-gather limit now, 0 if a chip is down; the least of its domains; one direction.",
    ]
    all_gather_after: Annotated[Bandwidth | None, "All-gather limit at the destination."]
    bisection: Annotated[Bandwidth, "Bandwidth between two halves of it now; the least of its domains; one direction."]
    bisection_after: Annotated[Bandwidth | None, "Bandwidth between two halves of it at the destination."]
    moves: Annotated[tuple[JobMove, ...], "Moves of other jobs that make room for it."]


@dataclass(frozen=True, slots=True)
class SizeImpact:
    """Jobs of one size that fit, before the drain, and after it and its moves."""

    chips: Annotated[int, "Chips per job."]
    jobs: Annotated[int, "Jobs of this size that fit at once before the drain."]
    jobs_after: Annotated[int, "Jobs of this size that fit at once after the drain and its moves."]
    stranded: Annotated[float | None, "Share of the free chips that such jobs can't use; null if nothing is free."]
    stranded_after: Annotated[float | None, "That share after the drain and its moves."]


@dataclass(frozen=True, slots=True)
class LostJobSizes:
    """Job sizes that no longer fit in a domain, even if it is empty."""

    domain: Annotated[AddressText, "Address of the domain."]
    lost: Annotated[tuple[int, ...], "Job sizes in chips that no longer fit."]
    remaining: Annotated[tuple[int, ...], "Job sizes in chips that still fit."]


@dataclass(frozen=True, kw_only=True)
class DrainImpactAnswer(Answer):
    """Effect of taking a place out of service."""

    scope: Annotated[AddressText, "Place that is drained."]
    disrupted: Annotated[int, "Jobs that lose chips or links."]
    stopped: Annotated[int, "Jobs that must stop."]
    chips: Annotated[int, "Usable chips that the cluster loses."]
    failed_chips: Annotated[int, "Chips of the place that are down or in maintenance already."]
    jobs: Annotated[tuple[DrainedJob, ...], "Disrupted jobs, largest first, in the order in which they are placed."]
    moves: Annotated[
        tuple[JobMove, ...],
        "All moves, each job once, in an order in which each destination is free in time; moveJobs carries them out.",
    ]
    largest_block: Annotated[int, "Chips of the cluster's largest free block."]
    largest_block_after: Annotated[int, "That number after the drain and its moves."]
    sizes: Annotated[tuple[SizeImpact, ...], "One entry per legal job size."]
    lost_sizes: Annotated[tuple[LostJobSizes, ...], "Domains in which a job size no longer fits."]
    reservations: Annotated[
        tuple[str, ...],
        "The first reservations of chips that are drained, now and later, with their times; if a job has no place, "
        "also of the cluster's other chips for a time before its end.",
    ]
    revision: Annotated[str, "Revision of the cluster, as in makeRoom; moveJobs needs it to carry out the moves."]

    @property
    def unplanned(self) -> int:
        """Disrupted jobs that are not in this plan because it is full; plan again once the others have moved."""
        return self.disrupted - len(self.jobs)

    def render(self) -> Rendered:
        summary = f"{pluralize(self.disrupted, 'job')} disrupted, {self.stopped:,} of them must stop"
        # as in the column "lost" of jobs, which keep failed chips until they end or move
        chips = pluralize(self.chips + self.failed_chips, "chip")
        remark = f" ({self.failed_chips:,} already out of service)" if self.failed_chips else ""
        yield f"{self.scope}: {chips} lost{remark}, {summary}"
        if self.jobs:
            yield RenderedTable(
                ["job", "chips", "lost", "must stop", "can go", "all-gather", "after"], map(_job_row, self.jobs)
            )
        if any(entry.moves for entry in self.jobs):
            yield "moves, in order:"
            yield render_moves(self.moves)
        yield from (
            f"{entry.domain}, if empty, then fits jobs of {_join_sizes(entry.remaining) or 'no'} chips, "
            f"no longer of {_join_sizes(entry.lost)}"
            for entry in self.lost_sizes
        )
        yield f"largest free block: {self.largest_block:,} chips, {self.largest_block_after:,} after"
        yield RenderedTable(
            ["jobs of", "fit at once", "after", "stranded", "after"],
            (
                [
                    entry.chips,
                    f"{entry.jobs:,}",
                    f"{entry.jobs_after:,}",
                    _format_share(entry.stranded),
                    _format_share(entry.stranded_after),
                ]
                for entry in self.sizes
                if entry.jobs or entry.jobs_after
            ),
        )
        yield from render_reservations(self.reservations)
        if self.unplanned:
            yield f"not in this plan: {pluralize(self.unplanned, 'more job')}; plan again once the others have moved"
        if self.moves:
            yield from render_revision(self.moves, self.revision)


def _job_row(job: DrainedJob) -> Sequence[object]:
    """Return the table row of a disrupted job."""
    verbs = {
        DrainOutcome.REPLACED: "partly to",
        DrainOutcome.ELSEWHERE: "to",
        DrainOutcome.AFTER_MOVES: "after moves to",
        DrainOutcome.STAYS: "stays at",
    }
    goes = f"{verbs[job.outcome]} {abbreviate_places(job.destination)}" if job.outcome in verbs else "nowhere"
    goes += " (degraded)" if job.degraded_after else ""
    after = "" if job.all_gather_after is None else job.all_gather_after
    return [job.job, job.chips, job.lost_chips, "yes" if job.must_stop else "no", goes, job.all_gather, after]


def _join_sizes(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes))


def _format_share(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"


@question(
    cost=ROUTED_COST,
    examples=("drain-impact u-trn2x64/d0/s3", "drain-impact trn3-gen2/d0/sw0"),
    has_baseline=False,
    reads_clock=True,
)
def drain_impact(
    snapshot: Snapshot,
    scope: Annotated[
        str, Argument("Server, rack, domain, chip, switch, link or network node to drain.", metavar="PLACE")
    ],
) -> DrainImpactAnswer:
    """Show what draining a place disrupts: jobs, where each can go, and the free capacity after these moves.

    The plan changes nothing until you carry it out.
    """
    impact = DrainImpact(snapshot, scope)
    before, model = impact.before, impact.before.model
    legal_sets = snapshot.cached(("legal", model.slug), lambda: read_legal_sets(snapshot.connection, model))
    allocations = read_allocations(snapshot, before)
    disrupted = impact.disrupted_jobs(allocations)
    reported = disrupted[:MAX_JOBS]
    outcomes = list(impact.outcomes(reported, allocations, legal_sets))
    moves = impact.moves(reported, outcomes)
    after = impact.capacity_after(moves)
    return DrainImpactAnswer(
        scope=impact.place.address,
        disrupted=len(disrupted),
        stopped=sum(job.must_stop(impact.units) for job in disrupted),
        chips=count_chips(before.usable & ~after.usable),
        failed_chips=impact.failed_chips,
        jobs=tuple(_drained_job(impact, job, outcome) for job, outcome in zip(reported, outcomes, strict=True)),
        moves=tuple(_job_move(before, move) for move in moves),
        largest_block=max_free_block(before, legal_sets),
        largest_block_after=max_free_block(after, legal_sets),
        sizes=tuple(_size_impacts(before, after, legal_sets)),
        lost_sizes=tuple(_lost_sizes(impact, legal_sets)),
        reservations=impact.reservations(
            job.allocation for job, outcome in zip(reported, outcomes, strict=True) if not outcome.destination
        ),
        revision=plan_revision(snapshot.connection, impact.place.cluster_id),
        truncated=len(disrupted) > len(reported),
        definition=_DEFINITION,
        facts=evidence.cite(
            snapshot, sorted({model.domain_model.server.slug, model.slug}), ["chip_sets", "server_sets"]
        ),
    )


def _job_move(capacity: FreeCapacity, move: DrainMove) -> JobMove:
    """Return a move with addresses."""
    source, destination = (
        tuple(place for row, mask in sorted(masks.items()) for place in capacity.addresses_of(row, mask))
        for masks in (move.allocation.work, move.destination)
    )
    job = move.allocation
    return JobMove(job.name, job.chips, source, destination, must_stop=move.must_stop, obstacle=job.obstacle)


def _drained_job(impact: DrainImpact, job: DisruptedJob, outcome: JobOutcome) -> DrainedJob:
    """Return the report on a job; each of its limits is the least among its domains."""
    capacity = impact.before
    current_limits = [capacity.actual_limits(row, mask) for row, mask in job.allocation.work.items()]
    new_limits = [impact.after.actual_limits(row, mask) for row, mask in outcome.destination]
    return DrainedJob(
        job=job.allocation.name,
        chips=job.allocation.chips,
        lost_chips=sum(mask.bit_count() for mask in job.lost_chips.values()),
        must_stop=job.must_stop(impact.units),
        outcome=outcome.outcome,
        destination=tuple(place for row, mask in outcome.destination for place in capacity.addresses_of(row, mask)),
        degraded_after=any(impact.after.is_degraded(row, mask) for row, mask in outcome.destination),
        all_gather=Bandwidth(min((limits.all_gather for limits in current_limits), default=0)),
        all_gather_after=Bandwidth(min(limits.all_gather for limits in new_limits)) if new_limits else None,
        bisection=Bandwidth(min((limits.bisection for limits in current_limits), default=0)),
        bisection_after=Bandwidth(min(limits.bisection for limits in new_limits)) if new_limits else None,
        moves=tuple(JobMove.from_plan(capacity, move) for move in outcome.moves),
    )


def _size_impacts(before: FreeCapacity, after: FreeCapacity, legal_sets: LegalSets) -> Iterator[SizeImpact]:
    """Yield the jobs that fit and the share of stranded chips, for each legal size."""
    free, free_after = count_chips(before.free), count_chips(after.free)
    for now, later in zip(stranded_chips(before, legal_sets), stranded_chips(after, legal_sets), strict=True):
        yield SizeImpact(
            chips=now.size,
            jobs=now.jobs,
            jobs_after=later.jobs,
            stranded=now.chips / free if free else None,
            stranded_after=later.chips / free_after if free_after else None,
        )


def _lost_sizes(impact: DrainImpact, legal_sets: LegalSets) -> Iterator[LostJobSizes]:
    """Yield the job sizes that each affected domain, if empty, fits before the drain but not after it."""
    possible_before, possible_after = (
        _possible_sizes(capacity, impact.rows, legal_sets) for capacity in (impact.before, impact.after)
    )
    for index, row in enumerate(impact.rows):
        lost = tuple(
            size for size in legal_sets.sizes if possible_before[size][index] and not possible_after[size][index]
        )
        if lost:
            remaining = tuple(size for size in legal_sets.sizes if possible_after[size][index])
            yield LostJobSizes(impact.before.domain_address(row), lost, remaining)


def _possible_sizes(capacity: FreeCapacity, rows: Sequence[int], legal_sets: LegalSets) -> dict[int, Sequence[bool]]:
    """Return by legal size whether a job of that size fits in each domain (row) if the domain is empty."""
    selected = capacity.select(rows, capacity.in_scope)
    no_chips = np.zeros_like(selected.allocated)
    empty = replace(selected, allocated=no_chips, cordoned=no_chips)
    possible: dict[int, Sequence[bool]] = {}
    for size in legal_sets.sizes:
        search = CandidateSearch(empty, legal_sets, legal_sets.any_of.get(size) or legal_sets.sets[size])
        possible[size] = search.has_match(search.intact).tolist()
    return possible
