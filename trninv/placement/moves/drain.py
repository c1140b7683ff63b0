"""Compute which jobs a drain disrupts and where each can go, for `trninv drain-impact`; nothing is changed.

A drain takes a place out of service: a server, a chip, a switch, a link and so on. `DrainImpact` compares the free
capacity of the cluster before it and after it. Sets of chips are bit masks, and a row is a domain of the cluster, by
ordinal (`trninv.placement.candidates.free_capacity`).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sqlalchemy import Connection, select

from trninv import deadline, solvers
from trninv.database.as_of import current_time
from trninv.database.tables import TABLES
from trninv.enumeration import DescribedEnum
from trninv.errors import WrongLevelError
from trninv.inventory.address.lookup import Place, resolve, resolve_place
from trninv.placement.allocations.allocation_masks import JobAllocation
from trninv.placement.allocations.reservations import Window, list_reservations
from trninv.placement.candidates.candidate_search import CandidateSearch, PlacementPolicy
from trninv.placement.candidates.free_blocks import are_intact
from trninv.placement.candidates.free_capacity import FreeCapacity, read_cluster_capacity, read_group_capacity
from trninv.placement.candidates.gangs import place_gang
from trninv.placement.candidates.placement_model import AnyServers, LegalSets
from trninv.placement.candidates.reserved_chips import reserved_from_now, with_current_reservations
from trninv.placement.moves.planner import MovePlanner, PlannedMove, alternative_sets, best_destination
from trninv.routing.scenario import ScenarioChanges
from trninv.routing.snapshot import Snapshot
from trninv.solvers.torus_blocks import WORD_BITS, MaskRows, pack_masks, unpack_masks
from trninv.units import format_timestamp

_T = TABLES
RowMask = tuple[int, int]
"""A row of the capacity (a domain), and a set of its chips."""


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
    allocation
        The job and its chips before the drain.
    lost_chips
        Lost working chips by row.
    lost_spares
        Lost spare chips by row.
    disconnected_rows
        Rows whose chips stay but lose links between them, or the path to the job's other domains.

    """

    allocation: JobAllocation
    lost_chips: Mapping[int, int]
    lost_spares: Mapping[int, int]
    disconnected_rows: frozenset[int]

    def must_stop(self, units: Sequence[int]) -> bool:
        """Return whether the job must stop: it loses links, or spares can't replace its chips in each affected unit.

        Parameters
        ----------
        units
            Masks of the units that a spare replaces as a whole: the domain, or each server.

        """
        if self.disconnected_rows:
            return True
        spare_sizes, affected_sizes = list[int](), list[int]()
        for row, mask in self.allocation.spare.items():
            remaining = mask & ~self.lost_spares.get(row, 0)
            spare_sizes += [part.bit_count() for part in _split_by_unit(remaining, units)]
        for row, mask in self.allocation.work.items():
            lost = self.lost_chips.get(row, 0)
            affected_sizes += [part.bit_count() for part in _split_by_unit(mask, units) if part & lost]
        if len(spare_sizes) < len(affected_sizes):
            return True
        # The largest spare replaces the job's largest affected part, and so on.
        pairs = zip(sorted(spare_sizes, reverse=True), sorted(affected_sizes, reverse=True), strict=False)
        return any(spare < affected for spare, affected in pairs)


def _split_by_unit(mask: int, units: Sequence[int]) -> Iterator[int]:
    """Yield the part of a set in each unit in which the set has chips."""
    return (mask & unit for unit in units if mask & unit)


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """A job's chips after the drain, none if no place was found, and the moves of other jobs that make room for it."""

    outcome: DrainOutcome
    destination: tuple[RowMask, ...] = ()
    moves: tuple[PlannedMove, ...] = ()


@dataclass(frozen=True, slots=True)
class DrainMove:
    """A move of a whole job to other chips, which ``destination`` has by row.

    ``must_stop`` is whether this job must free its chips before the first move, because moves form a cycle.
    """

    allocation: JobAllocation
    destination: Mapping[int, int]
    must_stop: bool


class DrainImpact:
    """The effect of draining a place on its cluster and on jobs.

    Attributes
    ----------
    place
        The drained place.
    before, after
        The free capacity of its cluster before and after the drain, with all jobs where they are now.

    Raises
    ------
    WrongLevelError
        The place is a cluster or a NIC, which can't be drained.

    """

    def __init__(self, snapshot: Snapshot, address: str) -> None:
        place = resolve(snapshot.connection, address)
        if place.level in ("cluster", "nic"):
            raise WrongLevelError(
                f"{address} is a {place.level}; name a server, rack, domain, chip, switch, link or network node"
            )
        scenario = snapshot.changes
        parts = dict(scenario.nodes), dict(scenario.links), set(scenario.domains), set(scenario.network_nodes)
        changes = ScenarioChanges(*parts, scenario.assumed_allocations, scenario.assumed_released)
        changes.add(snapshot.connection, address, 0)  # the drained place carries nothing
        surroundings = _surroundings(place.address)
        self.place, self._snapshot = place, snapshot
        self.before = with_current_reservations(snapshot, read_group_capacity(snapshot, surroundings))
        self.after = with_current_reservations(
            snapshot, read_group_capacity(replace(snapshot, changes=changes), surroundings)
        )
        has_chips = place.level not in ("link", "switch", "network_node")
        self._lost_chips = (
            unpack_masks(read_cluster_capacity(snapshot, address).in_scope)
            if has_chips
            else [0] * len(self.before.ordinals)
        )
        self._lost_links = {
            row: {*failures.down} - {*self.before.link_failures(row).down}
            for row, failures in self.after.failures_by_row.items()
        }
        # Domains below the drained network node, then those below each of its children; empty for any other place.
        self._subtrees = list(self._subtree_rows(snapshot.connection)) if place.level == "network_node" else []

    def _subtree_rows(self, connection: Connection) -> Iterator[set[int]]:
        rows = self.before.group.rows_by_ordinal()
        for ordinals in _subtree_ordinals(connection, self.place):
            yield {rows[ordinal] for ordinal in ordinals & rows.keys()}

    @property
    def units(self) -> Sequence[int]:
        """Masks of what a spare replaces as a whole: the domain of a torus, or each server."""
        model = self.before.model
        return (model.full,) if model.torus else model.server_masks

    @property
    def failed_chips(self) -> int:
        """The number of chips in the place that are unusable already."""
        usable = unpack_masks(self.before.usable)
        return sum((mask & ~up).bit_count() for mask, up in zip(self._lost_chips, usable, strict=True))

    @property
    def rows(self) -> list[int]:
        """Rows of the domains that lose chips or links."""
        lose_chips = (row for row, mask in enumerate(self._lost_chips) if mask)
        lose_links = (row for row, links in self._lost_links.items() if links)
        return sorted({*lose_chips, *lose_links})

    def reservations(self, unplaced: Iterable[JobAllocation]) -> tuple[str, ...]:
        """Return the first reservations of drained chips, then those that keep jobs without a place from others."""
        connection = self._snapshot.connection
        now = format_timestamp(current_time(connection))
        reservations = [*list_reservations(connection, self.place, Window(now))] if any(self._lost_chips) else []
        if ends := [Window.of_job(now, job.until).end for job in unplaced]:
            cluster = resolve_place(connection, self.place.address.partition("/")[0])
            reservations += list_reservations(connection, cluster, Window(now, max(ends)))
        return tuple(dict.fromkeys(reservations))

    def disrupted_jobs(self, allocations: Sequence[JobAllocation]) -> list[DisruptedJob]:
        """Return the jobs that lose chips or links, the largest first."""
        disrupted = filter(None, map(self._disruption, allocations))
        return sorted(disrupted, key=lambda job: (-job.allocation.chips, job.allocation.key))

    def _disruption(self, allocation: JobAllocation) -> DisruptedJob | None:
        """Return what a job loses; None if it loses nothing."""
        lost_chips, lost_spares = (
            {row: mask & self._lost_chips[row] for row, mask in masks.items() if mask & self._lost_chips[row]}
            for masks in (allocation.work, allocation.spare)
        )
        disconnected_rows = {
            row for row, mask in allocation.work.items() if row not in lost_chips and self._loses_link(row, mask)
        }
        if self._subtrees and len(allocation.work) > 1:
            (all_below, *child_subtrees), rows = self._subtrees, set(allocation.work)
            # The drained network node cuts the paths of domains below it, unless all of the job is below one child.
            if rows & all_below and not any(rows <= subtree for subtree in child_subtrees):
                disconnected_rows |= rows & all_below
        if not (lost_chips or lost_spares or disconnected_rows):
            return None
        return DisruptedJob(allocation, lost_chips, lost_spares, frozenset(disconnected_rows))

    def _loses_link(self, row: int, mask: int) -> bool:
        """Return whether a set of several chips loses a link between them or to their switch."""
        return mask.bit_count() > 1 and any(link & mask == link for link in self._lost_links.get(row, ()))

    def outcomes(
        self, disrupted: Sequence[DisruptedJob], allocations: Sequence[JobAllocation], legal_sets: LegalSets
    ) -> Iterator[JobOutcome]:
        """Yield each job's outcome in turn; chips that one job gets are not free for the next.

        A job gets no chip that is reserved for a time before its end, except those that it keeps.
        """
        capacity, current = self.after, {job.key: job for job in allocations}
        immovable = {job.key for job in allocations if job.pinned} | {job.allocation.key for job in disrupted}
        for job in disrupted:
            deadline.raise_if_expired()
            reserved = self._reserved_until(job.allocation.until)
            without_job = capacity.with_allocated(
                _update(capacity.allocated, job.allocation.work.items(), ())
            ).with_reserved(reserved if reserved is None else _update(reserved, job.allocation.work.items(), ()))
            others = [other for key, other in current.items() if key != job.allocation.key]
            outcome = (
                self._network_outcome(without_job, job)
                if self._subtrees
                else _job_outcome(without_job, job, legal_sets, others, immovable, self._reserved_until(None))
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
                _update(without_job.allocated, [(move.row, move.mask) for move in outcome.moves], destinations)
            )

    def moves(self, disrupted: Sequence[DisruptedJob], outcomes: Sequence[JobOutcome]) -> list[DrainMove]:
        """Return the moves that outcomes consist of, each job once, in an order in which each destination is free."""
        jobs, destinations = dict[int, JobAllocation](), dict[int, Mapping[int, int]]()
        for job, outcome in zip(disrupted, outcomes, strict=True):
            for move in outcome.moves:  # a job that makes room for two others goes to its last destination at once
                jobs.setdefault(move.allocation.key, move.allocation)
                destinations[move.allocation.key] = {move.target_row: move.target_mask}
            if outcome.destination:
                jobs[job.allocation.key] = job.allocation
                destinations[job.allocation.key] = _merge_masks(outcome.destination)
        keys = [key for key, destination in destinations.items() if destination != jobs[key].work]
        # each job got chips that are free when its turn comes: order_moves would return this order, but takes seconds
        # to compare each pair of 200 jobs of many domains
        if not any(outcome.moves for outcome in outcomes):
            return [DrainMove(jobs[key], destinations[key], must_stop=False) for key in keys]
        rows = sorted({row for key in keys for row in (*jobs[key].work, *destinations[key])})
        offsets = {row: index * self.before.model.chips for index, row in enumerate(rows)}

        def pack(masks: Mapping[int, int], kept: Mapping[int, int]) -> int:
            return sum((mask & ~kept.get(row, 0)) << offsets[row] for row, mask in masks.items())

        pairs = [(pack(jobs[key].work, destinations[key]), pack(destinations[key], jobs[key].work)) for key in keys]
        stopped_keys = {job.allocation.key for job in disrupted if job.must_stop(self.units)}
        interrupted = {index for index, key in enumerate(keys) if key in stopped_keys}
        order, must_stop = solvers.integer_programs.order_moves(pairs, interrupted)
        return [
            DrainMove(jobs[keys[index]], destinations[keys[index]], must_stop=index in must_stop) for index in order
        ]

    def capacity_after(self, moves: Iterable[DrainMove]) -> FreeCapacity:
        """Return the free capacity after the drain and these moves; other jobs keep their chips."""
        sources, destinations = list[RowMask](), list[RowMask]()
        for move in moves:
            sources += move.allocation.work.items()
            destinations += move.destination.items()
        return self.after.with_allocated(_update(self.after.allocated, sources, destinations))

    def _reserved_until(self, until: str | None) -> MaskRows | None:
        """Return the chips that are reserved for a part of the time from now until a job's end."""
        if until not in self._reserved:
            self._reserved[until] = reserved_from_now(self._snapshot, self.after, until)
        return self._reserved[until]

    @cached_property
    def _reserved(self) -> dict[str | None, MaskRows | None]:
        """The results of `_reserved_until` so far."""
        return {}

    def _network_outcome(self, capacity: FreeCapacity, job: DisruptedJob) -> JobOutcome:
        """Return the outcome if a network node is drained: a job of whole domains gets domains below other nodes."""
        full = capacity.model.full
        if any(mask != full for mask in job.allocation.work.values()):  # only whole domains can be placed together
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
    reserved: MaskRows | None,
) -> JobOutcome:
    """Return the outcome of a job whose chips the capacity counts as free; the job keeps all chips that it can.

    Each affected domain has three options, tried in turn: the job keeps its remaining chips and replaces the lost ones
    in the same domain; its chips there move to another free set; they move to a set that moves of other jobs free. The
    third option is used for one domain only.
    """
    work, affected_rows = job.allocation.work, {*job.lost_chips, *job.disconnected_rows}
    kept = {row: mask for row, mask in work.items() if row not in affected_rows}
    if not affected_rows:
        return JobOutcome(DrainOutcome.STAYS, tuple(kept.items()))
    if job.allocation.is_partial:
        return JobOutcome(DrainOutcome.NOWHERE)
    current = capacity.with_allocated(_update(capacity.allocated, (), kept.items()))
    destination, moves = list(kept.items()), tuple[PlannedMove, ...]()
    for row in sorted(affected_rows):
        mask = work[row]
        remaining = (
            mask & ~job.lost_chips[row] if row in job.lost_chips else 0
        )  # after losing only links, no chip stays
        candidate = _same_domain_candidate(current, legal_sets, (row, mask), remaining)
        candidate = candidate or _best_candidate(current, legal_sets, mask)
        if candidate is None:
            if moves or not (plan := _after_moves(current, legal_sets, mask, others, immovable, reserved)):
                return JobOutcome(DrainOutcome.NOWHERE)
            candidate, moves = plan
            current = current.with_allocated(_update(current.allocated, [(move.row, move.mask) for move in moves], ()))
        destination.append(candidate)
        current = current.with_allocated(
            _update(current.allocated, (), [candidate, *((move.target_row, move.target_mask) for move in moves)])
        )
    outcome = DrainOutcome.ELSEWHERE
    if moves:
        outcome = DrainOutcome.AFTER_MOVES
    elif any(work.get(row, 0) & mask for row, mask in destination):
        outcome = DrainOutcome.REPLACED
    return JobOutcome(outcome, tuple(sorted(destination)), moves)


def _same_domain_candidate(
    capacity: FreeCapacity, legal_sets: LegalSets, current: RowMask, kept: int
) -> RowMask | None:
    """Return the best set that can replace a job's current set in the same domain and contains the chips it keeps."""
    row, mask = current
    options = alternative_sets(capacity, legal_sets, mask)
    if not kept or not options:
        return None
    domain = capacity.select([row], capacity.in_scope)
    sets = _same_rack_servers(domain, kept, options.servers) if isinstance(options, AnyServers) else options
    search = CandidateSearch(domain, legal_sets, [option for option in sets if option & kept == kept])
    candidates = search.best(search.intact, 1, PlacementPolicy.QUALITY)
    return (row, candidates[0].mask) if candidates else None


def _same_rack_servers(domain: FreeCapacity, kept: int, servers: int) -> tuple[int, ...]:
    """Return a set of the servers that a job keeps and the first free servers of their rack with every link up.

    The set is the only item of a tuple, which is empty if too few servers are free.
    """
    model, (free,) = domain.model, are_intact(domain, domain.model.server_masks)
    for rack in model.racks:
        kept_servers = [server for server in rack if model.server_masks[server] & kept]
        others = [server for server in rack if server not in kept_servers and free[server]]
        if kept_servers and len(kept_servers) + len(others) >= servers:
            return (sum(model.server_masks[index] for index in [*kept_servers, *others][:servers]),)
    return ()


def _best_candidate(capacity: FreeCapacity, legal_sets: LegalSets, mask: int) -> RowMask | None:
    """Return the best free set of the cluster that can replace a set."""
    candidate = best_destination(capacity, legal_sets, mask, PlacementPolicy.QUALITY, keep_all_gather=False)
    return (candidate.row, candidate.mask) if candidate else None


def _after_moves(
    capacity: FreeCapacity,
    legal_sets: LegalSets,
    mask: int,
    others: Sequence[JobAllocation],
    immovable: Collection[int],
    reserved: MaskRows | None,
) -> tuple[RowMask, tuple[PlannedMove, ...]] | None:
    """Return a set that moves of other jobs free and that can replace ``mask``, with these moves, or None.

    The other jobs get none of the chips ``reserved``.
    """
    if not (options := alternative_sets(capacity, legal_sets, mask)):
        return None
    plan = MovePlanner(capacity, legal_sets, others, immovable, reserved).plan(options)
    return (plan.targets[0], plan.moves) if plan and plan.targets else None


def _update(chip_sets: MaskRows, released: Iterable[RowMask], added: Iterable[RowMask]) -> MaskRows:
    """Return sets of chips, such as the allocated ones, without some sets and with others."""
    updated, chips = chip_sets.copy(), chip_sets.shape[1] * WORD_BITS
    for row, mask in released:
        updated[row] &= ~pack_masks([mask], chips)[0]
    for row, mask in added:
        updated[row] |= pack_masks([mask], chips)[0]
    return updated


def _merge_masks(sets: Iterable[RowMask]) -> dict[int, int]:
    """Return the union of the sets of each row."""
    masks: dict[int, int] = {}
    for row, mask in sets:
        masks[row] = masks.get(row, 0) | mask
    return masks


def _surroundings(address: str) -> str:
    """Return the domain or rack of a place or of a link's first end; the cluster for a network node."""
    cluster, *steps = address.partition("--")[0].split("/")
    return f"{cluster}/{steps[0]}" if steps[0] != "fabric" else cluster


def _subtree_ordinals(connection: Connection, place: Place) -> Iterator[set[int]]:
    """Yield the ordinals of the domains below a network node, then those below each of its children.

    A row of ``link`` with the scope "fabric" leads up to a network node; if it starts in a domain, it has a
    ``domain_id``.
    """
    link = _T["link"]
    fabric = link.c.scope == "fabric", link.c.domain_id.is_(None)
    children = list(connection.scalars(select(link.c.a_id).where(link.c.b_id == place.id, *fabric)))
    subtrees = [set(_domain_ordinals(connection, child)) for child in children]
    yield set().union(*subtrees) | set(_domain_ordinals(connection, place.id))
    yield from subtrees


def _domain_ordinals(connection: Connection, node: int) -> Iterator[int]:
    """Yield the ordinals of the domains below a network node, tier by tier; a link leads up from ``a`` to ``b``."""
    link, domain = _T["link"], _T["domain"]
    nodes = [node]
    while nodes:
        attached = select(domain.c.ordinal).distinct().join(link, link.c.domain_id == domain.c.id)
        yield from connection.scalars(attached.where(link.c.b_id.in_(nodes), link.c.scope == "fabric"))
        lower = select(link.c.a_id).where(link.c.b_id.in_(nodes), link.c.scope == "fabric", link.c.domain_id.is_(None))
        nodes = list(connection.scalars(lower))
