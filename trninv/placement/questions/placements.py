"""Answer where a job fits, best places first, or why it fits nowhere: `trninv place`.

`trninv.placement.candidates.results` searches the places; this module declares the question and its answer, and
suggests a better shape.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Annotated, Any

from trninv.database.as_of import current_time
from trninv.errors import InvalidArgumentError
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.parameter import Argument, FreeText
from trninv.placement.allocations.reservations import (
    find_reservation,
    list_reservations,
    parse_window,
    render_reservations,
    reservation_definition,
)
from trninv.placement.candidates.candidate_search import PlacementPolicy
from trninv.placement.candidates.free_capacity import FreeCapacity, count_chips, read_capacity
from trninv.placement.candidates.group_results import place_groups
from trninv.placement.candidates.job_request import JobRequest, check_arguments, parse_groups, parse_request
from trninv.placement.candidates.placement_model import LegalSets, PlacementModel, format_shape, read_legal_sets
from trninv.placement.candidates.replicas import Constraints, ReplicaSearch, SpreadLevel
from trninv.placement.candidates.reserved_chips import with_reservations
from trninv.placement.candidates.results import (
    FilterStep,
    Placement,
    ReplicaRequest,
    SearchResult,
    abbreviate_places,
    place_in_domains,
    place_on_domains,
)
from trninv.rendered_text import Rendered, RenderedTable
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer, CitedFact
from trninv.routing.picture import Highlight, domain_of
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.questions.memory_placement import MAX_MEMORY
from trninv.routing.snapshot import Snapshot
from trninv.solvers.torus_blocks import BlockLimits
from trninv.topology.clos import TIERS
from trninv.units import Bandwidth, Capacity, pluralize

MAX_PLACEMENTS = 100
"""The most placements in one answer."""
MAX_CHIPS, MAX_SERVERS = 1_000_000_000, 1_000_000
"""Limits of the arguments, above what any fleet has."""
MAX_SPARES = 20
"""The most spares of each job."""

_MAX_GROUPS = 40
"""The most groups in a table."""

RESERVATIONS = "The first reservations of chips of the scope that keep the job from them, with their times."
FROM = Argument(
    "When the job starts: a time, or a duration from now, such as 1h; by default now. A time up to an hour ago is now, "
    "an earlier one is refused.",
    name="from",
    option="--from",
    metavar="TIME",
)
UNTIL = Argument(
    "When it ends at the latest: a time, or a duration such as 12h; without it, chips reserved for later do not fit.",
    metavar="TIME",
)
OWN_RESERVATION = Argument("Reservation whose chips the job may have.", metavar="NAME")
"""Parameters and a field of questions that heed reservations."""

# Parts of the answer's definition, which says in what order places are considered.
_FREE_CHIPS = "free chips are up or degraded, not allocated, and not in a cordoned server; "
_ORDER = "every position is considered, in the order of "
_GROUPS = (
    "a group is in one unit: the smallest of server, domain, network node of tier 3 and of tier 2 that is large "
    "enough; the smallest groups are legal sets, whose limits are shown, with every link up; the job is in the "
    "smallest unit that fits all its groups, then in few domains, the fullest first; groups with a degraded part are "
    "used last; no other choice would place groups where this one finds none"
)
_GROUP_ARGUMENTS = (
    "--group divides --chips: name them, and of the other conditions only --healthy, --avoid, --tier, "
    "--min-all-gather, --min-bisection, --from, --until and --reservation"
)
_BANDWIDTH_ORDER = "most all-gather bandwidth per chip, then most bisection bandwidth of the place, one direction"
_FRAGMENTATION_ORDER = (
    "least fragmentation (chips of the free legal sets that it uses or splits, averaged over all sizes above 1), then "
    "fewest free chips left in the domain"
)
_POLICY_ORDER = {
    PlacementPolicy.QUALITY: f"{_BANDWIDTH_ORDER}, then {_FRAGMENTATION_ORDER}",
    PlacementPolicy.PACK: f"{_FRAGMENTATION_ORDER}, then {_BANDWIDTH_ORDER}",
    PlacementPolicy.SPREAD: f"fewest chips in one rack, then {_BANDWIDTH_ORDER}, then {_FRAGMENTATION_ORDER}",
    PlacementPolicy.SLURM: "fewest overlapped free sets of the next larger size, then fewest free chips left",
}
_TIE_ORDER = ", then fewest unhealthy parts in the domain, then address; places with a degraded part come last"
_REPLICAS = (
    "; copies are placed one after the other, each in the best place that leaves room for the rest and all spares; "
    "spare servers of a job of servers in one rack are in that rack"
)
_GANG = "; several domains are below the lowest fabric tier that joins them, on the fewest tier-3 nodes"
_GANG_SPREAD = "; of several domains as few as possible are below one network node of tier 3"


@dataclass(frozen=True, kw_only=True)
class PlacementsAnswer(Answer):
    """Places where a job fits, best first, or the reason why there are none."""

    scope: Annotated[AddressText, "The scope."]
    request: Annotated[str, "The request in words."]
    chips: Annotated[int, "Chips of the job."]
    copies: Annotated[int, "Number of such jobs at once."]
    placements: Annotated[
        tuple[Placement, ...], "Best places first; of several copies, one place for each, all free at once."
    ]
    positions: Annotated[
        int, "Positions in domains where the job fits; for several domains, the number of free domains."
    ]
    domains: Annotated[int, "Domains with such a position."]
    free: Annotated[int, "Free chips of the scope."]
    filter_steps: Annotated[
        tuple[FilterStep, ...], "For each condition, the number of domains that meet it and all conditions before it."
    ]
    reason: Annotated[str | None, "The first condition that no domain meets; null if the job fits."]
    reservations: Annotated[tuple[str, ...], RESERVATIONS]
    suggested_shape: Annotated[str | None, "A shape with as many chips and higher limits, and where it fits."]

    def is_satisfied(self) -> bool:
        return bool(self.placements)

    def picture_arguments(self) -> dict[str, Any]:
        places = self.placements[0].places if self.placements else ()
        caption = next(block for block in self.render() if isinstance(block, str))
        highlight = Highlight(nodes=places, caption=caption)
        return {"scope": domain_of(places) or self.scope, "jobs": True, "highlight": highlight}

    def _job_text(self) -> str:
        """Return the request in words, with its chips and copies."""
        chips = pluralize(self.chips, "chip")
        job = chips if self.request == chips else f"{self.request} ({chips})"
        return job if self.copies == 1 else f"{self.copies:,} copies of {job}"

    def render(self) -> Rendered:
        if self.reason:
            yield f"no place for {self._job_text()} in {self.scope}: {self.reason}"
            yield RenderedTable(
                ["a domain that", "domains"], ([step.condition, f"{step.domains:,}"] for step in self.filter_steps)
            )
            yield from render_reservations(self.reservations)
            return
        where = f"{pluralize(self.domains, 'domain')} of {self.scope}"
        yield f"{self._job_text()}: {pluralize(self.positions, 'position')} in {where}"
        yield RenderedTable(
            ["place", "all-gather", "bisection", "fragments", "free left"],
            (
                [
                    _format_placement(placement),
                    placement.all_gather,
                    placement.bisection,
                    f"{placement.fragmentation_cost:,.4g}",
                    placement.remaining_free,
                ]
                for placement in self.placements
            ),
        )
        if groups := self.placements[0].groups:
            yield RenderedTable(
                ["group", "chips", "places"],
                (["·" * group.level, group.chips, abbreviate_places(group.places)] for group in groups[:_MAX_GROUPS]),
            )
            if (more := len(groups) - _MAX_GROUPS) > 0:
                yield f"{more:,} more groups (--format json lists all)"
        if self.suggested_shape:
            yield f"better: {self.suggested_shape}"
        yield from render_reservations(self.reservations)

    def value_lines(self) -> Sequence[object]:
        return [place for placement in self.placements[: self.copies] for place in placement.places]


def _format_placement(placement: Placement) -> str:
    """Format a placement: addresses, with chips grouped by server, and notes in parentheses."""
    spares = f"spares {abbreviate_places(placement.spares)}" if placement.spares else None
    notes = [
        placement.shape,
        "degraded" if placement.degraded else None,
        f"tier {placement.tier}" if placement.tier else None,
        spares,
    ]
    return " ".join([abbreviate_places(placement.places), *(f"({note})" for note in notes if note)])


@question(
    cost=ROUTED_COST,
    command="place",
    examples=(
        "place u-trn2x64 4x4x1",
        "place u-trn2x64 --chips 32",
        "place rainier --chips 96 --group 48 --group 16",
        'place rainier --memory "50,000 GiB" -k 1',
    ),
    has_baseline=False,
    reads_clock=True,
)
def placements(
    snapshot: Snapshot,
    scope: Annotated[str, Argument("Chip, server, rack, domain or cluster to search.", metavar="SCOPE")],
    shape: Annotated[
        FreeText | None, Argument("Box of a torus, rows × columns × servers, in any rotation.", positional=True)
    ] = None,
    chips: Annotated[int | None, Argument("Number of chips, in a legal set", minimum=1, maximum=MAX_CHIPS)] = None,
    memory: Annotated[
        Capacity | None, Argument("Amount of device memory.", minimum=1, maximum=MAX_MEMORY, metavar="MEMORY")
    ] = None,
    servers: Annotated[int | None, Argument("Number of whole servers", minimum=1, maximum=MAX_SERVERS)] = None,
    domains: Annotated[int | None, Argument("Number of whole domains", minimum=1, maximum=MAX_SERVERS)] = None,
    group: Annotated[
        tuple[int, ...],
        Argument(
            "Size of groups of the --chips, the largest first; each group is in one server, domain or network node",
            minimum=1,
            maximum=MAX_CHIPS,
            option="--group",
            metavar="CHIPS",
        ),
    ] = (),
    k: Annotated[int, Argument("Number of places to list", minimum=1, maximum=MAX_PLACEMENTS, option="-k")] = 3,
    any_block: Annotated[bool, Argument("Accept any box of a torus, even if no scheduler grants it.")] = False,
    as_written: Annotated[bool, Argument("Do not rotate the shape.")] = False,
    healthy: Annotated[bool, Argument("Only places without degraded parts.")] = False,
    avoid: Annotated[
        tuple[str, ...], Argument("Place whose chips must not be used.", metavar="ADDRESS", is_avoided=True)
    ] = (),
    min_all_gather: Annotated[Bandwidth | None, Argument("Least all-gather limit.", metavar="BANDWIDTH")] = None,
    min_bisection: Annotated[Bandwidth | None, Argument("Least bisection bandwidth.", metavar="BANDWIDTH")] = None,
    policy: Annotated[PlacementPolicy, Argument("Order of the places.")] = PlacementPolicy.QUALITY,
    rack: Annotated[bool, Argument("Keep each job in one rack.")] = False,
    tier: Annotated[
        int | None,
        Argument(
            "Keep all domains of a job below one network node of this tier; 3 is the nearest", minimum=1, maximum=TIERS
        ),
    ] = None,
    copies: Annotated[
        int, Argument("Number of identical jobs to place at once", minimum=1, maximum=MAX_PLACEMENTS)
    ] = 1,
    spread: Annotated[SpreadLevel, Argument("What copies and spares must not share.")] = SpreadLevel.CHIP,
    spares: Annotated[int, Argument("Number of spares for each job", maximum=MAX_SPARES)] = 0,
    from_: Annotated[FreeText | None, FROM] = None,
    until: Annotated[FreeText | None, UNTIL] = None,
    reservation: Annotated[FreeText | None, OWN_RESERVATION] = None,
) -> PlacementsAnswer:
    """Find where a job fits among free chips, best places first, or explain why it fits nowhere.

    All links inside a shape must be up. Chips are placed in legal sets, which schedulers can give to one job, unless
    you accept any box. A spare is as large as what it can replace: a whole domain for a job of several domains, a
    server in the same rack where any servers of a rack form a set, or else a set as large as the job's.
    """
    if group:
        others = shape, memory, servers, domains, any_block, as_written, rack, spares, copies - 1
        if chips is None or any(others) or policy is not PlacementPolicy.QUALITY or spread is not SpreadLevel.CHIP:
            raise InvalidArgumentError(_GROUP_ARGUMENTS)
    sizes = {"chips": chips, "memory": memory, "servers": servers, "domains": domains}
    check_arguments("trninv place {scope} {shape}", scope, shape, **sizes)
    connection = snapshot.connection
    window = parse_window(from_, until, current_time(connection))
    if reservation is not None:
        find_reservation(connection, reservation, current_time(connection))  # refuses an unknown name
    capacity = with_reservations(snapshot, read_capacity(snapshot, scope, avoid), window, reservation)
    model = capacity.model
    legal_sets = snapshot.cached(("legal", model.slug), lambda: read_legal_sets(snapshot.connection, model))
    request = (
        parse_groups(chips, group)
        if chips and group
        else parse_request(
            model,
            legal_sets,
            shape=shape,
            chips=chips,
            memory=memory,
            servers=servers,
            domains=domains,
            max_domains=len(capacity.ordinals),
            any_block=any_block,
            no_rotate=as_written,
        )
    )
    min_limits = BlockLimits(int(min_all_gather or 0), int(min_bisection or 0))
    constraints = Constraints(min_limits, healthy, rack, policy, bool(avoid))
    replica_request = ReplicaRequest(copies, spares, spread, tier or 1)
    if group:
        result = place_groups(capacity, legal_sets, request.chips, group, constraints, replica_request.tier)
    else:
        place = place_on_domains if request.domains else place_in_domains
        result = place(capacity, legal_sets, request, constraints, replica_request, k)
    gang_order = (_GANG_SPREAD if policy is PlacementPolicy.SPREAD else _GANG) if request.domains else ""
    return PlacementsAnswer(
        scope=scope.strip(),
        request=request.description,
        chips=request.chips,
        copies=copies,
        placements=result.placements,
        positions=result.positions,
        domains=result.domains,
        free=count_chips(capacity.free),
        filter_steps=result.filter_steps,
        reason=None if result.placements else _first_failed_condition(result),
        reservations=()
        if not capacity.only_reserved.any()
        else list_reservations(connection, resolve_place(connection, scope), window, reservation),
        suggested_shape=_suggest_shape(capacity, legal_sets, request, constraints, result)
        if request.shapes and result.placements
        else None,
        truncated=copies == 1 and result.positions > len(result.placements) and not (request.domains or group),
        definition=f"{_FREE_CHIPS}{_GROUPS if group else _ORDER + _POLICY_ORDER[policy] + _TIE_ORDER}{gang_order}"
        f"{_REPLICAS if copies > 1 or spares else ''}"
        f"{'' if capacity.reserved is None else reservation_definition(window)}",
        facts=_facts(snapshot, model, request),
    )


def _first_failed_condition(result: SearchResult) -> str | None:
    """Return the first condition that no domain meets, with the best limits if these are too low."""
    condition = next((step.condition for step in result.filter_steps if not step.domains), None)
    best = f"; the best place has {_format_limits(result.best)}" if result.best else ""
    return f"no domain {condition}{best}" if condition else result.shortfall


def _format_limits(limits: BlockLimits) -> str:
    return f"all-gather {Bandwidth(limits.all_gather)}, bisection {Bandwidth(limits.bisection)}"


def _suggest_shape(
    capacity: FreeCapacity, legal_sets: LegalSets, request: JobRequest, constraints: Constraints, result: SearchResult
) -> str | None:
    """Return the shape of the same size with the highest limits, and where it fits; None if it is no better."""
    torus = capacity.model.torus
    if torus is None:
        return None
    shapes = [shape for shape in torus.shapes if prod(shape) == request.chips]
    limits = {shape: capacity.model.limits(torus.blocks(shape)[0].mask) for shape in shapes}
    best = max(shapes, key=lambda shape: (limits[shape].all_gather, limits[shape].bisection))
    placed_limits = (int(result.placements[0].all_gather), int(result.placements[0].bisection))
    if (limits[best].all_gather, limits[best].bisection) <= placed_limits:
        return None
    masks = tuple(block.mask for shape in shapes if limits[shape] == limits[best] for block in torus.blocks(shape))
    search = ReplicaSearch(capacity, legal_sets, masks, constraints)
    candidate = next(iter(search.search.best(search.matches, 1, PlacementPolicy.QUALITY)), None)
    if candidate and (candidate.limits.all_gather, candidate.limits.bisection) > placed_limits:
        places = abbreviate_places(capacity.addresses_of(candidate.row, candidate.mask))
        return f"{format_shape(best)}: {_format_limits(candidate.limits)}; it fits at {places}"
    nowhere = "it fits only with a degraded part now" if candidate else "it fits nowhere now"
    return f"{format_shape(best)}: {_format_limits(limits[best])}; {nowhere}"


def _facts(snapshot: Snapshot, model: PlacementModel, request: JobRequest) -> tuple[CitedFact, ...]:
    """Return the facts that the answer depends on: bandwidths, legal sets and, for whole domains, the fabric."""
    links = evidence.cite_links(
        snapshot, {model.domain_model.links[link.role].slug for link in model.domain_model.blueprint.scale_up_links}
    )
    facts = links + evidence.cite(
        snapshot, sorted({model.domain_model.server.slug, model.slug}), ["chip_sets", "server_sets"]
    )
    return facts + (evidence.cite_fabric_above(snapshot, {model.slug}, is_observed=False) if request.domains else ())
