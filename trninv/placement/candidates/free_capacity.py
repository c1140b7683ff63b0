"""Read which chips of a scope are usable, allocated, cordoned and free, as all placement answers define these words.

A scope is the cluster, domain, rack, server or chip that a question is about. A set of chips of one domain is a bit
mask: bit i is chip i, counted server by server, and the lowest bit is written on the right. ``&`` is intersection and
``& ~`` is difference. Example: a domain of two servers with four chips each. Server 0 has chips 0 to 3 (the right half)
and is cordoned; chip 4 is down; a job has chips 0 and 1::

    chip                                    7654 3210
    in_scope   chips of the scope           1111 1111
    up         chips that carry traffic     1110 1111
    allocated  chips of jobs, down or not   0000 0011
    cordoned   chips of cordoned servers    0000 1111

    usable     up & in_scope                             1110 1111
    available  usable & ~allocated & ~cordoned           1110 0000
    free       available & ~reserved                     1110 0000
    unusable   in_scope & ~allocated & ~available        0001 1100

Allocated, available and unusable chips together are all chips (2 + 3 + 3 = 8). Nothing is reserved here. A job fits on
chips 5 and 6, the mask ``1 << 5 | 1 << 6`` = ``0110 0000`` = 96, because ``96 & ~free`` is 0.

`FreeCapacity` has such masks for many domains at once: each of its arrays has a row per domain, and each row is the
domain's mask cut into words of 64 bits. The example is a single row with one word: ``free`` is ``[[224]]``, because
128 + 64 + 32 = 224. `pack_masks` makes rows from masks, and `unpack_masks` masks from rows.
`trninv.inventory.state.chip_use` computes the same in SQL, without reservations: there, available chips are free.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, chain, groupby, islice
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, bindparam, func, select

from trninv.database.as_of import maybe_unhealthy
from trninv.database.bulk_read import batches
from trninv.database.sql_constructs import JoinedIntegers, OrderedJoin
from trninv.database.tables import BITMASK_WORDS, CARRYING_STATES, TABLES, is_unhealthy
from trninv.errors import SeveralModelsError
from trninv.inventory.address.lookup import Place, resolve_place
from trninv.inventory.address.rows_in import row_ids_in
from trninv.inventory.address.syntax import expand_chip_ranges
from trninv.inventory.state.condition import PPM
from trninv.placement.allocations.job_scenario import resolve_jobs
from trninv.placement.candidates.link_failures import LinkFailures, UnhealthyParts, find_link_failures
from trninv.placement.candidates.placement_model import LocalPart, PlacementModel, placement_model
from trninv.routing.snapshot import Snapshot
from trninv.solvers.torus_blocks import BlockLimits, MaskRows, pack_masks, unique_rows

_T: Final = TABLES
_MAX_EXAMPLES: Final = 3
"""The maximum number of domains that a message names."""


class ConsecutiveDomains(NamedTuple):
    """Consecutive domains of one model, whose ids and whose nodes' ids are consecutive too.

    Attributes
    ----------
    first_row
        Number of the first domain in its group.
    domains
        Number of domains.
    first_ordinal, first_domain_id, first_node_id
        Ordinal and id of the first domain, and id of its first node.

    """

    first_row: int
    domains: int
    first_ordinal: int
    first_domain_id: int
    first_node_id: int


class ModelDomains(NamedTuple):
    """The domains of one model in a cluster: placement searches in these.

    Attributes
    ----------
    id, slug
        Id and slug of the cluster.
    model
        Slug of the domain model.
    ranges
        The domains, in order; those of a cluster of one model are one range.
    is_whole
        Whether these are all domains of the cluster.

    """

    id: int
    slug: str
    model: str
    ranges: tuple[ConsecutiveDomains, ...]
    is_whole: bool

    @classmethod
    def of_cluster(cls, row: Row[Any]) -> "ModelDomains":
        """Return all domains of a cluster of one model: a row of ``cluster`` with the slug of the model."""
        whole = ConsecutiveDomains(0, row.domains, 0, row.first_domain_id, row.first_node_id)
        return cls(row.id, row.slug, row.model, (whole,), True)

    @property
    def domains(self) -> int:
        """The number of domains."""
        return self.ranges[-1].first_row + self.ranges[-1].domains

    @property
    def domain_ids(self) -> NDArray[np.int64]:
        """The ids of the domains, by row."""
        return np.concatenate([part.first_domain_id + np.arange(part.domains) for part in self.ranges])

    @property
    def ordinals(self) -> NDArray[np.int64]:
        """The ordinals of the domains, by row."""
        return np.concatenate([part.first_ordinal + np.arange(part.domains) for part in self.ranges])

    def domain_id_span(self) -> dict[str, int]:
        """Return the first id and the one after the last, between which other groups may have domains too."""
        first, last = self.ranges[0], self.ranges[-1]
        return {"first": first.first_domain_id, "end": last.first_domain_id + last.domains}

    def ordinal(self, row: int) -> int:
        """Return the ordinal of a row's domain."""
        part = self.ranges[bisect_right(self.ranges, row, key=lambda part: part.first_row) - 1]
        return part.first_ordinal + row - part.first_row

    def rows_by_ordinal(self) -> dict[int, int]:
        """Return the row of each domain by its ordinal."""
        return {ordinal: row for row, ordinal in enumerate(self.ordinals.tolist())}

    def locate(self, nodes: Iterable[int], node_count: int) -> Iterator[tuple[int, int]]:
        """Yield the row of each node (an id) and its number in the domain; the row is −1 elsewhere.

        The nodes of a range have consecutive ids, domain by domain, and the chips of a domain come first.
        """
        ids, ranges = np.fromiter(nodes, np.int64), np.array(self.ranges)
        first_rows, domains, _, _, first_ids = ranges[np.searchsorted(ranges[:, -1], ids, side="right") - 1].T
        rows, numbers = np.divmod(ids - first_ids, node_count)
        rows = np.where((rows >= 0) & (rows < domains), first_rows + rows, -1)
        return zip(rows.tolist(), numbers.tolist(), strict=True)


@dataclass(frozen=True)
class FreeCapacity:
    """The chips of a scope: in each array, one row per domain.

    Attributes
    ----------
    group
        The domains that this is a part of.
    ordinals
        Numbers of the domains in their group, ascending.
    in_scope, up, allocated, cordoned
        Masks of chips, as in the module's example.
    unhealthy_parts
        Parts per million of its bandwidth that each unhealthy chip, link, switch and NIC still carries, by row; 0 if it
        is down.
    reserved
        Chips that are reserved for another job or for maintenance (`trninv.placement.candidates.reserved_chips`); None:
        the question heeds no reservations.

    """

    group: ModelDomains
    model: PlacementModel
    ordinals: NDArray[np.int64]
    in_scope: MaskRows
    up: MaskRows
    allocated: MaskRows
    cordoned: MaskRows
    unhealthy_parts: UnhealthyParts = field(default_factory=dict)
    reserved: MaskRows | None = None

    @cached_property
    def usable(self) -> MaskRows:
        """Chips of the scope that carry traffic."""
        return self.up & self.in_scope

    @cached_property
    def available(self) -> MaskRows:
        """Chips that a new job may get if no reservation has them."""
        return self.usable & ~self.allocated & ~self.cordoned

    @cached_property
    def free(self) -> MaskRows:
        """Chips that a new job may get."""
        return self.available if self.reserved is None else self.available & ~self.reserved

    @cached_property
    def only_reserved(self) -> MaskRows:
        """Chips that are not free only because they are reserved."""
        return self.available & ~self.free

    @cached_property
    def only_cordoned(self) -> MaskRows:
        """Chips that are not available only because their servers are cordoned."""
        return self.usable & ~self.allocated & self.cordoned

    @cached_property
    def unusable(self) -> MaskRows:
        """Chips that are neither allocated nor available."""
        return self.in_scope & ~self.allocated & ~self.available

    @cached_property
    def degraded(self) -> MaskRows:
        """Chips that are unhealthy (also down) or have an unhealthy NIC, in the domains of `failures_by_row`."""
        masks = np.zeros_like(self.in_scope)
        for row, failures in self.failures_by_row.items():
            masks[row] = pack_masks([failures.unhealthy_chips], self.model.chips)[0]
        return masks

    @cached_property
    def domain_classes(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The result of `classify_domains` by free chips only."""
        return self.classify_domains()

    def classify_domains(self, *masks: MaskRows) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Group domains into classes with equal free chips and equal ``masks``, so that each class is searched once.

        Returns
        -------
            The first row of each class, and the class of each row. A domain with failures is a class of its own.

        """
        own_class = np.zeros((len(self.free), 1), np.uint64)
        with_failures = sorted(self.failures_by_row)
        own_class[with_failures, 0] = np.array(with_failures, np.uint64) + 1
        return unique_rows(np.hstack([self.free, *masks, own_class]))

    @cached_property
    def failures_by_row(self) -> Mapping[int, LinkFailures]:
        """Failures by row; a row whose only unhealthy parts are chips that are down is omitted: ``up`` lacks them."""
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
        """Return the limits of a set of chips of a row, with the row's failures."""
        return (
            self.model.degraded_limits(mask, self.link_failures(row).link_capacities)
            if row in self.unhealthy_parts
            else self.model.limits(mask)
        )

    def is_degraded(self, row: int, mask: int) -> bool:
        """Return `LinkFailures.is_degraded` for a set of chips of a row."""
        return self.link_failures(row).is_degraded(mask)

    def select(self, rows: Sequence[int], in_scope: MaskRows) -> "FreeCapacity":
        """Return the capacity of some rows, with a new scope: ``in_scope`` has a row for every row of this capacity."""
        up, allocated, cordoned = (sets[rows] for sets in (self.up, self.allocated, self.cordoned))
        unhealthy_parts = {
            index: self.unhealthy_parts[row] for index, row in enumerate(rows) if row in self.unhealthy_parts
        }
        return replace(
            self,
            ordinals=self.ordinals[rows],
            in_scope=in_scope[rows],
            up=up,
            allocated=allocated,
            cordoned=cordoned,
            unhealthy_parts=unhealthy_parts,
            reserved=None if self.reserved is None else self.reserved[rows],
        )

    def with_allocated(self, allocated: MaskRows) -> "FreeCapacity":
        """Return a copy with other chips allocated."""
        return self._with_failures_kept(replace(self, allocated=allocated))

    def with_reserved(self, reserved: MaskRows | None) -> "FreeCapacity":
        """Return a copy with other chips reserved."""
        return self._with_failures_kept(replace(self, reserved=reserved))

    def _with_failures_kept(self, updated: "FreeCapacity") -> "FreeCapacity":
        # Fill the copy's cached property: it is slow to compute, and independent of allocations and reservations.
        updated.__dict__["failures_by_row"] = self.failures_by_row
        return updated

    def all_up(self) -> "FreeCapacity":
        """Return a copy with all parts up."""
        return replace(self, up=self.in_scope | self.up, unhealthy_parts={})

    def addresses_of(self, row: int, mask: int) -> tuple[str, ...]:
        """Return the fewest addresses that name exactly a set of chips: the domain, whole servers or single chips."""
        if mask == self.model.full:
            return (self.domain_address(row),)
        servers = self.server_addresses(row, mask)
        has_whole_servers = mask.bit_count() == len(servers) * self.model.chips_per_server
        return servers if has_whole_servers else self.chip_addresses(row, mask)

    def chip_addresses(self, row: int, mask: int) -> tuple[str, ...]:
        """Return the address of each chip of a set."""
        per_server = self.model.chips_per_server
        bits = (bit for bit in range(self.model.chips) if mask >> bit & 1)
        return tuple(f"{self.domain_address(row)}/s{bit // per_server}/c{bit % per_server}" for bit in bits)

    def server_addresses(self, row: int, mask: int) -> tuple[str, ...]:
        """Return the addresses of the servers that contain chips of a set."""
        servers = (server for server, server_mask in enumerate(self.model.server_masks) if mask & server_mask)
        return tuple(f"{self.domain_address(row)}/s{server}" for server in servers)

    def domain_address(self, row: int) -> str:
        """Return the address of a row's domain."""
        return f"{self.group.slug}/d{self.group.ordinal(int(self.ordinals[row]))}"


def count_chips(sets: MaskRows) -> int:
    """Count the chips of all rows."""
    return int(np.bitwise_count(sets).sum())


def read_capacity(snapshot: Snapshot, scope: str, avoid: Collection[str] = ()) -> FreeCapacity:
    """Read the capacity of a scope, under the snapshot's scenario if it has one.

    Parameters
    ----------
    avoid
        Places whose chips are excluded.

    Raises
    ------
    AddressError, UnknownAddressError, WrongLevelError
        The scope or a place does not exist or has no chips.
    SeveralModelsError
        The scope has domains of several models.

    """
    capacity, chips = _read_with_scope(snapshot, scope, avoid)
    if chips is None:
        return capacity
    rows: Sequence[int] = np.flatnonzero(chips.any(axis=1)).tolist()  # the domains with chips in scope
    return capacity.select(rows, capacity.in_scope & chips)


def read_group_capacity(snapshot: Snapshot, address: str) -> FreeCapacity:
    """Read the capacity of the cluster's domains of the model that a place has."""
    return _read_with_scope(snapshot, address, ())[0]


def read_cluster_capacity(snapshot: Snapshot, scope: str) -> FreeCapacity:
    """Read the capacity of the cluster's domains of the scope's model; outside the scope, no chips are in scope."""
    capacity, chips = _read_with_scope(snapshot, scope, ())
    return capacity if chips is None else replace(capacity, in_scope=capacity.in_scope & chips)


def _read_with_scope(snapshot: Snapshot, scope: str, avoid: Collection[str]) -> tuple[FreeCapacity, MaskRows | None]:
    """Return the capacity of the domains of a scope's model, and the scope's chips; None if it is the whole cluster.

    Chips of places to avoid are not in the capacity's scope.
    """
    place = resolve_place(snapshot.connection, scope)
    group = read_domain_group(snapshot.connection, place)
    capacity: FreeCapacity = snapshot.cached(
        ("free capacity", group.id, group.model), lambda: _load_capacity(snapshot.connection, group)
    )
    if snapshot.changes.assumed_allocations or snapshot.changes.assumed_released:
        capacity = _apply_job_scenario(snapshot, group, capacity)
    if snapshot.changes.nodes or snapshot.changes.links:
        capacity = _with_unhealthy_parts(capacity, _assumed_part_states(snapshot, group, capacity.model))
    for address in expand_chip_ranges(avoid):
        avoided = resolve_place(snapshot.connection, address)
        if avoided.cluster_id == place.cluster_id:
            capacity = replace(
                capacity, in_scope=capacity.in_scope & ~_chips_of_place(snapshot.connection, avoided, group, capacity)
            )
    return capacity, None if place.level == "cluster" else _chips_of_place(snapshot.connection, place, group, capacity)


def _apply_job_scenario(snapshot: Snapshot, group: ModelDomains, capacity: FreeCapacity) -> FreeCapacity:
    """Return a copy in which jobs have ended, or have got chips, as the scenario says."""
    jobs, allocated = resolve_jobs(snapshot.connection, snapshot.changes), capacity.allocated
    for chips in jobs.ended.values():
        allocated = allocated & ~pack_by_domain(chips, group, capacity.model)
    for chips in jobs.allocated.values():
        allocated = allocated | pack_by_domain(chips, group, capacity.model)
    return capacity.with_allocated(allocated)


def masks_by_domain(chips: Iterable[int], group: ModelDomains, model: PlacementModel) -> dict[int, int]:
    """Return masks of chips (ids) by the number of the domain in a group; chips of other domains are skipped."""
    masks: dict[int, int] = {}
    for row, bit in group.locate(chips, model.node_count):
        if row >= 0:
            masks[row] = masks.get(row, 0) | 1 << bit
    return masks


def pack_by_domain(chips: Iterable[int], group: ModelDomains, model: PlacementModel) -> MaskRows:
    """Return masks of chips (ids), one row per domain of the group."""
    packed = np.zeros((group.domains, pack_masks([model.full], model.chips).shape[1]), np.uint64)
    for row, mask in masks_by_domain(chips, group, model).items():
        packed[row] = pack_masks([mask], model.chips)[0]
    return packed


def read_domain_group(connection: Connection, place: Place) -> ModelDomains:
    """Return the cluster's domains of the model that a place has.

    Raises
    ------
    SeveralModelsError
        The place has domains of several models.

    """
    cluster, domain, node, model = (_T[name] for name in ("cluster", "domain", "node", "domain_model"))
    query = select(cluster, model.c.slug.label("model")).outerjoin(model, model.c.id == cluster.c.domain_model_id)
    row = connection.execute(query.where(cluster.c.id == place.cluster_id)).one()
    if row.model is not None:
        return ModelDomains.of_cluster(row)
    ids = () if place.level == "cluster" else row_ids_in(place, "chip")
    in_scope = set(connection.scalars(select(node.c.domain_id).where(node.c.id.in_(ids)).distinct()))
    domains = connection.execute(
        select(domain.c.id, domain.c.ordinal, model.c.slug)
        .join(model, model.c.id == domain.c.domain_model_id)
        .where(domain.c.cluster_id == row.id)
        .order_by(domain.c.ordinal)
    )
    ranges: dict[str, list[list[Any]]] = {}
    for slug, neighbors in groupby(domains, key=lambda domain_row: domain_row.slug):
        ranges.setdefault(slug, []).append(list(neighbors))
    for slug, parts in ranges.items():
        if in_scope and in_scope <= {domain_row.id for part in parts for domain_row in part}:
            first_nodes = select(func.min(node.c.id)).group_by(node.c.domain_id)
            batches_of_ids = batches(part[0].id for part in parts)
            queries = (first_nodes.where(node.c.domain_id.in_(batch)) for batch in batches_of_ids)
            nodes = sorted(chain.from_iterable(map(connection.scalars, queries)))  # in the order of their domains
            first_rows = accumulate((len(part) for part in parts), initial=0)
            return ModelDomains(
                row.id,
                row.slug,
                slug,
                tuple(
                    ConsecutiveDomains(first_row, len(part), part[0].ordinal, part[0].id, first_node)
                    for first_row, part, first_node in zip(first_rows, parts, nodes, strict=False)
                ),
                False,
            )
    examples = list[str]()
    for slug, parts in ranges.items():
        in_both = (domain_row for part in parts for domain_row in part if not in_scope or domain_row.id in in_scope)
        examples += [f"{row.slug}/d{domain_row.ordinal} ({slug})" for domain_row in islice(in_both, 1)]
    raise SeveralModelsError(
        f"{place.address} has domains of several models, which placement does not support together; name one domain, "
        f"such as {' or '.join(examples[:_MAX_EXAMPLES])}, or allocate chips by address"
    )


def _load_capacity(connection: Connection, group: ModelDomains) -> FreeCapacity:
    """Read the capacity of a group of domains, without any scenario."""
    return with_unhealthy_parts(connection, read_capacity_without_failures(connection, group))


def read_capacity_without_failures(connection: Connection, group: ModelDomains) -> FreeCapacity:
    """Read the capacity of a group of domains as if all parts were up."""
    model = placement_model(group.model)
    all_chips = np.tile(pack_masks([model.full], model.chips), (group.domains, 1))
    allocated = _read_allocated_words(connection, group, all_chips.shape[1])
    cordoned = np.zeros_like(all_chips)
    rows = dict(zip(group.domain_ids.tolist(), range(group.domains), strict=True))
    for domain, server in connection.execute(_CORDONED, group.domain_id_span()):
        if domain in rows:
            cordoned[rows[domain]] |= pack_masks([model.server_masks[server]], model.chips)[0]
    return FreeCapacity(group, model, np.arange(group.domains), all_chips, all_chips, allocated, cordoned)


def with_unhealthy_parts(
    connection: Connection, capacity: FreeCapacity, domains: Sequence[int] | None = None
) -> FreeCapacity:
    """Return a copy of a group's capacity with the states of its parts, or of those of some domains."""
    return _with_unhealthy_parts(capacity, _read_unhealthy_parts(connection, capacity.group, capacity.model, domains))


def _read_allocated_words(connection: Connection, group: ModelDomains, width: int) -> MaskRows:
    """Return the allocated chips, ``width`` words for each domain; a domain without allocations may have no row."""
    texts = connection.execute(_ALLOCATED_WORDS[width - 1], group.domain_id_span()).one()
    domain_ids, *words = (np.fromstring(text or "", np.int64, sep=",") for text in texts)
    packed, ids = np.zeros((group.domains, width), np.int64), group.domain_ids
    rows = np.searchsorted(ids, domain_ids)
    is_own = ids[rows] == domain_ids  # between them, there may be domains of other models
    packed[rows[is_own]] = np.column_stack(words)[is_own]
    return packed.view(np.uint64)


_ALLOCATED: Final = _T["domain_allocated"]
_ALLOCATED_WORDS: Final = tuple(
    select(*(JoinedIntegers(column, _ALLOCATED.c.id) for column in list(_ALLOCATED.c)[: 2 + word])).where(
        _ALLOCATED.c.id >= bindparam("first"), _ALLOCATED.c.id < bindparam("end")
    )
    for word in range(BITMASK_WORDS)
)
"""By number of words: the ids of domains and their words, a text for each, which is read faster than the rows."""
_CORDON, _SERVER = _T["cordon"], _T["server"]
_CORDONED: Final = (
    select(_SERVER.c.domain_id, _SERVER.c.ordinal)
    # cordons first: they are few
    .select_from(OrderedJoin(_CORDON, _SERVER, _SERVER.c.id == _CORDON.c.server_id))
    .where(
        _CORDON.c.ended_at.is_(None), _SERVER.c.domain_id >= bindparam("first"), _SERVER.c.domain_id < bindparam("end")
    )
)
"""The id of each cordoned server's domain, and the ordinal of the server in it."""


def _read_unhealthy_parts(
    connection: Connection, group: ModelDomains, model: PlacementModel, domains: Sequence[int] | None
) -> UnhealthyParts:
    """Return the unhealthy nodes and links of a group of domains, or of some of them (by number)."""
    node, link = _T["node"], _T["link"]
    # The index of unhealthy parts is fast without a condition on the cluster; `_to_local_parts` drops those of others.
    nodes, links = (
        select(*keys, table.c.state, table.c.factor_ppm).where(is_unhealthy(table), maybe_unhealthy(connection, table))
        for table, keys in ((node, (node.c.id,)), (link, (link.c.a_id, link.c.b_id)))
    )
    if domains is not None:
        ids = group.domain_ids[list(domains)].tolist()
        nodes, links = nodes.where(node.c.domain_id.in_(ids)), links.where(link.c.domain_id.in_(ids))
    rows = chain(connection.execute(nodes), connection.execute(links))
    carried = ((ids, (factor_ppm or PPM) if state in CARRYING_STATES else 0) for *ids, state, factor_ppm in rows)
    return _to_local_parts(group, model, carried)


def _assumed_part_states(snapshot: Snapshot, group: ModelDomains, model: PlacementModel) -> UnhealthyParts:
    """Return the nodes and links that are down or degraded in the scenario."""
    link, changes = _T["link"], snapshot.changes
    link_ids = list(changes.links)
    link_rows = snapshot.connection.execute(select(link).where(link.c.id.in_(link_ids))) if link_ids else ()
    nodes = (((node,), carried_ppm) for node, carried_ppm in changes.nodes.items())
    links = (((row.a_id, row.b_id), changes.links[row.id]) for row in link_rows)
    return _to_local_parts(group, model, [*nodes, *links])


def _to_local_parts(
    group: ModelDomains, model: PlacementModel, parts: Iterable[tuple[Sequence[int], int]]
) -> UnhealthyParts:
    """Map nodes (one id) and links (two ids) to rows and to the numbers of nodes in the domain.

    Each part has the parts per million that it still carries. Parts outside the group are skipped.
    """
    parts_by_row, parts = dict[int, dict[LocalPart, int]](), list(parts)
    located = group.locate(chain.from_iterable(node_ids for node_ids, _ in parts), model.node_count)
    for node_ids, carried_ppm in parts:
        row_numbers = [next(located) for _ in node_ids]
        row = row_numbers[0][0]
        if row < 0 or any(other != row for other, _ in row_numbers):
            continue
        numbers = sorted(number for _, number in row_numbers)
        part: LocalPart = numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])
        row_parts = parts_by_row.setdefault(row, {})
        row_parts[part] = min(carried_ppm, row_parts.get(part, PPM))
    return parts_by_row


def _with_unhealthy_parts(capacity: FreeCapacity, added: UnhealthyParts) -> FreeCapacity:
    """Return a copy with additional unhealthy parts; a part that is already unhealthy carries the smaller value."""
    up, unhealthy_parts = capacity.up.copy(), {row: dict(parts) for row, parts in capacity.unhealthy_parts.items()}
    for row, parts in added.items():
        row_parts = unhealthy_parts.setdefault(row, {})
        for part, carried_ppm in parts.items():
            row_parts[part] = min(carried_ppm, row_parts.get(part, PPM))
        down = sum(1 << part for part, carried_ppm in parts.items() if isinstance(part, int) and not carried_ppm)
        up[row] &= ~pack_masks([down & capacity.model.full], capacity.model.chips)[0]
    return replace(capacity, up=up, unhealthy_parts=unhealthy_parts)


def _chips_of_place(connection: Connection, place: Place, group: ModelDomains, capacity: FreeCapacity) -> MaskRows:
    """Return the chips of a place as masks, one row per domain of the group."""
    if place.level == "cluster":
        return capacity.in_scope
    return pack_by_domain(connection.scalars(row_ids_in(place, "chip")), group, capacity.model)
