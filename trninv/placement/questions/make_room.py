"""Answer which jobs to move, and where, so that a new job fits.

`trninv.placement.moves.planner` plans the moves; this module declares the question and its answer.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from trninv.database.as_of import current_time
from trninv.inventory.address.lookup import only_cluster, resolve_place
from trninv.inventory.parameter import Argument, FreeText
from trninv.placement.allocations.allocation_masks import JobAllocation, read_allocations
from trninv.placement.allocations.plan_revision import plan_revision
from trninv.placement.allocations.reservations import (
    find_reservation,
    list_reservations,
    parse_window,
    render_reservations,
    reservation_definition,
)
from trninv.placement.candidates.free_capacity import FreeCapacity, count_chips, read_cluster_capacity
from trninv.placement.candidates.job_request import JobRequest, check_arguments, is_shape, parse_request
from trninv.placement.candidates.placement_model import LegalSets, read_legal_sets
from trninv.placement.candidates.reserved_chips import reserved_from_now, with_reservations
from trninv.placement.candidates.results import abbreviate_places
from trninv.placement.moves.planner import MovePlan, MovePlanner, PlannedMove, pinned_jobs
from trninv.placement.questions.placements import MAX_CHIPS, MAX_SERVERS, OWN_RESERVATION, RESERVATIONS, UNTIL
from trninv.rendered_text import Rendered, RenderedTable
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.snapshot import Snapshot
from trninv.solvers.torus_blocks import MaskRows, unpack_masks
from trninv.units import pluralize

_DEFINITION = (
    "fewest jobs that move, then fewest chips, then no degraded parts; a moved job keeps its size and its "
    "all-gather bandwidth, gets a legal set if it has one, and gets no degraded parts; pinned jobs, jobs of several "
    "domains, jobs with spares and jobs whose chips are neither a legal set nor a box do not move. Jobs move to chips "
    "of the scope that are free when their turn comes; within one domain every arrangement is considered, across "
    "domains a job moves only once"
)


@dataclass(frozen=True, slots=True)
class JobMove:
    """A move of one job."""

    job: Annotated[str, "Name of the job, or SYSTEM:ID if another system runs it."]
    chips: Annotated[int, "Number of its chips."]
    source: Annotated[tuple[AddressText, ...], "Domains, servers or chips that it leaves."]
    destination: Annotated[tuple[AddressText, ...], "Domains, servers or chips that it gets; free when its turn comes."]
    must_stop: Annotated[bool, "Whether it must stop before the first move because moves form a cycle."]
    obstacle: Annotated[
        str | None, "Why moveJobs refuses the plan because of it, and what to do first; null if it does not."
    ] = None

    @classmethod
    def from_plan(cls, capacity: FreeCapacity, move: PlannedMove) -> "JobMove":
        """Create a move with addresses from the planner's move, which has rows and masks."""
        return cls(
            job=move.allocation.name,
            chips=move.mask.bit_count(),
            source=capacity.addresses_of(move.row, move.mask),
            destination=capacity.addresses_of(move.target_row, move.target_mask),
            must_stop=move.must_stop,
            obstacle=move.allocation.obstacle,
        )


def first_obstacle(moves: Iterable[JobMove]) -> str | None:
    """Return why a plan's moves can't be carried out yet; None if they can."""
    return next(filter(None, (move.obstacle for move in moves)), None)


def render_revision(moves: Iterable[JobMove], revision: str) -> Iterator[str]:
    """Yield what a plan that moves jobs is valid for, and why it can't be carried out, if so."""
    yield f"revision {revision}"
    if obstacle := first_obstacle(moves):
        yield f"jobs move all or none: {obstacle}"


def render_moves(moves: Iterable[JobMove]) -> RenderedTable:
    """Return a table of the moves, in order."""
    cells = (
        [
            move.job,
            move.chips,
            abbreviate_places(move.source),
            abbreviate_places(move.destination),
            "yes" if move.must_stop else "no",
        ]
        for move in moves
    )
    return RenderedTable(["job", "chips", "from", "to", "stop first"], cells)


@dataclass(frozen=True, kw_only=True)
class MakeRoomAnswer(Answer):
    """Plan of moves that frees the requested chips, and whether fewer moves are possible."""

    scope: Annotated[AddressText, "The scope."]
    request: Annotated[str, "The request in words."]
    chips: Annotated[int, "Chips of the request."]
    possible: Annotated[bool | None, "Whether there is a plan; null if none was found but one may exist."]
    places: Annotated[tuple[AddressText, ...], "Domains, servers or chips that become free, or already are."]
    degraded: Annotated[bool, "Whether a part of these places is degraded."]
    moves: Annotated[tuple[JobMove, ...], "Moves in an order in which each destination is free in time."]
    moved_chips: Annotated[int, "Chips of the moved jobs."]
    lower_bound_moves: Annotated[int | None, "Proven lower bound of moves; null if no plan is possible."]
    cordoned_servers: Annotated[
        tuple[AddressText, ...], "Cordoned servers that would allow a plan, or one with fewer moves, if uncordoned."
    ]
    reservations: Annotated[tuple[str, ...], RESERVATIONS]
    revision: Annotated[
        str, "Revision of the allocations, cordons, reservations and states that the plan is valid for."
    ]

    @property
    def exact(self) -> bool:
        """Whether no plan moves fewer jobs, or none is possible at all."""
        return self.possible is False or (bool(self.possible) and len(self.moves) == self.lower_bound_moves)

    def is_satisfied(self) -> bool:
        return bool(self.possible)

    def render(self) -> Rendered:
        description = f"room for {self.request} in {self.scope}"
        if not self.possible:
            yield f"no {description}: " + (
                f"no moves within {self.scope} can free it"
                if self.lower_bound_moves is None
                else f"no plan was found; at least {pluralize(self.lower_bound_moves, 'job')} must move"
            )
            yield from self._render_cordoned()
            yield from render_reservations(self.reservations)
            return
        if not self.moves:
            yield f"{description} is already free: {self._format_places()}"
            return
        proof = "the fewest possible" if self.exact else f"at least {self.lower_bound_moves} must move"
        verb = "is" if len(self.places) == 1 else "are"
        moved = f"{pluralize(len(self.moves), 'job')} of {pluralize(self.moved_chips, 'chip')}"
        yield f"{description}: move {moved} ({proof}), then {self._format_places()} {verb} free"
        yield render_moves(self.moves)
        yield from self._render_cordoned()
        yield from render_reservations(self.reservations)
        yield from render_revision(self.moves, self.revision)

    def _format_places(self) -> str:
        return abbreviate_places(self.places) + (" (degraded)" if self.degraded else "")

    def _render_cordoned(self) -> Iterator[str]:
        if self.cordoned_servers:
            effect = "fewer moves would do" if self.possible else "there would be a plan"
            yield f"cordoned: {abbreviate_places(self.cordoned_servers)}; {effect} without the cordon (trninv uncordon)"


@question(
    cost=ROUTED_COST,
    examples=("make-room 4x4x1 u-trn2x64", "make-room u-trn2x64 --domains 1"),
    has_baseline=False,
    reads_clock=True,
)
def make_room(
    snapshot: Snapshot,
    shape: Annotated[
        FreeText | None,
        Argument("Box of a torus, rows × columns × servers, in any rotation.", positional=True),
    ] = None,
    scope: Annotated[
        str | None,
        Argument(
            "Chip, server, rack, domain or cluster; by default the only cluster.",
            positional=True,
            metavar="SCOPE",
        ),
    ] = None,
    chips: Annotated[int | None, Argument("Number of chips, in a legal set", minimum=1, maximum=MAX_CHIPS)] = None,
    servers: Annotated[int | None, Argument("Number of whole servers", minimum=1, maximum=MAX_SERVERS)] = None,
    domains: Annotated[int | None, Argument("Number of whole domains", minimum=1, maximum=MAX_SERVERS)] = None,
    pinned: Annotated[tuple[FreeText, ...], Argument("Job that must not move.", metavar="JOB")] = (),
    until: Annotated[FreeText | None, UNTIL] = None,
    reservation: Annotated[FreeText | None, OWN_RESERVATION] = None,
) -> MakeRoomAnswer:
    """Plan the fewest moves of jobs that make room for a new one, in an order that works.

    A plan changes nothing until you carry it out. Omit the shape if you use --chips, --servers or --domains.
    """
    if scope is None and shape is not None and not is_shape(shape):
        scope, shape = shape, None  # "make-room SCOPE --chips N": the only positional argument is the scope
    check_arguments("trninv make-room {shape} {scope}", scope, shape, chips=chips, servers=servers, domains=domains)
    address = only_cluster(snapshot.connection) if scope is None else scope.strip()
    now = current_time(snapshot.connection)
    if reservation is not None:
        find_reservation(snapshot.connection, reservation, now)  # refuses an unknown name
    window = parse_window(None, until, now)
    capacity = with_reservations(snapshot, read_cluster_capacity(snapshot, address), window, reservation)
    model = capacity.model
    legal_sets = snapshot.cached(("legal", model.slug), lambda: read_legal_sets(snapshot.connection, model))
    request = parse_request(
        model,
        legal_sets,
        shape=shape,
        chips=chips,
        memory=None,
        servers=servers,
        domains=domains,
        max_domains=int(np.count_nonzero(capacity.in_scope.any(axis=1))),
        any_block=None,
        no_rotate=False,
    )
    place = resolve_place(snapshot.connection, address)
    cluster = place.cluster_id
    allocations = read_allocations(snapshot, capacity)
    immovable = pinned_jobs(allocations, pinned)
    reserved = reserved_from_now(snapshot, capacity, None)
    plan = MovePlanner(capacity, legal_sets, allocations, immovable, reserved).plan_request(request)
    targets, moves = (plan.targets, plan.moves) if plan else ((), ())
    return MakeRoomAnswer(
        scope=address,
        request=request.description,
        chips=request.chips,
        possible=None if plan and not targets else plan is not None,
        places=tuple(place for row, mask in targets for place in capacity.addresses_of(row, mask)),
        degraded=any(capacity.is_degraded(row, mask) for row, mask in targets),
        moves=tuple(JobMove.from_plan(capacity, move) for move in moves),
        moved_chips=sum(move.mask.bit_count() for move in moves),
        lower_bound_moves=plan.lower_bound if plan else None,
        cordoned_servers=_useful_cordoned_servers(
            capacity, legal_sets, allocations, immovable, request, plan, reserved
        ),
        reservations=()
        if capacity.reserved is None
        else list_reservations(snapshot.connection, place, window, reservation),
        revision=plan_revision(snapshot.connection, cluster),
        definition=_DEFINITION + ("" if capacity.reserved is None else reservation_definition(window)),
        facts=evidence.cite(
            snapshot, sorted({model.domain_model.server.slug, model.slug}), ["chip_sets", "server_sets"]
        ),
    )


def _useful_cordoned_servers(
    capacity: FreeCapacity,
    legal_sets: LegalSets,
    allocations: Sequence[JobAllocation],
    immovable: Collection[int],
    request: JobRequest,
    plan: MovePlan | None,
    reserved: MaskRows | None,
) -> tuple[str, ...]:
    """Return the cordoned servers that would allow a plan, or one with fewer moves, if no server were cordoned."""
    if not count_chips(capacity.cordoned & capacity.usable) or (plan and plan.targets and not plan.moves):
        return ()  # nothing to uncordon, or the chips are free already
    uncordoned = replace(capacity, cordoned=np.zeros_like(capacity.cordoned))
    best = MovePlanner(uncordoned, legal_sets, allocations, immovable, reserved).plan_request(request)
    if best is None or not best.targets or (plan and plan.targets and len(plan.moves) <= len(best.moves)):
        return ()
    used = [*best.targets, *((move.target_row, move.target_mask) for move in best.moves)]
    cordoned = unpack_masks(capacity.cordoned)
    on_cordoned = ((row, mask & cordoned[row]) for row, mask in used)
    return tuple(dict.fromkeys(server for row, mask in on_cordoned for server in capacity.server_addresses(row, mask)))
