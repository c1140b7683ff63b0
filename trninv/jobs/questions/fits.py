"""Where a job fits, the best places first."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from trninv.jobs.asked import Asked, asked
from trninv.jobs.gangs import free_domains, gang
from trninv.jobs.model import Legal, Model, legal_of, written
from trninv.jobs.named import brief
from trninv.jobs.search import Found, Policy, Search, fitting
from trninv.jobs.stock import Stock, count, stock
from trninv.routing import evidence
from trninv.routing.answer import Answer, At, CitedFact, Table, Told
from trninv.routing.question import ROUTED, Argument, Text, question
from trninv.routing.questions.placement import MOST_MEMORY
from trninv.routing.wiring import Reader
from trninv.solvers.blocks import Words
from trninv.solvers.slices import Limits
from trninv.units import Bandwidth, Capacity, counted

MOST = 100
"""Places that one answer may list."""
MOST_CHIPS, MOST_SERVERS = 1_000_000_000, 1_000_000
"""More than any fleet has."""

_DEFINED = (
    "free chips are up or degraded, held by no job, and in no server that is closed; every position is looked at, "
    "and best are most all-gather bandwidth of a chip, then most bisection of the place alone, one direction, then "
    "least harm (chips of larger sets of free chips that it breaks up, all sizes alike), then fewest free chips left "
    "in the domain, then address; what has a degraded part comes after all others"
)
_GANG = "; several domains under the least tier of the fabric, on the fewest of its nodes of tier 3"


@dataclass(frozen=True, slots=True)
class Placement:
    """A place where the job fits."""

    places: Annotated[tuple[At, ...], "What to hold: domains, servers or chips."]
    servers: Annotated[tuple[At, ...], "Servers that its chips are in."]
    chips: Annotated[int, "How many chips."]
    whole_servers: Annotated[bool, "Whether it takes all chips of its servers."]
    shape: Annotated[str | None, "Rows × columns × servers, of a box of a torus."]
    all_gather: Annotated[Bandwidth, "Limit of an all-gather of each chip among those of a domain; one direction."]
    bisection: Annotated[Bandwidth, "Between two halves of the chips of a domain, alone; one direction."]
    degraded: Annotated[bool, "Whether a part of it is degraded; the limits are as it is."]
    tier: Annotated[int | None, "Least tier of the fabric in common; null within one domain."]
    harm: Annotated[float, "Chips of larger sets of free chips that it breaks up, all sizes alike."]
    leaves: Annotated[int, "Free chips that its domain has left."]


@dataclass(frozen=True, slots=True)
class Step:
    """How many domains are left after a condition."""

    condition: Annotated[str, "What they have."]
    domains: Annotated[int, "How many."]


@dataclass(frozen=True, kw_only=True)
class FitsAnswer(Answer):
    """Where a job fits: the best places, how many there are in all, and where none is, why."""

    of: Annotated[At, "The scope."]
    wanted: Annotated[str, "What was asked for."]
    chips: Annotated[int, "Chips of the job."]
    placements: Annotated[tuple[Placement, ...], "The best first."]
    positions: Annotated[int, "Places within a domain that fit; of several domains, those that are free as a whole."]
    domains: Annotated[int, "Domains that have one."]
    free: Annotated[int, "Free chips of the scope."]
    steps: Annotated[tuple[Step, ...], "What each condition leaves of the scope's domains."]
    why: Annotated[str | None, "The first condition that nothing is left after; null where it fits."]
    better: Annotated[str | None, "A shape of as many chips that carries more, and where it fits."]

    def succeeded(self) -> bool:
        return bool(self.placements)

    def _job(self) -> str:
        chips = counted(self.chips, "chip")
        return chips if self.wanted == chips else f"{self.wanted} ({chips})"

    def told(self) -> Told:
        if self.why:
            yield f"{self._job()} fits nowhere in {self.of}: {self.why}"
            yield Table(
                ["of these domains", "are left"], ([step.condition, f"{step.domains:,}"] for step in self.steps)
            )
            return
        where = f"{counted(self.domains, 'domain')} of {self.of}"
        yield f"{self._job()}: fits in {where}, {counted(self.positions, 'position')}"
        yield Table(
            ["place", "all-gather", "bisection", "breaks up", "leaves"],
            (
                [_place(each), each.all_gather, each.bisection, f"{each.harm:,.4g}", each.leaves]
                for each in self.placements
            ),
        )
        if self.better:
            yield f"better: {self.better}"


def _place(of: Placement) -> str:
    """In words: what is wholly taken by address, chips by their servers."""
    notes = [of.shape, "degraded" if of.degraded else None, f"tier {of.tier}" if of.tier else None]
    return " ".join([brief(of.places), *(f"({note})" for note in notes if note)])


@question(
    price=ROUTED,
    examples=("fits u-trn2x64 4x4x1", "fits u-trn2x64 --chips 32", 'fits rainier --memory "50,000 GiB" -k 1'),
    compares=False,
)
def fits(
    reader: Reader,
    of: Annotated[str, Argument("Chip, server, rack, domain or cluster to look in.", metavar="SCOPE")],
    shape: Annotated[
        Text | None, Argument("A box of a torus, rows × columns × servers, turned any way.", positional=True)
    ] = None,
    chips: Annotated[
        int | None, Argument("So many chips, in a set that schedulers grant", least=1, most=MOST_CHIPS)
    ] = None,
    memory: Annotated[
        Capacity | None, Argument("So much device memory.", least=1, most=MOST_MEMORY, metavar="MEMORY")
    ] = None,
    servers: Annotated[int | None, Argument("So many whole servers", least=1, most=MOST_SERVERS)] = None,
    domains: Annotated[int | None, Argument("So many whole domains", least=1, most=MOST_SERVERS)] = None,
    k: Annotated[int, Argument("How many places are listed", least=1, most=MOST, option="-k")] = 3,
    any_block: Annotated[bool, Argument("Any box of a torus, granted by a scheduler or not.")] = False,
    as_written: Annotated[bool, Argument("The shape is not turned.")] = False,
    healthy: Annotated[bool, Argument("Only places where nothing is degraded.")] = False,
    avoid: Annotated[tuple[str, ...], Argument("Take nothing of these places.", metavar="ADDRESS")] = (),
    min_all_gather: Annotated[
        Bandwidth | None, Argument("At least this all-gather limit.", metavar="BANDWIDTH")
    ] = None,
    min_bisection: Annotated[Bandwidth | None, Argument("At least this bisection.", metavar="BANDWIDTH")] = None,
    policy: Annotated[Policy, Argument("What goes first.")] = Policy.QUALITY,
) -> FitsAnswer:
    """Where the next job fits among the free chips of a scope, the best places first; why, if nowhere.

    A shape is a box of links that is all up. Numbers of chips are in sets that schedulers grant, unless any box does.
    """
    there = stock(reader, of, avoid)
    model, legal = (
        there.model,
        reader.remembered(("legal", there.model.slug), lambda: legal_of(reader.connection, there.model)),
    )
    wanted = asked(
        model,
        legal,
        shape=shape,
        chips=chips,
        memory=memory,
        servers=servers,
        domains=domains,
        any_block=any_block,
        as_written=as_written,
    )
    least = Limits(int(min_all_gather or 0), int(min_bisection or 0))
    found = (
        _several(there, wanted, healthy=healthy)
        if wanted.domains
        else _one(there, legal, wanted, least, k, policy, healthy=healthy)
    )
    why = next((step.condition for step in found.steps if not step.domains), None) or found.lacking
    return FitsAnswer(
        of=of.strip(),
        wanted=wanted.words,
        chips=wanted.chips,
        placements=found.placements,
        positions=found.positions,
        domains=found.domains,
        free=count(there.free),
        steps=found.steps,
        why=None if found.placements else f"no domain {why}" if why and why != found.lacking else why,
        better=_better(there, legal, wanted, found) if wanted.shapes and found.placements else None,
        truncated=found.positions > len(found.placements) and not wanted.domains,
        definition=_DEFINED + (_GANG if wanted.domains else ""),
        facts=_facts(reader, model, wanted),
    )


@dataclass(frozen=True, slots=True)
class _Result:
    placements: tuple[Placement, ...]
    positions: int
    domains: int
    steps: tuple[Step, ...]
    lacking: str | None = None


def _one(there: Stock, legal: Legal, wanted: Asked, least: Limits, k: int, policy: Policy, *, healthy: bool) -> _Result:
    """Within one domain."""
    search = Search(there, legal, wanted.sets)
    fit = fitting(search, least)
    fit = fit & ~search.worn if healthy else fit
    placements = tuple(_placement(there, each) for each in search.best(fit, k, policy))
    steps = (
        *_enough(there, wanted.chips),
        Step("has such a set of free chips", search.domains(search.free)),
        Step("has it with every link up", search.domains(search.intact)),
        Step("has it as good as that", search.domains(fit)),
    )
    return _Result(placements, search.positions(fit), search.domains(fit), steps)


def _enough(there: Stock, chips: int) -> Iterator[Step]:
    yield Step("is in the scope", len(there.ordinals))
    for what, sets in (("usable", there.usable), ("free", there.free)):
        yield Step(f"has {counted(chips, 'chip')} {what}", int((_sizes(sets) >= chips).sum()))


def _sizes(sets: Words) -> NDArray[np.int64]:
    sizes: NDArray[np.int64] = np.bitwise_count(sets).sum(axis=1, dtype=np.int64)
    return sizes


def _several(there: Stock, wanted: Asked, *, healthy: bool) -> _Result:
    """Whole domains."""
    whole = free_domains(there, healthy=healthy)
    usable = int((_sizes(there.usable) == there.model.chips).sum())
    steps = (
        Step("is in the scope", len(there.ordinals)),
        Step("is usable as a whole", usable),
        Step("is free as a whole, with every link up", len(whole)),
    )
    found = gang(there, wanted.domains, healthy=healthy) if len(whole) >= wanted.domains else None
    lacking = f"{counted(wanted.domains, 'domain')} wanted, {len(whole):,} free as a whole"
    if found is None:
        return _Result((), len(whole), len(whole), steps, lacking)
    limits = there.model.limits(there.model.full)
    places = tuple(map(there.domain_at, found.rows))
    servers = tuple(f"{place}/s{server}" for place in places for server in range(there.model.servers))
    one = Placement(
        places=places,
        servers=servers,
        chips=wanted.chips,
        whole_servers=True,
        shape=None,
        all_gather=Bandwidth(limits.all_gather),
        bisection=Bandwidth(limits.bisection),
        degraded=any(row in there.lost for row in found.rows),
        tier=found.tier,
        harm=0.0,
        leaves=0,
    )
    return _Result((one,), len(whole), len(whole), steps)


def _placement(there: Stock, found: Found) -> Placement:
    model, mask = there.model, found.mask
    servers = there.servers_at(found.row, mask)
    shape = model.shape_of(mask)
    return Placement(
        places=there.places_at(found.row, mask),
        servers=servers,
        chips=mask.bit_count(),
        whole_servers=mask.bit_count() == len(servers) * model.per_server,
        shape=written(shape) if shape else None,
        all_gather=Bandwidth(found.limits.all_gather),
        bisection=Bandwidth(found.limits.bisection),
        degraded=found.worn,
        tier=None,
        harm=found.harm,
        leaves=found.leaves,
    )


def _better(there: Stock, legal: Legal, wanted: Asked, found: _Result) -> str | None:
    """The shape of as many chips that carries most, if that is more than the best place does."""
    torus = there.model.torus
    if torus is None:
        return None
    alike = [shape for shape in torus.shapes if prod(shape) == wanted.chips]
    worth = {shape: there.model.limits(torus.blocks(shape)[0].mask) for shape in alike}
    best = max(alike, key=lambda shape: (worth[shape].all_gather, worth[shape].bisection))
    had = found.placements[0]
    if (worth[best].all_gather, worth[best].bisection) <= (had.all_gather, had.bisection):
        return None
    masks = tuple(block.mask for shape in alike if worth[shape] == worth[best] for block in torus.blocks(shape))
    search = Search(there, legal, masks)
    places = search.best(search.intact, 1, Policy.QUALITY)
    at = f"fits at {_place(_placement(there, places[0]))}" if places else "fits nowhere now"
    gather, half = Bandwidth(worth[best].all_gather), Bandwidth(worth[best].bisection)
    return f"{written(best)}: all-gather {gather}, bisection {half}; {at}"


def _facts(reader: Reader, model: Model, wanted: Asked) -> tuple[CitedFact, ...]:
    links = evidence.of_links(reader, {model.of.links[wire.role].slug for wire in model.of.blueprint.wires})
    found = links + evidence.cite(reader, sorted({model.of.server.slug, model.slug}), ["chip_sets", "server_sets"])
    return found + (evidence.of_fabric_above(reader, {model.slug}, seen=False) if wanted.domains else ())
