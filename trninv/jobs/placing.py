"""Placements of jobs as answers tell them: within domains or of whole ones, with copies and spares; what is lacking."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from trninv.errors import LimitError
from trninv.jobs.asked import Asked
from trninv.jobs.copies import Pick, Places, Spread, Wish
from trninv.jobs.gangs import Gang, free_domains, gangs, limits_of
from trninv.jobs.model import AnyOf, Legal, written
from trninv.jobs.search import ANY, Policy, Search
from trninv.jobs.stock import Stock
from trninv.routing.answer import At
from trninv.solvers.blocks import Words
from trninv.solvers.slices import Limits
from trninv.units import Bandwidth, counted


@dataclass(frozen=True, slots=True)
class Placement:
    """A place where the job fits."""

    places: Annotated[tuple[At, ...], "What to hold: domains, servers or chips."]
    spares: Annotated[tuple[At, ...], "What to hold to spare: domains, servers or chips."]
    servers: Annotated[tuple[At, ...], "Servers that its chips are in, those to spare left out."]
    chips: Annotated[int, "How many chips."]
    whole_servers: Annotated[bool, "Whether it takes all chips of its servers."]
    shape: Annotated[str | None, "Rows × columns × servers, of a box of a torus."]
    all_gather: Annotated[Bandwidth, "Limit of an all-gather of each chip among those of a domain; one direction."]
    bisection: Annotated[Bandwidth, "Between two halves of the chips of a domain, alone; one direction."]
    degraded: Annotated[bool, "Whether a part of it is degraded; the limits are as it is."]
    tier: Annotated[int | None, "Least tier of the fabric in common; null within one domain."]
    harm: Annotated[
        float, "Chips of free sets for schedulers that it takes or breaks up; the mean of all sizes above 1."
    ]
    leaves: Annotated[int, "Free chips that its domain has left."]


@dataclass(frozen=True, slots=True)
class Step:
    """How many domains are left after a condition."""

    condition: Annotated[str, "What they have."]
    domains: Annotated[int, "How many."]


@dataclass(frozen=True, slots=True)
class Several:
    """How many jobs at once, with how much to spare, how far apart, and how near their domains."""

    copies: int
    spares: int
    spread: Spread
    tier: int

    @property
    def words(self) -> str:
        """What is wanted at once."""
        spare = f" with {self.spares:,} to spare{' each' if self.copies > 1 else ''}" if self.spares else ""
        apart = f", no two with the same {self.spread.lower().replace('_', ' ')}"
        return f"{self.copies:,} wanted{spare}" + (apart if self.spread is not Spread.CHIP else "")


@dataclass(frozen=True, slots=True)
class Result:
    """Placements, how many there are, and what each condition leaves; what is lacking if that is no condition's.

    Attributes
    ----------
    best
        What the best place carries, where none has as much as was asked for.

    """

    placements: tuple[Placement, ...]
    positions: int
    domains: int
    steps: tuple[Step, ...]
    lacking: str | None = None
    best: Limits | None = None


def within_domains(there: Stock, legal: Legal, wanted: Asked, wish: Wish, several: Several, k: int) -> Result:
    """Jobs that are each within one domain."""
    sets, spares = wanted.sets, several.spares
    if isinstance(sets, AnyOf):
        sets, spares = AnyOf(sets.servers, spares), 0
    places = Places(there, legal, sets, wish, several.spread)
    search, fit = places.search, places.fit
    before = *_inside(there, wanted.chips, wish), *_enough(there, wanted.chips)
    steps = (*before, *_steps(search, wish), *_good(wish.least, search.domains(fit)))
    found = search.positions(fit), search.domains(fit), steps
    if wish.least != ANY and not fit.any():
        any_good = Places(there, legal, sets, replace(wish, least=ANY), several.spread)
        best = next(iter(any_good.search.best(any_good.fit, 1, Policy.QUALITY)), None)
        return Result((), *found, best=best.limits if best else None)
    needed = several.copies * (1 + spares)
    of = f"of {needed:,} sets " if spares else ""
    if needed > 1 and (most := places.most(needed)) < needed:
        return Result((), *found, f"{several.words}: {of}{most:,} fit at once")
    alternatives = places.alternatives(1 if several.copies > 1 else k, needed - 1)
    each = several.copies
    placed = chain.from_iterable(
        (_placement(there, pick, picks[each + at * spares :][:spares]) for at, pick in enumerate(picks[:each]))
        for picks in alternatives
    )
    return Result(tuple(placed), *found)


def _inside(there: Stock, chips: int, wish: Wish) -> Iterator[Step]:
    yield Step("is in the scope", len(there.ordinals))
    if (inside := int((_sizes(there.inside) >= chips).sum())) < len(there.ordinals):
        yield Step(f"has {counted(chips, 'chip')} in it{' that are not avoided' if wish.avoids else ''}", inside)


def _enough(there: Stock, chips: int) -> Iterator[Step]:
    for what, sets in (("usable", there.usable), ("free", there.free)):
        yield Step(f"has {counted(chips, 'chip')} {what}", int((_sizes(sets) >= chips).sum()))


def _steps(search: Search, wish: Wish) -> Iterator[Step]:
    yield Step("has such a set of free chips", search.domains(search.free))
    yield Step("has it with every link up", search.domains(search.intact))
    fit = search.intact
    if wish.rack:
        fit = fit & search.in_rack[None, :]
        yield Step("has it in one rack", search.domains(fit))
    if wish.healthy:
        yield Step("has it with nothing degraded", search.domains(fit & ~search.worn))


def _good(least: Limits, domains: int, it: str = "it with ") -> Iterator[Step]:
    """What is left by least limits, if any are asked for."""
    asked = {"all-gather": least.all_gather, "bisection": least.bisection}
    if told := " and ".join(f"{what} of {Bandwidth(value)}" for what, value in asked.items() if value):
        yield Step(f"has {it}{told} or more", domains)


def _sizes(sets: Words) -> NDArray[np.int64]:
    sizes: NDArray[np.int64] = np.bitwise_count(sets).sum(axis=1, dtype=np.int64)
    return sizes


def whole_domains(there: Stock, _: Legal, wanted: Asked, wish: Wish, several: Several, __: int) -> Result:
    """Jobs of several whole domains each.

    Raises
    ------
    LimitError
        They are to be further apart than domains are.

    """
    model = there.model
    if several.copies > 1 and (
        several.spread is Spread.NETWORK_NODE or (several.spread is Spread.RACK and model.of.domains_per_rack > 1)
    ):
        raise LimitError(
            f"--spread {several.spread.lower().replace('_', '-')}: copies of several domains are apart by domain only"
        )
    usable = int((_sizes(there.usable) == model.chips).sum())
    rows = free_domains(there)
    steps = [
        *_inside(there, model.chips, wish),
        Step("is usable as a whole", usable),
        Step("is free as a whole, with every link up", len(rows)),
    ]
    if wish.rack and len(model.racks) > 1:
        steps.append(Step("is in one rack", 0))
        return Result((), 0, 0, tuple(steps))
    if wish.healthy:
        rows = free_domains(there, healthy=True)
        steps.append(Step("has nothing degraded", len(rows)))
    if wish.least != ANY:
        had, rows = rows, free_domains(there, healthy=wish.healthy, least=wish.least)
        steps += _good(wish.least, len(rows), "")
        if had and not rows:
            best = max((limits_of(there, row) for row in had), key=lambda each: (each.all_gather, each.bisection))
            return Result((), 0, 0, tuple(steps), best=best)
    needed, sound = wanted.domains + several.spares, [row for row in rows if row not in there.lost]
    apart = wish.policy is Policy.SPREAD
    for of in (sound, rows):
        found = gangs(there, of, needed, several.copies, tier=several.tier, rack=wish.rack, apart=apart)
        if len(found) == several.copies:
            break
    counts = len(rows), len(rows), tuple(steps)
    if len(found) < several.copies:
        return Result((), *counts, _lacking(needed, len(rows), found, wish, several))
    return Result(tuple(_whole(there, gang, wanted.domains) for gang in found), *counts)


def _lacking(needed: int, free: int, found: Sequence[Gang], wish: Wish, several: Several) -> str:
    each = f"{counted(needed, 'domain')} wanted{' with those to spare' if several.spares else ''}"
    near = " in one rack" if wish.rack else ""
    near += f" below one network node of tier {several.tier}" if several.tier > 1 else ""
    lacking = f"{each}{near}, {free:,} free as a whole"
    return f"{several.copies:,} times {lacking}: {len(found):,} times there are" if several.copies > 1 else lacking


def _whole(there: Stock, gang: Gang, domains: int) -> Placement:
    worth = [limits_of(there, row) for row in gang.rows[:domains]]
    places = tuple(map(there.domain_at, gang.rows))
    return Placement(
        places=places[:domains],
        spares=places[domains:],
        servers=tuple(f"{place}/s{server}" for place in places[:domains] for server in range(there.model.servers)),
        chips=domains * there.model.chips,
        whole_servers=True,
        shape=None,
        all_gather=Bandwidth(min(each.all_gather for each in worth)),
        bisection=Bandwidth(min(each.bisection for each in worth)),
        degraded=any(row in there.lost for row in gang.rows),
        tier=gang.tier,
        harm=0.0,
        leaves=0,
    )


def _placement(there: Stock, pick: Pick, spares: Sequence[Pick]) -> Placement:
    model, found = there.model, pick.found
    mask, shape = found.mask, model.shape_of(found.mask)
    servers = there.servers_at(found.row, mask)
    beside = [(found.row, each) for each in pick.beside] + [(each.found.row, each.found.mask) for each in spares]
    return Placement(
        places=there.places_at(found.row, mask),
        spares=tuple(place for row, each in beside for place in there.places_at(row, each)),
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
