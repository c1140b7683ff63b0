"""Compute which jobs a drain disrupts and where each can go."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, select

from trninv import deadline
from trninv.database.tables import TABLES
from trninv.enumeration import DescribedEnum
from trninv.errors import WrongLevelError
from trninv.inventory.address.lookup import Place, resolve
from trninv.placement.allocations.allocation_masks import JobAllocation
from trninv.placement.candidates.candidate_search import CandidateSearch, PlacementPolicy
from trninv.placement.candidates.free_blocks import are_intact
from trninv.placement.candidates.free_capacity import FreeCapacity, read_cluster_capacity
from trninv.placement.candidates.gangs import place_gang
from trninv.placement.candidates.placement_model import AnyServers, LegalSets
from trninv.placement.moves.planner import MovePlanner, PlannedMove, alternative_sets, best_destination
from trninv.routing.scenario import ScenarioChanges
from trninv.routing.wiring_cache import SnapshotReader
from trninv.solvers.torus_blocks import WORD_BITS, MaskRows, pack_masks, unpack_masks

_T = TABLES
RowMask = tuple[int, int]
"""A row of the capacity, and a set of its chips."""


class DrainOutcome(DescribedEnum):
    """Outcome for a job."""

    REPLACED = "REPLACED", "Lost chips are replaced, the rest of the job stays."
    STAYS = "STAYS", "The job keeps its working chips and loses only spares."
    ELSEWHERE = "ELSEWHERE", "The whole job moves elsewhere."
    AFTER_MOVES = "AFTER_MOVES", "The job moves elsewhere after other jobs have moved."
    NOWHERE = "NOWHERE", "No place for the job was found."


@dataclass(frozen=True, slots=True)
class DisruptedJob:
    """A job that a drain disrupts.

    Attributes
    ----------
    lost_chips
        Lost working chips by row.
    spares
        Lost spare chips by row.
    disconnected_rows
        Rows whose chips stay but lose links among them.

    """

    allocation: JobAllocation
    lost_chips: Mapping[int, int]
    spares: Mapping[int, int]
    disconnected_rows: frozenset[int]

    def must_stop(self, units: Sequence[int]) -> bool:
        """Return whether the job must stop: it loses links, or has fewer spare units than units that lose chips."""
        spare = ((row, mask & ~self.spares.get(row, 0)) for row, mask in self.allocation.spare.items())
        spare_sizes = _descending_sizes(part for _, mask in spare for part in _split_by_unit(mask, units))
        work = self.allocation.work.items()
        lost_sizes = _descending_sizes(
            part for row, mask in work for part in _split_by_unit(mask, units) if part & self.lost_chips.get(row, 0)
        )
        return (
            bool(self.disconnected_rows)
            or len(spare_sizes) < len(lost_sizes)
            or any(a < b for a, b in zip(spare_sizes, lost_sizes, strict=False))
        )


def _split_by_unit(mask: int, units: Sequence[int]) -> Iterator[int]:
    return (mask & unit for unit in units if mask & unit)


def _descending_sizes(masks: Iterator[int]) -> list[int]:
    return sorted((mask.bit_count() for mask in masks), reverse=True)


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """A job's chips after the drain, and the moves of other jobs that come before; empty without a place."""

    outcome: DrainOutcome
    destination: tuple[RowMask, ...] = ()
    moves: tuple[PlannedMove, ...] = ()


class DrainImpact:
    """The drain of a place: the capacity of its cluster before and after."""

    def __init__(self, reader: SnapshotReader, address: str) -> None:
        place = resolve(reader.connection, address)
        if place.level in ("cluster", "nic"):
            raise WrongLevelError(
                f"{address} is a {place.level}; name a server, rack, domain, chip, switch, link or network node"
            )
        current = reader.changes
        parts = dict(current.nodes), dict(current.links), set(current.domains), set(current.network_nodes)
        changes = ScenarioChanges(*parts, current.assumed_allocations, current.assumed_released)
        changes.add(reader.connection, address, 0)
        slug = place.address.partition("/")[0]
        self.place, self.before = place, read_cluster_capacity(reader, slug)
        self.after = read_cluster_capacity(replace(reader, changes=changes), slug)
        has_chips = place.level not in ("link", "switch", "network_node")
        self._lost_chips = (
            unpack_masks(read_cluster_capacity(reader, address).in_scope)
            if has_chips
            else [0] * len(self.before.ordinals)
        )
        self._lost_links = {
            row: {*failures.down} - {*self.before.link_failures(row).down}
            for row, failures in self.after.failures_by_row.items()
        }
        self._subtrees = list(_subtree_ordinals(reader.connection, place)) if place.level == "network_node" else []

    @property
    def rows(self) -> list[int]:
        """Rows of the domains that lose chips or links."""
        return sorted(
            {
                *(row for row, mask in enumerate(self._lost_chips) if mask),
                *(r for r, b in self._lost_links.items() if b),
            }
        )

    def disrupted_jobs(self, allocations: Sequence[JobAllocation]) -> list[DisruptedJob]:
        """Return the jobs that lose chips or links, the largest first."""
        disrupted = filter(None, map(self._disruption, allocations))
        return sorted(disrupted, key=lambda each: (-each.allocation.chips, each.allocation.key))

    def _disruption(self, allocation: JobAllocation) -> DisruptedJob | None:
        lost_chips, spares = (
            {row: mask & self._lost_chips[row] for row, mask in masks.items() if mask & self._lost_chips[row]}
            for masks in (allocation.work, allocation.spare)
        )
        disconnected_rows = {
            row for row, mask in allocation.work.items() if row not in lost_chips and self._loses_link(row, mask)
        }
        if self._subtrees and len(allocation.work) > 1:
            (all_below, *children), rows = self._subtrees, set(allocation.work)
            if rows & all_below and not any(rows <= child for child in children):
                disconnected_rows |= rows & all_below
        return (
            DisruptedJob(allocation, lost_chips, spares, frozenset(disconnected_rows))
            if lost_chips or spares or disconnected_rows
            else None
        )

    def _loses_link(self, row: int, mask: int) -> bool:
        """Return whether a set of several chips loses a link among them or to their switch."""
        return mask.bit_count() > 1 and any(link & mask == link for link in self._lost_links.get(row, ()))

    def outcomes(
        self, disrupted: Sequence[DisruptedJob], allocations: Sequence[JobAllocation], legal_sets: LegalSets
    ) -> Iterator[JobOutcome]:
        """Yield each job's outcome in turn; chips that one job gets are not free for the next."""
        capacity, current = self.after, {job.key: job for job in allocations}
        immovable = {job.key for job in allocations if job.pinned} | {job.allocation.key for job in disrupted}
        for job in disrupted:
            deadline.raise_if_expired()
            without_job = capacity.with_allocated(
                _update_allocated(capacity.allocated, job.allocation.work.items(), ())
            )
            others = [other for key, other in current.items() if key != job.allocation.key]
            outcome = (
                self._network_outcome(without_job, job)
                if self._subtrees
                else _job_outcome(without_job, job, legal_sets, others, immovable)
            )
            yield outcome
            if not outcome.destination:
                continue
            for move in outcome.moves:
                current[move.allocation.key] = replace(
                    current[move.allocation.key], work={move.target_row: move.target_mask}
                )
            current[job.allocation.key] = replace(job.allocation, work=_merge_masks(outcome.destination))
            destinations = [*outcome.destination, *((move.target_row, move.target_mask) for move in outcome.moves)]
            capacity = without_job.with_allocated(
                _update_allocated(
                    without_job.allocated, [(move.row, move.mask) for move in outcome.moves], destinations
                )
            )

    def _network_outcome(self, capacity: FreeCapacity, job: DisruptedJob) -> JobOutcome:
        """Return the outcome of a job of whole domains: other domains, below other network nodes."""
        full = capacity.model.full
        if any(mask != full for mask in job.allocation.work.values()):
            return JobOutcome(DrainOutcome.NOWHERE)
        in_scope = capacity.in_scope.copy()
        in_scope[sorted(self._subtrees[0])] = 0
        new_gang = place_gang(replace(capacity, in_scope=in_scope), len(job.allocation.work))
        if new_gang is None:
            return JobOutcome(DrainOutcome.NOWHERE)
        outcome = DrainOutcome.REPLACED if set(new_gang.rows) & set(job.allocation.work) else DrainOutcome.ELSEWHERE
        return JobOutcome(outcome, tuple((row, full) for row in new_gang.rows))


def _job_outcome(
    capacity: FreeCapacity,
    job: DisruptedJob,
    legal_sets: LegalSets,
    others: Sequence[JobAllocation],
    immovable: Collection[int],
) -> JobOutcome:
    """Return the outcome of a job whose chips the capacity counts as free; it keeps what it can."""
    work, rows = job.allocation.work, {*job.lost_chips, *job.disconnected_rows}
    kept = {row: mask for row, mask in work.items() if row not in rows}
    if not rows:
        return JobOutcome(DrainOutcome.STAYS, tuple(kept.items()))
    current, destination, moves = (
        capacity.with_allocated(_update_allocated(capacity.allocated, (), kept.items())),
        list(kept.items()),
        tuple[PlannedMove, ...](),
    )
    for row in sorted(rows):
        mask = work[row]
        candidate = _same_domain_candidate(
            current, legal_sets, (row, mask), mask & ~job.lost_chips.get(row, mask)
        ) or _best_candidate(current, legal_sets, mask)
        if candidate is None:
            if moves or not (plan := _after_moves(current, legal_sets, mask, others, immovable)):
                return JobOutcome(DrainOutcome.NOWHERE)
            candidate, moves = plan
            current = current.with_allocated(
                _update_allocated(current.allocated, [(move.row, move.mask) for move in moves], ())
            )
        destination.append(candidate)
        current = current.with_allocated(
            _update_allocated(
                current.allocated, (), [candidate, *((move.target_row, move.target_mask) for move in moves)]
            )
        )
    keeps_some = any(work.get(row, 0) & mask for row, mask in destination)
    outcome = DrainOutcome.AFTER_MOVES if moves else DrainOutcome.REPLACED if keeps_some else DrainOutcome.ELSEWHERE
    return JobOutcome(outcome, tuple(sorted(destination)), moves)


def _same_domain_candidate(capacity: FreeCapacity, legal_sets: LegalSets, part: RowMask, kept: int) -> RowMask | None:
    """Return the best set of the same domain that contains all chips that a job keeps there."""
    row, mask = part
    options = alternative_sets(capacity, legal_sets, mask)
    if not kept or not options:
        return None
    domain = capacity.select([row], capacity.in_scope)
    sets = _same_rack_servers(domain, kept, options.servers) if isinstance(options, AnyServers) else options
    search = CandidateSearch(domain, legal_sets, [option for option in sets if option & kept == kept])
    candidates = search.best(search.intact, 1, PlacementPolicy.QUALITY)
    return (row, candidates[0].mask) if candidates else None


def _same_rack_servers(domain: FreeCapacity, kept: int, servers: int) -> tuple[int, ...]:
    """Return the servers that a job keeps and the first free ones of their rack that have every link."""
    model, (free,) = domain.model, are_intact(domain, domain.model.server_masks)
    for rack in model.racks:
        kept_servers = [server for server in rack if model.server_masks[server] & kept]
        others = [server for server in rack if server not in kept_servers and free[server]]
        if kept_servers and len(kept_servers) + len(others) >= servers:
            return (sum(model.server_masks[index] for index in [*kept_servers, *others][:servers]),)
    return ()


def _best_candidate(capacity: FreeCapacity, legal_sets: LegalSets, mask: int) -> RowMask | None:
    candidate = best_destination(capacity, legal_sets, mask, PlacementPolicy.QUALITY, keep_all_gather=False)
    return (candidate.row, candidate.mask) if candidate else None


def _after_moves(
    capacity: FreeCapacity,
    legal_sets: LegalSets,
    mask: int,
    others: Sequence[JobAllocation],
    immovable: Collection[int],
) -> tuple[RowMask, tuple[PlannedMove, ...]] | None:
    """Return a candidate that moves of other jobs free, with these moves."""
    if not (options := alternative_sets(capacity, legal_sets, mask)):
        return None
    plan = MovePlanner(capacity, legal_sets, others, immovable).plan(options)
    return (plan.targets[0], plan.moves) if plan and plan.targets else None


def _update_allocated(allocated: MaskRows, released: Iterable[RowMask], added: Iterable[RowMask]) -> MaskRows:
    """Return the allocated chips after some sets are released and others allocated."""
    updated, chips = allocated.copy(), allocated.shape[1] * WORD_BITS
    for row, mask in released:
        updated[row] &= ~pack_masks([mask], chips)[0]
    for row, mask in added:
        updated[row] |= pack_masks([mask], chips)[0]
    return updated


def _merge_masks(sets: Iterable[RowMask]) -> dict[int, int]:
    masks: dict[int, int] = {}
    for row, mask in sets:
        masks[row] = masks.get(row, 0) | mask
    return masks


def _subtree_ordinals(connection: Connection, place: Place) -> Iterator[set[int]]:
    """Yield the ordinals of the domains below a network node, then those below each of its children."""
    link = _T["link"]
    fabric = link.c.scope == "fabric", link.c.domain_id.is_(None)
    children = list(connection.scalars(select(link.c.a_id).where(link.c.b_id == place.id, *fabric)))
    subtrees = [set(_domain_ordinals(connection, child)) for child in children]
    yield set().union(*subtrees) | set(_domain_ordinals(connection, place.id))
    yield from subtrees


def _domain_ordinals(connection: Connection, node: int) -> Iterator[int]:
    link, domain = _T["link"], _T["domain"]
    nodes = [node]
    while nodes:
        attached = select(domain.c.ordinal).distinct().join(link, link.c.domain_id == domain.c.id)
        yield from connection.scalars(attached.where(link.c.b_id.in_(nodes), link.c.scope == "fabric"))
        lower = select(link.c.a_id).where(link.c.b_id.in_(nodes), link.c.scope == "fabric", link.c.domain_id.is_(None))
        nodes = list(connection.scalars(lower))
