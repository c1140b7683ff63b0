"""Place a job and explain the result: placements, the filter steps and the reason why nothing fits.

`trninv.placement.questions.placements` calls `place_in_domains` for jobs that fit in one domain, and
`place_on_domains` for jobs of several whole domains. A filter step is one condition, such as "has 16 chips free", with
the number of domains that meet it and all conditions before it; the first step without domains is the reason.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Annotated, Final

import numpy as np
from numpy.typing import NDArray

from trninv.errors import InvalidArgumentError
from trninv.placement.candidates.candidate_search import NO_MINIMUM, CandidateSearch, PlacementPolicy
from trninv.placement.candidates.free_capacity import FreeCapacity
from trninv.placement.candidates.gangs import Gang, domain_limits, free_domains, place_gangs
from trninv.placement.candidates.job_request import JobRequest
from trninv.placement.candidates.placement_model import AnyServers, LegalSets, format_shape
from trninv.placement.candidates.replicas import Constraints, ReplicaPlacement, ReplicaSearch, SpreadLevel
from trninv.routing.answer import AddressText
from trninv.solvers.torus_blocks import BlockLimits, MaskRows
from trninv.units import Bandwidth, pluralize


@dataclass(frozen=True, slots=True)
class PlacedGroup:
    """A group of chips of a job."""

    level: Annotated[int, "1 for the largest groups, 2 for the groups in them, and so on."]
    chips: Annotated[int, "Number of chips."]
    places: Annotated[tuple[AddressText, ...], "Its domains, servers or chips."]


@dataclass(frozen=True, slots=True)
class Placement:
    """A place where the job fits, with its limits."""

    places: Annotated[tuple[AddressText, ...], "Domains, servers or chips to allocate."]
    spares: Annotated[tuple[AddressText, ...], "Domains, servers or chips to allocate as spares."]
    servers: Annotated[tuple[AddressText, ...], "Servers of its chips, without spares."]
    chips: Annotated[int, "Number of chips, without spares."]
    whole_servers: Annotated[bool, "Whether it uses all chips of its servers."]
    shape: Annotated[str | None, "Rows × columns × servers of a box of a torus; null otherwise."]
    all_gather: Annotated[Bandwidth, "All-gather limit per chip within a domain, one direction."]
    bisection: Annotated[Bandwidth, "Bandwidth between two halves of its chips within a domain, one direction."]
    degraded: Annotated[bool, "Whether a part of it is degraded; the limits take that into account."]
    tier: Annotated[int | None, "Lowest fabric tier that joins its domains; null within one domain."]
    fragmentation_cost: Annotated[
        float, "Chips of free legal sets that it uses or splits, averaged over all sizes above 1."
    ]
    remaining_free: Annotated[int, "Free chips that remain in its domain."]
    groups: Annotated[
        tuple[PlacedGroup, ...], "Its groups, each followed by the groups in it; empty without group sizes."
    ] = ()


@dataclass(frozen=True, slots=True)
class FilterStep:
    """A condition and the domains that meet it."""

    condition: Annotated[str, "The condition."]
    domains: Annotated[int, "Domains that meet it and all conditions before."]


@dataclass(frozen=True, slots=True)
class ReplicaRequest:
    """How many replicas (copies) of a job to place, and how many spares for each.

    ``spread_level`` is what replicas must not share. The domains of a replica are below one network node of ``tier``.
    """

    replicas: int
    spares: int
    spread_level: SpreadLevel
    tier: int

    @property
    def description(self) -> str:
        """The request in words."""
        spare = f" with {pluralize(self.spares, 'spare')}{' each' if self.replicas > 1 else ''}" if self.spares else ""
        separation = f", no two with the same {self.spread_level.lower().replace('_', ' ')}"
        return f"{self.replicas:,} requested{spare}" + (separation if self.spread_level is not SpreadLevel.CHIP else "")


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Placements, or why there are none.

    Attributes
    ----------
    positions, domains
        Numbers of sets of chips on which one replica can run, and of domains with such a set.
    shortfall
        Why the job does not fit although some domains meet every condition: there are too few of them.
    best
        Limits of the best candidate, if no candidate has the requested limits.

    """

    placements: tuple[Placement, ...]
    positions: int
    domains: int
    filter_steps: tuple[FilterStep, ...]
    shortfall: str | None = None
    best: BlockLimits | None = None


def place_in_domains(
    capacity: FreeCapacity,
    legal_sets: LegalSets,
    request: JobRequest,
    constraints: Constraints,
    replica_request: ReplicaRequest,
    k: int,
) -> SearchResult:
    """Place jobs that each fit in one domain: the k best places of one job, or one place for each replica."""
    sets, spares = request.sets, replica_request.spares
    if isinstance(sets, AnyServers):  # spares are servers of the same rack; other spares are placed as separate sets
        sets, spares = AnyServers(sets.servers, spares), 0
    replica_search = ReplicaSearch(capacity, legal_sets, sets, constraints, replica_request.spread_level)
    search, matches = replica_search.search, replica_search.matches
    steps = (
        *scope_steps(capacity, request.chips, constraints),
        *size_steps(capacity, request.chips),
        *search_steps(search, constraints),
        *limit_steps(constraints.min_limits, search.count_domains(matches)),
    )
    counts = search.count_positions(matches), search.count_domains(matches), steps
    if constraints.min_limits != NO_MINIMUM and not matches.any():
        relaxed = ReplicaSearch(
            capacity, legal_sets, sets, replace(constraints, min_limits=NO_MINIMUM), replica_request.spread_level
        )
        best = next(iter(relaxed.search.best(relaxed.matches, 1, PlacementPolicy.QUALITY)), None)
        return SearchResult((), *counts, best=best.limits if best else None)
    replicas = replica_request.replicas
    needed = replicas * (1 + spares)
    if needed > 1 and (possible := replica_search.max_replicas(needed)) < needed:
        sets_text = f"of {needed:,} sets " if spares else ""
        return SearchResult((), *counts, f"{replica_request.description}: only {possible:,} {sets_text}fit at once")
    placements = []
    for placed in replica_search.alternatives(1 if replicas > 1 else k, needed - 1):
        for index, placement in enumerate(placed[:replicas]):
            spare_sets = placed[replicas + index * spares :][:spares]
            placements.append(_set_placement(capacity, placement, spare_sets))
    return SearchResult(tuple(placements), *counts)


def scope_steps(capacity: FreeCapacity, chips: int, constraints: Constraints) -> Iterator[FilterStep]:
    """Yield the steps for the domains of the scope, and those with enough chips in it."""
    yield FilterStep("is in scope", len(capacity.ordinals))
    if (large_enough := int((_set_sizes(capacity.in_scope) >= chips).sum())) < len(capacity.ordinals):
        yield FilterStep(
            f"has {pluralize(chips, 'chip')} in scope{' and not avoided' if constraints.has_avoided else ''}",
            large_enough,
        )


def size_steps(capacity: FreeCapacity, chips: int) -> Iterator[FilterStep]:
    """Yield the steps for domains with enough usable chips, and with enough free chips."""
    for label, sets in (("usable", capacity.usable), ("free", capacity.free)):
        yield FilterStep(f"has {pluralize(chips, 'chip')} {label}", int((_set_sizes(sets) >= chips).sum()))


def search_steps(search: CandidateSearch, constraints: Constraints) -> Iterator[FilterStep]:
    """Yield the steps for a requested set that is free, has every link up and meets the constraints."""
    yield FilterStep("has such a set of free chips", search.count_domains(search.free))
    yield FilterStep("has it with every link up", search.count_domains(search.intact))
    matches = search.intact
    if constraints.same_rack:
        matches = matches & search.is_single_rack[None, :]
        yield FilterStep("has it in one rack", search.count_domains(matches))
    if constraints.healthy_only:
        yield FilterStep("has it without degraded parts", search.count_domains(matches & ~search.degraded))


def limit_steps(min_limits: BlockLimits, domains: int, prefix: str = "it with ") -> Iterator[FilterStep]:
    """Yield the step for the requested minimum limits, if any."""
    requested = {"all-gather": min_limits.all_gather, "bisection": min_limits.bisection}
    if conditions := " and ".join(
        f"{limit_name} of {Bandwidth(value)}" for limit_name, value in requested.items() if value
    ):
        yield FilterStep(f"has {prefix}{conditions} or more", domains)


def _set_sizes(sets: MaskRows) -> NDArray[np.int64]:
    """Return the number of chips of each set."""
    sizes: NDArray[np.int64] = np.bitwise_count(sets).sum(axis=1, dtype=np.int64)
    return sizes


def place_on_domains(
    capacity: FreeCapacity,
    _legal_sets: LegalSets,
    request: JobRequest,
    constraints: Constraints,
    replica_request: ReplicaRequest,
    _k: int,
) -> SearchResult:
    """Place jobs of several whole domains each.

    Two parameters are ignored: the function has the signature of `place_in_domains`, so that callers can use either.

    Raises
    ------
    InvalidArgumentError
        The requested separation is wider than domains.

    """
    model = capacity.model
    if replica_request.replicas > 1 and (
        replica_request.spread_level is SpreadLevel.NETWORK_NODE
        or (replica_request.spread_level is SpreadLevel.RACK and model.domain_model.domains_per_rack > 1)
    ):
        raise InvalidArgumentError(
            f"--spread {replica_request.spread_level.lower().replace('_', '-')}: "
            "copies of several domains can be separated by domain only; use --spread domain"
        )
    usable = int((_set_sizes(capacity.usable) == model.chips).sum())
    rows = free_domains(capacity)
    steps = [
        *scope_steps(capacity, model.chips, constraints),
        FilterStep("is completely usable", usable),
        FilterStep("is completely free, with every link up", len(rows)),
    ]
    if constraints.same_rack and len(model.racks) > 1:  # a whole domain spans several racks
        steps.append(FilterStep("is in one rack", 0))
        return SearchResult((), 0, 0, tuple(steps))
    if constraints.healthy_only:
        rows = free_domains(capacity, healthy_only=True)
        steps.append(FilterStep("has no degraded parts", len(rows)))
    if constraints.min_limits != NO_MINIMUM:
        rows_without_minimum = rows
        rows = free_domains(capacity, healthy_only=constraints.healthy_only, min_limits=constraints.min_limits)
        steps += limit_steps(constraints.min_limits, len(rows), "")
        if rows_without_minimum and not rows:
            best = max(
                (domain_limits(capacity, row) for row in rows_without_minimum),
                key=lambda limits: (limits.all_gather, limits.bisection),
            )
            return SearchResult((), 0, 0, tuple(steps), best=best)
    needed = request.domains + replica_request.spares
    healthy_rows = [row for row in rows if row not in capacity.failures_by_row]
    spread = constraints.policy is PlacementPolicy.SPREAD
    # Domains with failures are used only if the healthy ones do not suffice.
    for candidate_rows in (healthy_rows, rows):
        placed = place_gangs(
            capacity,
            candidate_rows,
            needed,
            replica_request.replicas,
            tier=replica_request.tier,
            same_rack=constraints.same_rack,
            spread=spread,
        )
        if len(placed) == replica_request.replicas:
            break
    counts = len(rows), len(rows), tuple(steps)
    if len(placed) < replica_request.replicas:
        return SearchResult((), *counts, _shortfall(needed, len(rows), placed, constraints, replica_request))
    return SearchResult(tuple(_domain_placement(capacity, gang, request.domains) for gang in placed), *counts)


def _shortfall(
    needed: int, free: int, placed: Sequence[Gang], constraints: Constraints, replica_request: ReplicaRequest
) -> str:
    """Return why not all jobs of whole domains could be placed."""
    demand = f"{pluralize(needed, 'domain')} requested{' with spares' if replica_request.spares else ''}"
    location = " in one rack" if constraints.same_rack else ""
    location += f" below one network node of tier {replica_request.tier}" if replica_request.tier > 1 else ""
    text = f"{demand}{location}, {free:,} completely free"
    return (
        f"{replica_request.replicas:,} times {text}: enough for {len(placed):,}"
        if replica_request.replicas > 1
        else text
    )


def _domain_placement(capacity: FreeCapacity, gang: Gang, domains: int) -> Placement:
    """Return the placement of a job of whole domains; rows of the gang after the first ``domains`` are spares."""
    all_limits = [domain_limits(capacity, row) for row in gang.rows[:domains]]
    places = tuple(map(capacity.domain_address, gang.rows))
    return Placement(
        places=places[:domains],
        spares=places[domains:],
        servers=tuple(f"{place}/s{server}" for place in places[:domains] for server in range(capacity.model.servers)),
        chips=domains * capacity.model.chips,
        whole_servers=True,
        shape=None,
        all_gather=Bandwidth(min(limits.all_gather for limits in all_limits)),
        bisection=Bandwidth(min(limits.bisection for limits in all_limits)),
        degraded=any(row in capacity.failures_by_row for row in gang.rows),
        tier=gang.tier,
        fragmentation_cost=0.0,
        remaining_free=0,
    )


def _set_placement(
    capacity: FreeCapacity, placement: ReplicaPlacement, spares: Sequence[ReplicaPlacement]
) -> Placement:
    """Return the placement of a job within a domain; its spares are servers of its rack, or separate sets."""
    model, candidate = capacity.model, placement.candidate
    mask, shape = candidate.mask, model.shape_of(candidate.mask)
    servers = capacity.server_addresses(candidate.row, mask)
    spare_sets = [(candidate.row, spare) for spare in placement.spares] + [
        (spare.candidate.row, spare.candidate.mask) for spare in spares
    ]
    return Placement(
        places=capacity.addresses_of(candidate.row, mask),
        spares=tuple(place for row, spare in spare_sets for place in capacity.addresses_of(row, spare)),
        servers=servers,
        chips=mask.bit_count(),
        whole_servers=mask.bit_count() == len(servers) * model.chips_per_server,
        shape=format_shape(shape) if shape else None,
        all_gather=Bandwidth(candidate.limits.all_gather),
        bisection=Bandwidth(candidate.limits.bisection),
        degraded=candidate.is_degraded,
        tier=None,
        fragmentation_cost=candidate.fragmentation_cost,
        remaining_free=candidate.remaining_free,
    )


_MAX_NAMES: Final = 8
"""The most addresses in a text for people."""


def abbreviate_places(places: Sequence[str]) -> str:
    """Format addresses for people: chips grouped by server, and only the first few."""
    names = group_chips(places)
    remaining = len(names) - _MAX_NAMES
    return ", ".join([*names[:_MAX_NAMES], *([f"{remaining:,} more"] if remaining > 0 else [])])


def group_chips(places: Sequence[str]) -> list[str]:
    """Group the chips of a server into one address; `trninv.inventory.address.syntax.expand_chip_ranges` undoes it."""
    return [
        name
        for parent, members in groupby(places, _server_of)
        for name in ([_format_chips(parent, members)] if parent else members)
    ]


def _server_of(place: str) -> str:
    """Return the address of a chip's server, or an empty text for any other place."""
    server, _, last = place.rpartition("/")
    return server if last.startswith("c") else ""


def _format_chips(server: str, chips: Iterator[str]) -> str:
    """Return the address of several chips of a server: rainier/d17/s2/c0-3,6."""
    numbers = [int(chip.rpartition("/c")[2]) for chip in chips]
    # In a run of consecutive numbers, the number minus its position is the same.
    grouped = groupby(enumerate(numbers), lambda numbered: numbered[1] - numbered[0])
    runs = [[number for _, number in run] for _, run in grouped]
    return f"{server}/c" + ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
