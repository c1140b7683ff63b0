"""Answer which new servers replace those that a job has lost, so that it keeps its shape and bandwidth.

`trninv.placement.moves.replacement` plans them; this module declares the question and its answer.
"""

import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from sqlalchemy import select

from trninv.database.as_of import current_time
from trninv.database.tables import TABLES
from trninv.errors import InvalidArgumentError
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.parameter import Argument, FreeText
from trninv.placement.allocations.allocation_masks import JobAllocation, read_allocations
from trninv.placement.allocations.job_allocations import find_live_job, read_job, split_job_name, unknown_job_error
from trninv.placement.allocations.plan_revision import plan_revision
from trninv.placement.allocations.reservations import Window, list_reservations, render_reservations
from trninv.placement.allocations.server_cordons import resolve_servers
from trninv.placement.candidates.free_blocks import max_free_block
from trninv.placement.candidates.free_capacity import FreeCapacity, read_group_capacity
from trninv.placement.candidates.gangs import common_tier
from trninv.placement.candidates.placement_model import PlacementModel, read_legal_sets
from trninv.placement.candidates.reserved_chips import with_reservations
from trninv.placement.candidates.results import abbreviate_places
from trninv.placement.moves.replacement import ReplacedPart, plan_replacement
from trninv.rendered_text import Rendered, RenderedTable
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.snapshot import Snapshot
from trninv.solvers.torus_blocks import pack_masks, unpack_masks
from trninv.units import Bandwidth, format_timestamp, pluralize

_JOB = TABLES["job"]
_MAX_COMMANDS: Final = 3
"""The most lost servers for which a text names a command."""
_DEFINITION = (
    "fewest servers in which the job had no chip, one that chips of two domains move to counted twice, then the lowest "
    "tier of the fabric that joins its domains, then fewest new chips; in each domain with a lost server, the job's "
    "chips move to a set of the same size, legal if theirs is, else a box, that is free, has every link up and at "
    "least their all-gather and bisection limits without failures; its spares and the chips that it keeps count as "
    "free, and its chips in other domains stay"
)


@dataclass(frozen=True, slots=True)
class ReplacedChips:
    """The chips of a job in one domain, and those that it gets instead."""

    source: Annotated[tuple[AddressText, ...], "Its domain, servers or chips before."]
    destination: Annotated[tuple[AddressText, ...], "Its domain, servers or chips after."]
    new_servers: Annotated[tuple[AddressText, ...], "Servers after in which the job had no chip."]
    new_chips: Annotated[int, "Chips after that the job did not have."]
    all_gather: Annotated[Bandwidth, "All-gather limit before the loss, per chip, one direction."]
    all_gather_after: Annotated[Bandwidth, "All-gather limit after."]
    bisection: Annotated[Bandwidth, "Bisection bandwidth before the loss, one direction."]
    bisection_after: Annotated[Bandwidth, "Bisection bandwidth after."]


@dataclass(frozen=True, kw_only=True)
class ReplacementAnswer(Answer):
    """New servers for those that a job has lost, and what they cost."""

    job: Annotated[str, "Name of the job."]
    lost: Annotated[tuple[AddressText, ...], "The lost servers."]
    lost_chips: Annotated[int, "Chips of the job on them, without spares."]
    failed_chips: Annotated[int, "Those of them that are down or in maintenance."]
    possible: Annotated[bool, "Whether the job can keep its shape and bandwidth."]
    parts: Annotated[tuple[ReplacedChips, ...], "What changes, by domain."]
    new_servers: Annotated[int, "Number of new servers."]
    lower_bound_new_servers: Annotated[int | None, "Proven lower bound of new servers; null if no plan is possible."]
    new_chips: Annotated[int, "Number of chips that the job gets."]
    is_best: Annotated[
        bool,
        "Whether it is proven that no plan has fewer new servers or, with as many, a lower tier or, at the same tier, "
        "fewer new chips.",
    ]
    tier: Annotated[int | None, "Lowest fabric tier that joins the job's domains before; null within one domain."]
    tier_after: Annotated[int | None, "Lowest fabric tier that joins its domains after; null within one domain."]
    largest_block: Annotated[int, "Chips of the largest free block of the cluster before."]
    largest_block_after: Annotated[int, "Chips of the largest free block after, without the lost servers."]
    reservations: Annotated[
        tuple[str, ...],
        "If no plan is possible, the first reservations of chips of the cluster for a time before the job's end.",
    ]
    revision: Annotated[
        str, "Revision of the allocations, cordons, reservations and states that the plan is valid for."
    ]

    def is_satisfied(self) -> bool:
        return self.possible

    def render(self) -> Rendered:
        failed = f", {self.failed_chips:,} failed" if self.failed_chips else ""
        loss = f"{self.job} gives up {abbreviate_places(self.lost)} ({pluralize(self.lost_chips, 'chip')}{failed})"
        if not self.possible:
            yield f"{loss}: nothing free keeps its shape and bandwidth"
            yield from render_reservations(self.reservations)
            commands = (shlex.join(["trninv", "drain-impact", place]) for place in self.lost[:_MAX_COMMANDS])
            yield f"with moves of other jobs: {'; '.join(commands)}{'; …' if len(self.lost) > _MAX_COMMANDS else ''}"
            return
        is_exact = self.new_servers == self.lower_bound_new_servers
        proof = "the fewest possible" if is_exact else f"at least {self.lower_bound_new_servers} are needed"
        proof_of_chips = "the fewest possible" if self.is_best else "perhaps not the fewest"
        cost = f"{pluralize(self.new_servers, 'new server')} ({proof}), {pluralize(self.new_chips, 'new chip')}"
        yield f"{loss}: {cost} ({proof_of_chips})"
        if self.tier and self.tier_after:
            yield f"its domains are below one network node of tier {self.tier}, and of tier {self.tier_after} after"
        yield RenderedTable(
            ["from", "to", "new servers", "all-gather", "after"],
            (
                [
                    *map(abbreviate_places, (part.source, part.destination, part.new_servers)),
                    part.all_gather,
                    part.all_gather_after,
                ]
                for part in self.parts
            ),
        )
        yield f"largest free block: {pluralize(self.largest_block, 'chip')}, {self.largest_block_after} after"
        yield f"revision {self.revision}"


@question(
    cost=ROUTED_COST,
    command="replace",
    examples=("replace train-70b --lost u-trn2x64/d0/s1",),
    has_baseline=False,
    reads_clock=True,
)
def replacement(
    snapshot: Snapshot,
    job: Annotated[FreeText, Argument("Job that lost servers; SYSTEM:ID if another system runs it.", metavar="JOB")],
    lost: Annotated[
        tuple[str, ...],
        Argument(
            "Lost server, or a rack or domain for all its servers; by default those with a chip of the job that is "
            "down or in maintenance.",
            metavar="SERVER",
            option="--lost",
        ),
    ] = (),
) -> ReplacementAnswer:
    """Plan the fewest new servers with which a job that lost servers keeps its shape and bandwidth.

    The plan changes nothing until you carry it out.
    """
    connection = snapshot.connection
    key = find_live_job(connection, *split_job_name(job))
    if key is None:
        raise unknown_job_error(connection, job)
    row = connection.execute(select(_JOB).where(_JOB.c.id == key)).one()
    holder = read_job(connection, key)
    capacity = read_group_capacity(snapshot, str(holder.first_server))
    window = Window.of_job(format_timestamp(current_time(connection)), row.until_at)
    capacity = with_reservations(snapshot, capacity, window)
    model = capacity.model
    legal_sets = snapshot.cached(("legal", model.slug), lambda: read_legal_sets(connection, model))
    allocation = next(item for item in read_allocations(snapshot, capacity) if item.key == key)
    failed = _failed_chips(capacity, allocation)
    masks = _lost_masks(snapshot, lost, row.cluster_id, capacity) if lost else _servers_of(model, failed)
    if not masks:
        raise InvalidArgumentError(f"no chip of job {job} is down or in maintenance; name the lost servers (--lost)")
    lost_chips = sum((mask & masks.get(domain, 0)).bit_count() for domain, mask in allocation.work.items())
    if not lost_chips:
        raise InvalidArgumentError(f"job {job} works on no chip of the lost servers; name its servers (trninv jobs)")
    plan = plan_replacement(capacity, legal_sets, allocation, masks)
    parts = plan.parts if plan else ()
    staying = allocation.work.keys() - {part.row for part in parts}
    rows_after = {*staying, *(part.target_row for part in parts)}
    replaced = tuple(_replaced_chips(capacity, allocation, masks, part) for part in parts)
    return ReplacementAnswer(
        job=allocation.name,
        lost=tuple(
            address for domain, mask in sorted(masks.items()) for address in capacity.server_addresses(domain, mask)
        ),
        lost_chips=lost_chips,
        failed_chips=sum((mask & masks.get(row, 0)).bit_count() for row, mask in failed.items()),
        possible=plan is not None,
        parts=replaced,
        new_servers=plan.new_servers if plan else 0,
        lower_bound_new_servers=plan.lower_bound if plan else None,
        new_chips=sum(part.new_chips for part in replaced),
        is_best=plan.is_best if plan else True,
        tier=_tier(model, allocation.work),
        tier_after=_tier(model, rows_after) if plan else None,
        largest_block=max_free_block(capacity, legal_sets),
        largest_block_after=max_free_block(_capacity_after(capacity, parts, masks), legal_sets),
        reservations=() if plan else list_reservations(connection, resolve_place(connection, holder.cluster), window),
        revision=plan_revision(connection, row.cluster_id),
        definition=_DEFINITION,
        facts=evidence.cite(
            snapshot, sorted({model.domain_model.server.slug, model.slug}), ["chip_sets", "server_sets"]
        ),
    )


def _lost_masks(snapshot: Snapshot, lost: Iterable[str], cluster: int, capacity: FreeCapacity) -> dict[int, int]:
    """Return the masks of the lost servers, by row; those in domains of another model are skipped."""
    addresses = list(lost)
    if any(resolve_place(snapshot.connection, address).cluster_id != cluster for address in addresses):
        raise InvalidArgumentError("a lost server is in another cluster than the job; name servers of its cluster")
    server, domain = TABLES["server"], TABLES["domain"]
    query = select(domain.c.ordinal, server.c.ordinal).join(domain, domain.c.id == server.c.domain_id)
    masks, rows = dict[int, int](), capacity.group.rows_by_ordinal()
    for ordinal, number in snapshot.connection.execute(
        query.where(server.c.id.in_(resolve_servers(snapshot.connection, addresses)))
    ):
        if (row := rows.get(ordinal)) is not None:
            masks[row] = masks.get(row, 0) | capacity.model.server_masks[number]
    return masks


def _failed_chips(capacity: FreeCapacity, job: JobAllocation) -> dict[int, int]:
    """Return the masks of the chips that a job works on and that are not up, by row."""
    failed = {row: mask & ~unpack_masks(capacity.up[[row]])[0] for row, mask in job.work.items()}
    return {row: mask for row, mask in failed.items() if mask}


def _servers_of(model: PlacementModel, chips: Mapping[int, int]) -> dict[int, int]:
    """Return the masks of the servers with some chips, by row."""
    return {row: sum(server for server in model.server_masks if server & mask) for row, mask in chips.items()}


def _tier(model: PlacementModel, rows: Collection[int]) -> int | None:
    """Return the lowest tier of the fabric that joins several domains."""
    return common_tier(model, rows) if len(rows) > 1 else None


def _own_chips(job: JobAllocation, lost: dict[int, int], row: int) -> int:
    """Return the chips that a job has in a domain, without lost ones."""
    return (job.work.get(row, 0) | job.spare.get(row, 0)) & ~lost.get(row, 0)


def _replaced_chips(
    capacity: FreeCapacity, job: JobAllocation, lost: dict[int, int], part: ReplacedPart
) -> ReplacedChips:
    own_chips = _own_chips(job, lost, part.target_row)
    new_servers = sum(
        server for server in capacity.model.server_masks if server & part.target_mask and not server & own_chips
    )
    before, after = capacity.model.limits(part.mask), capacity.actual_limits(part.target_row, part.target_mask)
    return ReplacedChips(
        source=capacity.addresses_of(part.row, part.mask),
        destination=capacity.addresses_of(part.target_row, part.target_mask),
        new_servers=capacity.server_addresses(part.target_row, new_servers),
        new_chips=(part.target_mask & ~own_chips).bit_count(),
        all_gather=Bandwidth(before.all_gather),
        all_gather_after=Bandwidth(after.all_gather),
        bisection=Bandwidth(before.bisection),
        bisection_after=Bandwidth(after.bisection),
    )


def _capacity_after(capacity: FreeCapacity, parts: Iterable[ReplacedPart], lost: dict[int, int]) -> FreeCapacity:
    """Return the capacity after the plan; chips that the job leaves on lost servers do not become free."""
    allocated, chips = capacity.allocated.copy(), capacity.model.chips
    moved = list(parts)
    for part in moved:
        allocated[part.row] &= ~pack_masks([part.mask & ~lost.get(part.row, 0)], chips)[0]
    for part in moved:
        allocated[part.target_row] |= pack_masks([part.target_mask], chips)[0]
    for row, mask in lost.items():
        allocated[row] |= pack_masks([mask], chips)[0]
    return capacity.with_allocated(allocated)
