"""Where a job fits, the best places first."""

from dataclasses import dataclass
from math import prod
from typing import Annotated

from trninv.jobs.asked import Asked, asked, refuse_swapped
from trninv.jobs.copies import Places, Spread, Wish
from trninv.jobs.model import Legal, Model, legal_of, written
from trninv.jobs.named import brief
from trninv.jobs.placing import Placement, Result, Several, Step, whole_domains, within_domains
from trninv.jobs.search import Policy
from trninv.jobs.stock import Stock, count, stock
from trninv.routing import evidence
from trninv.routing.answer import Answer, At, CitedFact, Table, Told
from trninv.routing.question import ROUTED, Argument, Text, question
from trninv.routing.questions.placement import MOST_MEMORY
from trninv.routing.wiring import Reader
from trninv.solvers.slices import Limits
from trninv.topology.clos import TIERS
from trninv.units import Bandwidth, Capacity, counted

MOST = 100
"""Places that one answer may list."""
MOST_CHIPS, MOST_SERVERS = 1_000_000_000, 1_000_000
"""More than any fleet has."""
MOST_SPARES = 20
"""For each job."""

_FREE = (
    "free chips are up or degraded, held by no job, and in no server that is closed; every position is looked at, and "
    "best are "
)
_WORTH = "most all-gather bandwidth of a chip, then most bisection of the place alone, one direction"
_HARM = (
    "least harm (chips of the free sets that it takes or breaks up, of those that schedulers grant: the mean of all "
    "sizes above 1), then fewest free chips left in the domain"
)
_BEST = {
    Policy.QUALITY: f"{_WORTH}, then {_HARM}",
    Policy.PACK: f"{_HARM}, then {_WORTH}",
    Policy.SPREAD: f"least chips of the job in one rack, then {_WORTH}, then {_HARM}",
    Policy.SLURM: "fewest free sets of the next larger size met, then fewest free chips left in the domain",
}
_LAST = ", then address; what has a degraded part comes after all others"
_TOGETHER = (
    "; one copy after the other has the best place that leaves room for those that follow, and each what is to spare; "
    "servers to spare of a job of servers of a rack are in that rack"
)
_GANG = "; several domains under the least tier of the fabric, on the fewest of its nodes of tier 3"
_APART = "; of several domains the fewest below one network node of tier 3"


@dataclass(frozen=True, kw_only=True)
class FitsAnswer(Answer):
    """Where a job fits: the best places, how many there are in all, and where none is, why."""

    of: Annotated[At, "The scope."]
    wanted: Annotated[str, "What was asked for."]
    chips: Annotated[int, "Chips of the job."]
    copies: Annotated[int, "How many such jobs at once."]
    placements: Annotated[
        tuple[Placement, ...], "The best first; of several copies, one for each of them, which are free at once."
    ]
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
        job = chips if self.wanted == chips else f"{self.wanted} ({chips})"
        return job if self.copies == 1 else f"{self.copies:,} copies of {job}"

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
    spares = f"to spare {brief(of.spares)}" if of.spares else None
    notes = [of.shape, "degraded" if of.degraded else None, f"tier {of.tier}" if of.tier else None, spares]
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
    rack: Annotated[bool, Argument("All of a job in one rack.")] = False,
    tier: Annotated[
        int | None,
        Argument("All domains of a job below one network node of this tier, 3 being the nearest", least=1, most=TIERS),
    ] = None,
    copies: Annotated[int, Argument("So many jobs alike, at once", least=1, most=MOST)] = 1,
    spread: Annotated[
        Spread, Argument("What copies, and sets to spare, do not have in common; by default chips only.")
    ] = Spread.CHIP,
    spares: Annotated[int, Argument("So many parts to spare for each job", most=MOST_SPARES)] = 0,
) -> FitsAnswer:
    """Where the next job fits among the free chips of a scope, the best places first; why, if nowhere.

    A shape is a box of links that is all up. Numbers of chips are in sets that schedulers grant, unless any box does.
    A part to spare is what the wiring lets one replace: a whole domain of a job of several, a server of those that any
    of its rack can join, else a set as large as the job's.
    """
    refuse_swapped(of, shape, f"fits {shape} {of}")
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
    wish, several = Wish(least, healthy, rack, policy, bool(avoid)), Several(copies, spares, spread, tier or 1)
    found = (whole_domains if wanted.domains else within_domains)(there, legal, wanted, wish, several, k)
    gang = (_APART if policy is Policy.SPREAD else _GANG) if wanted.domains else ""
    return FitsAnswer(
        of=of.strip(),
        wanted=wanted.words,
        chips=wanted.chips,
        copies=copies,
        placements=found.placements,
        positions=found.positions,
        domains=found.domains,
        free=count(there.free),
        steps=found.steps,
        why=None if found.placements else _why(found),
        better=_better(there, legal, wanted, wish, found) if wanted.shapes and found.placements else None,
        truncated=copies == 1 and found.positions > len(found.placements) and not wanted.domains,
        definition=f"{_FREE}{_BEST[policy]}{_LAST}{gang}{_TOGETHER if copies > 1 or spares else ''}",
        facts=_facts(reader, model, wanted),
    )


def _why(found: Result) -> str | None:
    """The first condition that no domain has, and what the best place carries where that is too little."""
    lacking = next((step.condition for step in found.steps if not step.domains), None)
    best = found.best and f"; the best place has {_told(found.best)}"
    return f"no domain {lacking}{best or ''}" if lacking else found.lacking


def _told(of: Limits) -> str:
    return f"all-gather {Bandwidth(of.all_gather)}, bisection {Bandwidth(of.bisection)}"


def _better(there: Stock, legal: Legal, wanted: Asked, wish: Wish, found: Result) -> str | None:
    """The shape of as many chips that carries most, if that is more than the best place does."""
    torus = there.model.torus
    if torus is None:
        return None
    alike = [shape for shape in torus.shapes if prod(shape) == wanted.chips]
    worth = {shape: there.model.limits(torus.blocks(shape)[0].mask) for shape in alike}
    best = max(alike, key=lambda shape: (worth[shape].all_gather, worth[shape].bisection))
    had = (int(found.placements[0].all_gather), int(found.placements[0].bisection))
    if (worth[best].all_gather, worth[best].bisection) <= had:
        return None
    masks = tuple(block.mask for shape in alike if worth[shape] == worth[best] for block in torus.blocks(shape))
    places = Places(there, legal, masks, wish)
    other = next(iter(places.search.best(places.fit, 1, Policy.QUALITY)), None)
    if other and (other.limits.all_gather, other.limits.bisection) > had:
        return f"{written(best)}: {_told(other.limits)}; fits at {brief(there.places_at(other.row, other.mask))}"
    nowhere = "fits now only with a part degraded" if other else "fits nowhere now"
    return f"{written(best)}: {_told(worth[best])}; {nowhere}"


def _facts(reader: Reader, model: Model, wanted: Asked) -> tuple[CitedFact, ...]:
    links = evidence.of_links(reader, {model.of.links[wire.role].slug for wire in model.of.blueprint.wires})
    found = links + evidence.cite(reader, sorted({model.of.server.slug, model.slug}), ["chip_sets", "server_sets"])
    return found + (evidence.of_fabric_above(reader, {model.slug}, seen=False) if wanted.domains else ())
