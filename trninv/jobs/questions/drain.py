"""What taking a place out of service does: jobs touched, where each can go, and what room is left."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from trninv.jobs.draining import Drain, Outcome, Touched, Way
from trninv.jobs.model import Legal, legal_of
from trninv.jobs.named import brief
from trninv.jobs.questions.make_room import JobMove, told_moves
from trninv.jobs.revision import revision
from trninv.jobs.room import most_at_once, stranded
from trninv.jobs.search import Search
from trninv.jobs.stock import Stock
from trninv.jobs.tenants import tenants
from trninv.routing import evidence
from trninv.routing.answer import Answer, At, Table, Told
from trninv.routing.question import ROUTED, Argument, question
from trninv.routing.wiring import Reader
from trninv.units import Bandwidth, counted

MOST_JOBS = 200
"""Jobs of one answer."""

_DEFINED = (
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
    loses: Annotated[int, "Those that go; 0 where only links do."]
    stops: Annotated[bool, "Whether it stops: by any loss that no spare replaces."]
    way: Annotated[Way, "What can become of it."]
    to: Annotated[tuple[At, ...], "Where it is then: domains, servers or chips; empty if nowhere."]
    degraded_then: Annotated[bool, "Whether a part of where it goes is degraded; limits are of what is there."]
    all_gather: Annotated[
        Bandwidth,
        "Limit of an all-gather where it is, 0 with a chip down; of several domains the least; one direction.",
    ]
    all_gather_then: Annotated[Bandwidth | None, "Limit of an all-gather where it goes."]
    bisection: Annotated[
        Bandwidth, "Between two halves of it where it is; of several domains the least; one direction."
    ]
    bisection_then: Annotated[Bandwidth | None, "Between two halves of it where it goes."]
    moves: Annotated[tuple[JobMove, ...], "What moves before, in order."]


@dataclass(frozen=True, slots=True)
class SizeLeft:
    """What jobs of one size can use of what is free, before and after."""

    chips: Annotated[int, "Chips of a job."]
    jobs: Annotated[int, "How many fit at once."]
    jobs_then: Annotated[int, "How many fit at once after it."]
    stranded: Annotated[float | None, "Share of the free chips that they can't use; null if nothing is free."]
    stranded_then: Annotated[float | None, "The same after it."]


@dataclass(frozen=True, slots=True)
class ModesLost:
    """Sizes that no job can have any more in a domain, even in an empty one."""

    domain: Annotated[At, "Its address."]
    lost: Annotated[tuple[int, ...], "Chips of such jobs."]
    left: Annotated[tuple[int, ...], "Chips of the jobs that it still takes."]


@dataclass(frozen=True, kw_only=True)
class DrainAnswer(Answer):
    """What taking a place out of service does."""

    of: Annotated[At, "The place."]
    touched: Annotated[int, "Jobs that lose something."]
    stopped: Annotated[int, "Those that stop."]
    chips: Annotated[int, "Usable chips that go."]
    jobs: Annotated[tuple[DrainedJob, ...], "The jobs, the largest first, in the order in which they find places."]
    largest: Annotated[int, "Chips of the cluster's largest free block."]
    largest_then: Annotated[int, "The same after it."]
    sizes: Annotated[tuple[SizeLeft, ...], "Each size that schedulers grant."]
    modes: Annotated[tuple[ModesLost, ...], "Domains that lose the room for a size."]
    revision: Annotated[str, "Of what it rests on, as of a plan of makeRoom: moveJobs takes its moves with it."]

    def told(self) -> Told:
        touched = f"{counted(self.touched, 'job')} touched, {self.stopped:,} of them stopped"
        yield f"{self.of}: {counted(self.chips, 'chip')} lost, {touched}"
        if self.jobs:
            yield Table(["job", "chips", "loses", "stops", "can go", "all-gather", "then"], map(_row, self.jobs))
        for each in self.jobs:
            if each.moves:
                yield f"before {each.job}:"
                yield told_moves(each.moves)
        yield from (
            f"{each.domain}, empty, then takes jobs of {_listed(each.left) or 'no'} chips; not of {_listed(each.lost)}"
            for each in self.modes
        )
        yield f"largest free block: {self.largest:,} chips, then {self.largest_then:,}"
        yield Table(
            ["jobs of", "fit at once", "then", "stranded", "then"],
            (
                [each.chips, f"{each.jobs:,}", f"{each.jobs_then:,}", _share(each.stranded), _share(each.stranded_then)]
                for each in self.sizes
                if each.jobs or each.jobs_then
            ),
        )


def _row(of: DrainedJob) -> Sequence[object]:
    way = {Way.REPLACED: "partly to", Way.ELSEWHERE: "to", Way.AFTER_MOVES: "after moves to", Way.STAYS: "stays at"}
    goes = f"{way[of.way]} {brief(of.to)}" if of.way in way else "nowhere"
    goes += " (degraded)" if of.degraded_then else ""
    then = "" if of.all_gather_then is None else of.all_gather_then
    return [of.job, of.chips, of.loses, "yes" if of.stops else "no", goes, of.all_gather, then]


def _listed(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes))


def _share(of: float | None) -> str:
    return "" if of is None else f"{of:.1%}"


@question(
    price=ROUTED,
    field="drainImpact",
    examples=("drain u-trn2x64/d0/s3", "drain trn3-gen2/d0/sw0"),
    compares=False,
)
def drain(
    reader: Reader,
    of: Annotated[
        str, Argument("Server, rack, domain, chip, switch, link or network node that goes.", metavar="PLACE")
    ],
) -> DrainAnswer:
    """What taking a place out of service does: jobs touched, where each can go, and what room is left.

    Nothing is written, and no job ended.
    """
    draining = Drain(reader, of)
    before, after = draining.before, draining.after
    model = before.model
    legal = reader.remembered(("legal", model.slug), lambda: legal_of(reader.connection, model))
    listed = tenants(reader, draining.place.cluster_id, model)
    touched = draining.touched(listed)
    shown = touched[:MOST_JOBS]
    units = (model.full,) if model.torus else model.whole_server
    outcomes = draining.outcomes(shown, listed, legal)
    return DrainAnswer(
        of=draining.place.address,
        touched=len(touched),
        stopped=sum(each.stops(units) for each in touched),
        chips=sum(int(n) for n in np.bitwise_count(before.usable & ~after.usable).ravel()),
        jobs=tuple(_job(draining, each, outcome, units) for each, outcome in zip(shown, outcomes, strict=True)),
        largest=most_at_once(before, legal),
        largest_then=most_at_once(after, legal),
        sizes=tuple(_sizes(before, after, legal)),
        modes=tuple(_modes(draining, legal)),
        revision=revision(reader.connection, draining.place.cluster_id),
        truncated=len(touched) > len(shown),
        definition=_DEFINED,
        facts=evidence.cite(reader, sorted({model.of.server.slug, model.slug}), ["chip_sets", "server_sets"]),
    )


def _job(draining: Drain, of: Touched, outcome: Outcome, units: Sequence[int]) -> DrainedJob:
    there = draining.before
    has = [there.limits_at(row, mask) for row, mask in of.tenant.work.items()]
    gets = [draining.after.limits_at(row, mask) for row, mask in outcome.to]
    return DrainedJob(
        job=of.tenant.name,
        chips=of.tenant.chips,
        loses=sum(mask.bit_count() for mask in of.lost.values()),
        stops=of.stops(units),
        way=outcome.way,
        to=tuple(place for row, mask in outcome.to for place in there.places_at(row, mask)),
        degraded_then=any(draining.after.degraded_at(row, mask) for row, mask in outcome.to),
        all_gather=Bandwidth(min((each.all_gather for each in has), default=0)),
        all_gather_then=Bandwidth(min(each.all_gather for each in gets)) if gets else None,
        bisection=Bandwidth(min((each.bisection for each in has), default=0)),
        bisection_then=Bandwidth(min(each.bisection for each in gets)) if gets else None,
        moves=tuple(JobMove.of(there, move) for move in outcome.moves),
    )


def _sizes(before: Stock, after: Stock, legal: Legal) -> Iterator[SizeLeft]:
    free, left = (int(np.bitwise_count(each.free).sum()) for each in (before, after))
    for now, then in zip(stranded(before, legal), stranded(after, legal), strict=True):
        shares = (each.chips / chips if chips else None for each, chips in ((now, free), (then, left)))
        yield SizeLeft(now.size, now.jobs, then.jobs, *shares)


def _modes(draining: Drain, legal: Legal) -> Iterator[ModesLost]:
    """Of domains of several servers, what fits before and after if they are empty."""
    had, has = (_possible(stock, draining.rows, legal) for stock in (draining.before, draining.after))
    for at, row in enumerate(draining.rows):
        lost = tuple(size for size in legal.sizes if had[size][at] and not has[size][at])
        if lost:
            left = tuple(size for size in legal.sizes if has[size][at])
            yield ModesLost(draining.before.domain_at(row), lost, left)


def _possible(of: Stock, rows: Sequence[int], legal: Legal) -> dict[int, Sequence[bool]]:
    """By size, whether each of some domains could have a job of it, if none were there."""
    there = of.rows(rows, of.inside)
    nothing = np.zeros_like(there.held)
    searches = {
        size: Search(replace(there, held=nothing, closed=nothing), legal, legal.any_of.get(size) or legal.sets[size])
        for size in legal.sizes
    }
    return {size: search.has(search.intact).tolist() for size, search in searches.items()}
