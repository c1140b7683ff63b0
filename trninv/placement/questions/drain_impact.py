"""Answer which jobs a drain disrupts, where they can go and what free capacity remains."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from trninv.placement.allocations.allocation_masks import read_allocations
from trninv.placement.allocations.plan_revision import plan_revision
from trninv.placement.candidates.candidate_search import CandidateSearch
from trninv.placement.candidates.free_blocks import max_free_block, stranded_chips
from trninv.placement.candidates.free_capacity import FreeCapacity
from trninv.placement.candidates.placement_model import LegalSets, read_legal_sets
from trninv.placement.candidates.results import abbreviate_places
from trninv.placement.moves.drain import DisruptedJob, DrainImpact, DrainOutcome, JobOutcome
from trninv.placement.questions.make_room import JobMove, render_moves
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer, Rendered, RenderedTable
from trninv.routing.question import ROUTED_COST, Argument, question
from trninv.routing.wiring_cache import SnapshotReader
from trninv.units import Bandwidth, pluralize

MAX_JOBS = 200
"""Jobs of one answer."""

_DEFINITION = (
    "jobs that hold chips of the place, or lose a link among their chips, or to a switch of theirs, or between their "
    "domains; a job stops by any loss, unless a spare as large is left for each part of it that loses: in a torus what "
    "it has of a domain, else what it has of a server. The largest job goes first, and what it takes the next one does "
    "not: what stays of it is kept where the wiring lets the rest be replaced, else it gets the best place as fits "
    "finds it, else one that the fewest moves of other jobs make. Room is that of the whole cluster, with jobs where "
    "they are"
)


@dataclass(frozen=True, slots=True)
class DrainedJob:
    """What becomes of a job."""

    job: Annotated[str, "Its name, or SYSTEM:ID of one that another system runs."]
    chips: Annotated[int, "Chips that it works on."]
    lost_chips: Annotated[int, "Those that go; 0 where only links do."]
    must_stop: Annotated[bool, "Whether it stops: by any loss that no spare replaces."]
    outcome: Annotated[DrainOutcome, "What can become of it."]
    destination: Annotated[tuple[AddressText, ...], "Where it is then: domains, servers or chips; empty if nowhere."]
    degraded_after: Annotated[bool, "Whether a part of where it goes is degraded; limits are of what is there."]
    all_gather: Annotated[
        Bandwidth,
        "Limit of an all-gather where it is, 0 with a chip down; of several domains the least; one direction.",
    ]
    all_gather_after: Annotated[Bandwidth | None, "Limit of an all-gather where it goes."]
    bisection: Annotated[
        Bandwidth, "Between two halves of it where it is; of several domains the least; one direction."
    ]
    bisection_after: Annotated[Bandwidth | None, "Between two halves of it where it goes."]
    moves: Annotated[tuple[JobMove, ...], "What moves before, in order."]


@dataclass(frozen=True, slots=True)
class SizeImpact:
    """What jobs of one size can use of what is free, before and after."""

    chips: Annotated[int, "Chips of a job."]
    jobs: Annotated[int, "How many fit at once."]
    jobs_after: Annotated[int, "How many fit at once after it."]
    stranded: Annotated[float | None, "Share of the free chips that they can't use; null if nothing is free."]
    stranded_after: Annotated[float | None, "The same after it."]


@dataclass(frozen=True, slots=True)
class LostJobSizes:
    """Sizes that no job can have any more in a domain, even in an empty one."""

    domain: Annotated[AddressText, "Its address."]
    lost: Annotated[tuple[int, ...], "Chips of such jobs."]
    remaining: Annotated[tuple[int, ...], "Chips of the jobs that it still takes."]


@dataclass(frozen=True, kw_only=True)
class DrainImpactAnswer(Answer):
    """What taking a place out of service does."""

    scope: Annotated[AddressText, "The place."]
    disrupted: Annotated[int, "Jobs that lose something."]
    stopped: Annotated[int, "Those that stop."]
    chips: Annotated[int, "Usable chips that go."]
    jobs: Annotated[tuple[DrainedJob, ...], "The jobs, the largest first, in the order in which they find places."]
    largest_block: Annotated[int, "Chips of the cluster's largest free block."]
    largest_block_after: Annotated[int, "The same after it."]
    sizes: Annotated[tuple[SizeImpact, ...], "Each size that schedulers grant."]
    lost_sizes: Annotated[tuple[LostJobSizes, ...], "Domains that lose the room for a size."]
    revision: Annotated[str, "Of what it rests on, as of a plan of makeRoom: moveJobs takes its moves with it."]

    def render(self) -> Rendered:
        summary = f"{pluralize(self.disrupted, 'job')} touched, {self.stopped:,} of them stopped"
        yield f"{self.scope}: {pluralize(self.chips, 'chip')} lost, {summary}"
        if self.jobs:
            yield RenderedTable(
                ["job", "chips", "loses", "stops", "can go", "all-gather", "then"], map(_job_row, self.jobs)
            )
        for entry in self.jobs:
            if entry.moves:
                yield f"before {entry.job}:"
                yield render_moves(entry.moves)
        yield from (
            f"{entry.domain}, empty, then takes jobs of {_join_sizes(entry.remaining) or 'no'} chips; "
            f"not of {_join_sizes(entry.lost)}"
            for entry in self.lost_sizes
        )
        yield f"largest free block: {self.largest_block:,} chips, then {self.largest_block_after:,}"
        yield RenderedTable(
            ["jobs of", "fit at once", "then", "stranded", "then"],
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


def _job_row(job: DrainedJob) -> Sequence[object]:
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
)
def drain_impact(
    reader: SnapshotReader,
    scope: Annotated[
        str, Argument("Server, rack, domain, chip, switch, link or network node that goes.", metavar="PLACE")
    ],
) -> DrainImpactAnswer:
    """What taking a place out of service does: jobs touched, where each can go, and what room is left.

    Nothing is written, and no job ended.
    """
    impact = DrainImpact(reader, scope)
    before, after = impact.before, impact.after
    model = before.model
    legal_sets = reader.cached(("legal", model.slug), lambda: read_legal_sets(reader.connection, model))
    allocations = read_allocations(reader, impact.place.cluster_id, model)
    disrupted = impact.disrupted_jobs(allocations)
    reported = disrupted[:MAX_JOBS]
    units = (model.full,) if model.torus else model.server_masks
    outcomes = impact.outcomes(reported, allocations, legal_sets)
    return DrainImpactAnswer(
        scope=impact.place.address,
        disrupted=len(disrupted),
        stopped=sum(job.must_stop(units) for job in disrupted),
        chips=sum(int(n) for n in np.bitwise_count(before.usable & ~after.usable).ravel()),
        jobs=tuple(_drained_job(impact, job, outcome, units) for job, outcome in zip(reported, outcomes, strict=True)),
        largest_block=max_free_block(before, legal_sets),
        largest_block_after=max_free_block(after, legal_sets),
        sizes=tuple(_size_impacts(before, after, legal_sets)),
        lost_sizes=tuple(_lost_sizes(impact, legal_sets)),
        revision=plan_revision(reader.connection, impact.place.cluster_id),
        truncated=len(disrupted) > len(reported),
        definition=_DEFINITION,
        facts=evidence.cite(reader, sorted({model.domain_model.server.slug, model.slug}), ["chip_sets", "server_sets"]),
    )


def _drained_job(impact: DrainImpact, job: DisruptedJob, outcome: JobOutcome, units: Sequence[int]) -> DrainedJob:
    capacity = impact.before
    current_limits = [capacity.actual_limits(row, mask) for row, mask in job.allocation.work.items()]
    new_limits = [impact.after.actual_limits(row, mask) for row, mask in outcome.destination]
    return DrainedJob(
        job=job.allocation.name,
        chips=job.allocation.chips,
        lost_chips=sum(mask.bit_count() for mask in job.lost_chips.values()),
        must_stop=job.must_stop(units),
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
    free, free_after = (int(np.bitwise_count(item.free).sum()) for item in (before, after))
    for now, later in zip(stranded_chips(before, legal_sets), stranded_chips(after, legal_sets), strict=True):
        shares = (item.chips / chips if chips else None for item, chips in ((now, free), (later, free_after)))
        yield SizeImpact(now.size, now.jobs, later.jobs, *shares)


def _lost_sizes(impact: DrainImpact, legal_sets: LegalSets) -> Iterator[LostJobSizes]:
    """Of domains of several servers, what fits before and after if they are empty."""
    possible_before, possible_after = (
        _possible_sizes(stock, impact.rows, legal_sets) for stock in (impact.before, impact.after)
    )
    for index, row in enumerate(impact.rows):
        lost = tuple(
            size for size in legal_sets.sizes if possible_before[size][index] and not possible_after[size][index]
        )
        if lost:
            remaining = tuple(size for size in legal_sets.sizes if possible_after[size][index])
            yield LostJobSizes(impact.before.domain_address(row), lost, remaining)


def _possible_sizes(capacity: FreeCapacity, rows: Sequence[int], legal_sets: LegalSets) -> dict[int, Sequence[bool]]:
    """By size, whether each of some domains could have a job of it, if none were there."""
    selected = capacity.select(rows, capacity.in_scope)
    no_chips = np.zeros_like(selected.allocated)
    searches = {
        size: CandidateSearch(
            replace(selected, allocated=no_chips, cordoned=no_chips),
            legal_sets,
            legal_sets.any_of.get(size) or legal_sets.sets[size],
        )
        for size in legal_sets.sizes
    }
    return {size: search.has_match(search.intact).tolist() for size, search in searches.items()}
