"""Read which chips of a scope are usable, allocated, cordoned and free: the one definition for all answers.

A set of chips is a bit mask: bit i is chip i of the domain, counted server by server. ``&`` is intersection and
``& ~`` is difference. Example: two servers of four chips. Server 0 has chips 0 to 3 (the right half) and is cordoned;
chip 4 is down; a job has chips 0 and 1::

    chip                                    7654 3210
    in_scope                                1111 1111
    up         chips that carry traffic     1110 1111
    allocated  chips of jobs, down or not   0000 0011
    cordoned   chips of cordoned servers    0000 1111

    usable     up & in_scope                             1110 1111
    free       usable & ~allocated & ~cordoned           1110 0000
    unusable   in_scope & ~allocated & ~free             0001 1100

Allocated, free and unusable chips together are all chips (2 + 3 + 3 = 8). A job fits on chips 5 and 6, the mask
``1 << 5 | 1 << 6`` = ``0110 0000`` = 96, because ``96 & ~free`` is 0. `trninv.inventory.state.chip_use` computes the
same in SQL.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from trninv.database.as_of import maybe_unhealthy
from trninv.database.tables import CARRYING_STATES, TABLES, is_unhealthy
from trninv.errors import InvalidArgumentError
from trninv.inventory.address.containment import chip_ids_of
from trninv.inventory.address.lookup import Place, resolve_place
from trninv.inventory.address.syntax import expand_chip_ranges
from trninv.inventory.state.condition import PPM
from trninv.placement.allocations.job_scenario import resolve_jobs
from trninv.placement.candidates.link_failures import LinkFailures, UnhealthyParts, find_link_failures
from trninv.placement.candidates.placement_model import LocalPart, PlacementModel, placement_model
from trninv.routing.wiring_cache import SnapshotReader
from trninv.solvers.torus_blocks import BlockLimits, MaskRows, pack_masks, unique_rows

_T: Final = TABLES


@dataclass(frozen=True)
class FreeCapacity:
    """The chips of a scope by domain, as sets in rows of words.

    Attributes
    ----------
    ordinals
        Ordinals of the domains, ascending.
    in_scope
        Chips in the scope.

    """

    cluster: str
    model: PlacementModel
    ordinals: NDArray[np.int64]
    in_scope: MaskRows
    up: MaskRows
    allocated: MaskRows
    cordoned: MaskRows
    unhealthy_parts: UnhealthyParts = field(default_factory=dict)

    @cached_property
    def usable(self) -> MaskRows:
        """Chips that carry traffic."""
        return self.up & self.in_scope

    @cached_property
    def free(self) -> MaskRows:
        """Chips that a new job may get."""
        return self.usable & ~self.allocated & ~self.cordoned

    @cached_property
    def unusable(self) -> MaskRows:
        """Chips that are neither allocated nor free."""
        return self.in_scope & ~self.allocated & ~self.free

    @cached_property
    def degraded(self) -> MaskRows:
        """Chips that are unhealthy or have an unhealthy NIC; domains that only lost chips are omitted."""
        masks = np.zeros_like(self.in_scope)
        for row, failures in self.failures_by_row.items():
            masks[row] = pack_masks([failures.unhealthy_chips], self.model.chips)[0]
        return masks

    @cached_property
    def domain_classes(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The first row of each class of equal domains, and each row's class; a domain with failures is its own."""
        return self.classify_domains()

    def classify_domains(self, *more: MaskRows) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Group domains with equal free chips and equal additional masks."""
        marks = np.zeros((len(self.free), 1), np.uint64)
        with_failures = sorted(self.failures_by_row)
        marks[with_failures, 0] = np.array(with_failures, np.uint64) + 1
        return unique_rows(np.hstack([self.free, *more, marks]))

    @cached_property
    def failures_by_row(self) -> Mapping[int, LinkFailures]:
        """Failures of each row that has any besides chips that are down."""
        return {
            row: self.link_failures(row)
            for row, parts in self.unhealthy_parts.items()
            if any(
                carried_ppm or not isinstance(part, int) or part >= self.model.chips
                for part, carried_ppm in parts.items()
            )
        }

    def link_failures(self, row: int) -> LinkFailures:
        """Return the failures of a row, including the links of chips that are down."""
        return find_link_failures(self.model, self.unhealthy_parts.get(row, {}))

    def actual_limits(self, row: int, mask: int) -> BlockLimits:
        """Return what some chips of a row carry as they are."""
        return (
            self.model.degraded_limits(mask, self.link_failures(row).link_capacities)
            if row in self.unhealthy_parts
            else self.model.limits(mask)
        )

    def is_degraded(self, row: int, mask: int) -> bool:
        """Return whether any of some chips of a row, or a link among several, is degraded."""
        return self.link_failures(row).is_degraded(mask)

    def select(self, rows: Sequence[int], in_scope: MaskRows) -> "FreeCapacity":
        """Return the capacity of some domains, limited to the chips in scope."""
        up, allocated, cordoned = (sets[rows] for sets in (self.up, self.allocated, self.cordoned))
        unhealthy_parts = {
            index: self.unhealthy_parts[row] for index, row in enumerate(rows) if row in self.unhealthy_parts
        }
        return FreeCapacity(
            self.cluster, self.model, self.ordinals[rows], in_scope[rows], up, allocated, cordoned, unhealthy_parts
        )

    def with_allocated(self, allocated: MaskRows) -> "FreeCapacity":
        """Return a copy with other chips allocated."""
        updated = replace(self, allocated=allocated)
        updated.__dict__["failures_by_row"] = self.failures_by_row  # slow to compute, and independent of allocations
        return updated

    def all_up(self) -> "FreeCapacity":
        """Return a copy with all parts up."""
        return replace(self, up=self.in_scope | self.up, unhealthy_parts={})

    def addresses_of(self, row: int, mask: int) -> tuple[str, ...]:
        """Return the fewest addresses of chips of a row: their domain, their servers or the chips."""
        servers = self.server_addresses(row, mask)
        if mask == self.model.full:
            return (self.domain_address(row),)
        return (
            servers
            if mask.bit_count() == len(servers) * self.model.chips_per_server
            else self.chip_addresses(row, mask)
        )

    def chip_addresses(self, row: int, mask: int) -> tuple[str, ...]:
        """Return the addresses of chips of a row."""
        per_server = self.model.chips_per_server
        bits = (bit for bit in range(self.model.chips) if mask >> bit & 1)
        return tuple(f"{self.domain_address(row)}/s{bit // per_server}/c{bit % per_server}" for bit in bits)

    def server_addresses(self, row: int, mask: int) -> tuple[str, ...]:
        """Return the addresses of the servers that contain chips of a row."""
        servers = (server for server, server_mask in enumerate(self.model.server_masks) if mask & server_mask)
        return tuple(f"{self.domain_address(row)}/s{server}" for server in servers)

    def domain_address(self, row: int) -> str:
        """Return the address of a row's domain."""
        return f"{self.cluster}/d{self.ordinals[row]}"


def count_chips(sets: MaskRows) -> int:
    """Count the chips of all rows."""
    return int(np.bitwise_count(sets).sum())


def read_capacity(reader: SnapshotReader, scope: str, avoid: Collection[str] = ()) -> FreeCapacity:
    """Read the capacity of a scope, in the scenario if there is one.

    Parameters
    ----------
    avoid
        Places whose chips are excluded.

    Raises
    ------
    AddressError, UnknownAddressError, WrongLevelError
        The scope or a place does not exist or has no chips.
    InvalidArgumentError
        The cluster has domains of several models.

    """
    capacity, chips = _read_with_scope(reader, scope, avoid)
    if chips is None:
        return capacity
    rows: Sequence[int] = np.flatnonzero(chips.any(axis=1)).tolist()
    return capacity.select(rows, capacity.in_scope & chips)


def read_cluster_capacity(reader: SnapshotReader, scope: str) -> FreeCapacity:
    """Read the capacity of the whole cluster; domains outside the scope have no chips in scope."""
    capacity, chips = _read_with_scope(reader, scope, ())
    return capacity if chips is None else replace(capacity, in_scope=capacity.in_scope & chips)


def _read_with_scope(
    reader: SnapshotReader, scope: str, avoid: Collection[str]
) -> tuple[FreeCapacity, MaskRows | None]:
    """Return the capacity of a scope's cluster and, if the scope is smaller, its chips."""
    place = resolve_place(reader.connection, scope)
    cluster = read_cluster(reader.connection, place.cluster_id)
    capacity: FreeCapacity = reader.cached(("stock", cluster.id), lambda: _load_capacity(reader.connection, cluster))
    if reader.changes.assumed_allocations or reader.changes.assumed_released:
        capacity = _apply_job_scenario(reader, cluster, capacity)
    if reader.changes.nodes or reader.changes.links:
        capacity = _with_unhealthy_parts(capacity, _assumed_part_states(reader, cluster, capacity.model))
    for address in expand_chip_ranges(avoid):
        avoided = resolve_place(reader.connection, address)
        if avoided.cluster_id == place.cluster_id:
            capacity = replace(
                capacity, in_scope=capacity.in_scope & ~_chips_of_place(reader.connection, avoided, cluster, capacity)
            )
    return capacity, None if place.level == "cluster" else _chips_of_place(reader.connection, place, cluster, capacity)


def _apply_job_scenario(reader: SnapshotReader, cluster: Any, capacity: FreeCapacity) -> FreeCapacity:  # a row
    jobs, allocated = resolve_jobs(reader.connection, reader.changes), capacity.allocated
    for chips in jobs.ended.values():
        allocated = allocated & ~pack_by_domain(chips, cluster, capacity.model)
    for chips in jobs.allocated.values():
        allocated = allocated | pack_by_domain(chips, cluster, capacity.model)
    return capacity.with_allocated(allocated)


def masks_by_domain(chips: Iterable[int], cluster: Any, model: PlacementModel) -> dict[int, int]:  # a row
    """Return masks of chips by domain ordinal; chips of other clusters are skipped."""
    masks: dict[int, int] = {}
    for key in chips:
        row, local = divmod(key - cluster.first_node_id, model.node_count)
        if 0 <= row < cluster.domains:
            masks[row] = masks.get(row, 0) | 1 << local
    return masks


def pack_by_domain(chips: Iterable[int], cluster: Any, model: PlacementModel) -> MaskRows:  # a row
    """Return masks of chips, one row per domain of the cluster."""
    packed = np.zeros((cluster.domains, pack_masks([model.full], model.chips).shape[1]), np.uint64)
    for row, mask in masks_by_domain(chips, cluster, model).items():
        packed[row] = pack_masks([mask], model.chips)[0]
    return packed


def read_cluster(connection: Connection, key: int) -> Any:  # a row
    """Return the row of a cluster and the slug of its domain model.

    Raises
    ------
    InvalidArgumentError
        Its domains are of several models.

    """
    cluster, model = _T["cluster"], _T["domain_model"]
    query = select(cluster, model.c.slug.label("model")).outerjoin(model, model.c.id == cluster.c.domain_model_id)
    row = connection.execute(query.where(cluster.c.id == key)).one()
    if row.model is None:
        raise InvalidArgumentError(
            f"{row.slug} has domains of several models, which placement does not support; allocate chips by "
            "address (v_domain_free lists free ones)"
        )
    return row


def _load_capacity(connection: Connection, cluster: Any) -> FreeCapacity:  # a row
    model = placement_model(cluster.model)
    all_chips = np.tile(pack_masks([model.full], model.chips), (cluster.domains, 1))
    allocated = _read_allocated_words(connection, cluster, all_chips.shape[1])
    cordoned = np.zeros_like(all_chips)
    for ordinal, server in _read_cordoned(connection, cluster.id):
        cordoned[ordinal] |= pack_masks([model.server_masks[server]], model.chips)[0]
    capacity = FreeCapacity(
        cluster.slug, model, np.arange(cluster.domains), all_chips, all_chips.copy(), allocated, cordoned
    )
    return _with_unhealthy_parts(capacity, _read_unhealthy_parts(connection, cluster, model))


def _read_allocated_words(connection: Connection, cluster: Any, width: int) -> MaskRows:  # a row
    """Return the allocated chips by domain, in ``width`` words."""
    table, first_id = _T["domain_allocated"], cluster.first_domain_id
    columns = list(table.c)[: 1 + width]
    query = select(*columns).where(table.c.id >= first_id, table.c.id < first_id + cluster.domains)
    rows = connection.execute(query).all()
    listed = np.fromiter(chain.from_iterable(rows), np.int64).reshape(-1, len(columns))
    packed = np.zeros((cluster.domains, width), np.int64)
    packed[listed[:, 0] - first_id] = listed[:, 1:]
    return packed.view(np.uint64)


def _read_cordoned(connection: Connection, cluster: int) -> list[tuple[int, int]]:
    """Return the ordinals of domain and server of each cordoned server."""
    cordon_table, server, domain = _T["cordon"], _T["server"], _T["domain"]
    query = (
        select(domain.c.ordinal, server.c.ordinal)
        .select_from(cordon_table)
        .join(server, server.c.id == cordon_table.c.server_id)
        .join(domain, domain.c.id == server.c.domain_id)
        .where(cordon_table.c.ended_at.is_(None), domain.c.cluster_id == cluster)
    )
    return [(row[0], row[1]) for row in connection.execute(query)]


def _read_unhealthy_parts(connection: Connection, cluster: Any, model: PlacementModel) -> UnhealthyParts:  # a row
    node, link = _T["node"], _T["link"]
    parts: list[tuple[tuple[int, ...], Any]] = [
        ((row.id,), row)
        for row in connection.execute(select(node).where(is_unhealthy(node), maybe_unhealthy(connection, node)))
    ]
    unhealthy_links = select(link).where(
        is_unhealthy(link), maybe_unhealthy(connection, link)
    )  # by its index; _to_local_parts drops other clusters
    parts += [((row.a_id, row.b_id), row) for row in connection.execute(unhealthy_links)]
    carried = ((ids, (row.factor_ppm or PPM) if row.state in CARRYING_STATES else 0) for ids, row in parts)
    return _to_local_parts(cluster, model, carried)


def _assumed_part_states(reader: SnapshotReader, cluster: Any, model: PlacementModel) -> UnhealthyParts:  # a row
    link, changes = _T["link"], reader.changes
    keys = list(changes.links)
    ends = reader.connection.execute(select(link).where(link.c.id.in_(keys))) if keys else ()
    nodes = (((node,), carried_ppm) for node, carried_ppm in changes.nodes.items())
    return _to_local_parts(cluster, model, [*nodes, *(((row.a_id, row.b_id), changes.links[row.id]) for row in ends)])


def _to_local_parts(
    cluster: Any, model: PlacementModel, parts: Iterable[tuple[tuple[int, ...], int]]
) -> UnhealthyParts:  # a row
    """Map nodes and links from ids to domain rows and local numbers; parts elsewhere are skipped."""
    parts_by_row: dict[int, dict[LocalPart, int]] = {}
    for ids, carried_ppm in parts:
        places = [divmod(key - cluster.first_node_id, model.node_count) for key in ids]
        rows = {row for row, _ in places}
        if len(rows) > 1 or not 0 <= min(rows) < cluster.domains:
            continue
        local = tuple(sorted(number for _, number in places))
        key: LocalPart = local[0] if len(local) == 1 else (local[0], local[1])
        local_parts = parts_by_row.setdefault(min(rows), {})
        local_parts[key] = min(carried_ppm, local_parts.get(key, PPM))
    return parts_by_row


def _with_unhealthy_parts(capacity: FreeCapacity, added: UnhealthyParts) -> FreeCapacity:
    """Return a copy with additional unhealthy parts."""
    up, unhealthy_parts = capacity.up.copy(), {row: dict(parts) for row, parts in capacity.unhealthy_parts.items()}
    for row, parts in added.items():
        row_parts = unhealthy_parts.setdefault(row, {})
        for part, carried_ppm in parts.items():
            row_parts[part] = min(carried_ppm, row_parts.get(part, PPM))
        down = sum(1 << part for part, carried_ppm in parts.items() if isinstance(part, int) and not carried_ppm)
        up[row] &= ~pack_masks([down & capacity.model.full], capacity.model.chips)[0]
    return replace(capacity, up=up, unhealthy_parts=unhealthy_parts)


def _chips_of_place(connection: Connection, place: Place, cluster: Any, capacity: FreeCapacity) -> MaskRows:  # a row
    """Return the chips of a place, as rows of its cluster."""
    if place.level == "cluster":
        return capacity.in_scope
    return pack_by_domain(connection.scalars(chip_ids_of(place)), cluster, capacity.model)
