"""Pack the state and memory pool size of every chip of a cluster into two bytes per chip, for whole-cluster maps.

The service sends these bytes to the explorer (GET /chips), and `trninv.drawing.fleet_map` draws them. A chip's pool is
the set of chips that carry traffic (up or degraded) and that it reaches over scale-up links, including itself.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Select, func, select

from trninv import solvers
from trninv.database.as_of import maybe_unhealthy
from trninv.database.tables import CARRYING_STATES, STATES, TABLES, is_unhealthy
from trninv.inventory.address.lookup import resolve_place
from trninv.routing.domain_failures import failures_by_domain

_DOMAIN, _SERVER, _NODE, _CHIP, _LINK = (TABLES[name] for name in ("domain", "server", "node", "chip", "link"))

MAGIC: Final = b"TRNI"
"""First bytes of `ClusterOverview.to_bytes`."""

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class DomainRange:
    """Consecutive domains of a cluster that are of one model.

    ``first_domain``, ``first_chip`` and ``first_rack`` are the numbers of domains, chips and racks before the range.
    """

    domains: int
    servers_per_domain: int
    chips_per_server: int
    servers_per_rack: int
    first_domain: int = 0
    first_chip: int = 0
    first_rack: int = 0

    @property
    def chips_per_domain(self) -> int:
        """Chips in each domain."""
        return self.chips_per_server * self.servers_per_domain

    @property
    def chips(self) -> int:
        """Chips in all domains."""
        return self.domains * self.chips_per_domain

    @property
    def racks(self) -> int:
        """Racks of all domains, rounded up."""
        return -(-self.domains * self.servers_per_domain // self.servers_per_rack)

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Domains, servers per domain, chips per server, servers per rack."""
        return self.domains, self.servers_per_domain, self.chips_per_server, self.servers_per_rack


@dataclass(frozen=True, slots=True)
class ClusterOverview:
    """All chips of a cluster in the order of their addresses.

    Attributes
    ----------
    ranges
        The cluster's domains in the order of their ordinals, in ranges of consecutive domains of one model.
    states
        One byte per chip: the index of its state in `STATES`.
    pool_sizes
        One byte per chip: the number of chips in its pool; 0 if it carries nothing.

    """

    cluster: str
    ranges: tuple[DomainRange, ...]
    states: bytes
    pool_sizes: bytes

    @property
    def chips(self) -> int:
        """Number of chips."""
        return len(self.states)

    @property
    def domains(self) -> int:
        """Number of domains."""
        return sum(domain_range.domains for domain_range in self.ranges)

    def address(self, chip: int) -> str:
        """Return the address of a chip, by its index in the order of addresses."""
        domain_range = next(domain_range for domain_range in reversed(self.ranges) if domain_range.first_chip <= chip)
        server, ordinal = divmod(chip - domain_range.first_chip, domain_range.chips_per_server)
        domain, server_ordinal = divmod(server, domain_range.servers_per_domain)
        return f"{self.cluster}/d{domain_range.first_domain + domain}/s{server_ordinal}/c{ordinal}"

    def to_bytes(self) -> bytes:
        """Return the body that /chips serves: MAGIC, little-endian 32-bit integers, the states and the pool sizes.

        For a cluster of one model the integers are the format's version (1), chips, chips per server, servers per
        domain and servers per rack. For several models they are the version (2), chips, the number of ranges, and for
        each range its domains, servers per domain, chips per server and servers per rack.
        """
        if len(self.ranges) == 1:
            _, *sizes = self.ranges[0].sizes
            numbers = [1, self.chips, sizes[1], sizes[0], sizes[2]]
        else:
            numbers = [
                2,
                self.chips,
                len(self.ranges),
                *(size for domain_range in self.ranges for size in domain_range.sizes),
            ]
        return MAGIC + struct.pack(f"<{len(numbers)}I", *numbers) + self.states + self.pool_sizes


def read_overview(connection: Connection, cluster: str) -> ClusterOverview:
    """Read the overview of a cluster.

    The tables are read for unhealthy parts, and for the chips and links of one domain per set of domains with equal
    failures. The rest follows from the domain models.

    Raises
    ------
    AddressError, UnknownAddressError

    """
    place = resolve_place(connection, cluster)
    ranges = domain_ranges(connection, place.cluster_id)
    states = np.zeros(sum(domain_range.chips for domain_range in ranges), dtype=np.uint8)
    pool_sizes = np.concatenate(
        [np.full(domain_range.chips, domain_range.chips_per_domain, dtype=np.uint8) for domain_range in ranges]
    )
    if unhealthy := connection.execute(
        _chips_query(_NODE.c.state).where(*_unhealthy_conditions(connection, place.cluster_id))
    ).all():
        positions = chip_positions(ranges, np.array([(chip.domain, chip.server, chip.ordinal) for chip in unhealthy]))
        states[positions] = [STATES.index(chip.state) for chip in unhealthy]
    for first_chip, sizes in _pool_sizes_by_domain(connection, place.cluster_id, ranges):
        pool_sizes[first_chip : first_chip + len(sizes)] = sizes
    return ClusterOverview(place.address, ranges, states.tobytes(), pool_sizes.tobytes())


def chip_positions(ranges: Sequence[DomainRange], ordinals: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index of each chip in the order of addresses; a row has its domain's, its server's and its ordinal."""
    positions = np.zeros(len(ordinals), dtype=np.int64)
    domain, server, chip = ordinals.T
    for domain_range in ranges:
        chips_before = (domain - domain_range.first_domain) * domain_range.chips_per_domain
        position = domain_range.first_chip + chips_before + server * domain_range.chips_per_server + chip
        positions = np.where(domain >= domain_range.first_domain, position, positions)
    return positions


def domain_ranges(connection: Connection, cluster: int) -> tuple[DomainRange, ...]:
    """Return the ranges of consecutive domains of one model in a cluster, by the cluster's id."""
    return tuple(_read_domain_ranges(connection, cluster))


def _read_domain_ranges(connection: Connection, cluster: int) -> Iterator[DomainRange]:
    server_model, model = TABLES["server_model"], TABLES["domain_model"]
    domains = connection.execute(
        select(_DOMAIN.c.id, model.c.servers, server_model.c.chips, _DOMAIN.c.domain_model_id)
        .join(model, model.c.id == _DOMAIN.c.domain_model_id)
        .join(server_model, server_model.c.id == model.c.server_model_id)
        .where(_DOMAIN.c.cluster_id == cluster)
        .order_by(_DOMAIN.c.ordinal)
    )
    domain = chip = rack = 0
    for _, domain_rows in groupby(domains, key=lambda row: row.domain_model_id):
        first, *rest = domain_rows
        per_rack = _servers_per_rack(connection, first.id)
        domain_range = DomainRange(1 + len(rest), first.servers, first.chips, per_rack, domain, chip, rack)
        yield domain_range
        domain, chip, rack = domain + domain_range.domains, chip + domain_range.chips, rack + domain_range.racks


def _chips_query(*columns: ColumnElement[Any]) -> Select[Any]:
    """Select the ordinals of each chip, its server and its domain, and further columns."""
    chips = _CHIP.join(_NODE, _NODE.c.id == _CHIP.c.id).join(_SERVER).join(_DOMAIN)
    ordinals = _DOMAIN.c.ordinal.label("domain"), _SERVER.c.ordinal.label("server"), _CHIP.c.ordinal
    return select(*ordinals, *columns).select_from(chips)


def _unhealthy_conditions(connection: Connection, cluster: int) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for a cluster's unhealthy nodes."""
    # + 0 keeps the database from using the index by cluster, which is slower than the index of the few unhealthy rows
    return is_unhealthy(_NODE), maybe_unhealthy(connection, _NODE), _NODE.c.cluster_id + 0 == cluster


def _pool_sizes_by_domain(
    connection: Connection, cluster: int, ranges: Sequence[DomainRange]
) -> Iterator[tuple[int, Bytes]]:
    """Yield the index of the first chip, and the pool sizes, of each domain with a part that carries nothing."""
    ordinals = select(_DOMAIN.c.id, _DOMAIN.c.ordinal).where(_DOMAIN.c.cluster_id == cluster)
    ordinal_of = {row.id: row.ordinal for row in connection.execute(ordinals)}
    domains_by_failure: dict[tuple[DomainRange, frozenset[tuple[str, int]]], list[int]] = {}
    for domain, pattern in failures_by_domain(connection, cluster).items():
        failed_parts = frozenset(
            (table, local_number) for table, local_number, carried_ppm in pattern if not carried_ppm
        )
        if failed_parts:
            domain_range = next(
                domain_range for domain_range in reversed(ranges) if domain_range.first_domain <= ordinal_of[domain]
            )
            domains_by_failure.setdefault((domain_range, failed_parts), []).append(domain)
    sizes_by_domain = (
        _pool_sizes(connection, [domains[0] for domains in domains_by_failure.values()]) if domains_by_failure else {}
    )
    for (domain_range, _), domains in domains_by_failure.items():
        for domain in domains:
            chips_before = (ordinal_of[domain] - domain_range.first_domain) * domain_range.chips_per_domain
            yield domain_range.first_chip + chips_before, sizes_by_domain[ordinal_of[domains[0]]]


def _pool_sizes(connection: Connection, domains: Sequence[int]) -> dict[int, Bytes]:
    """Return the pool size of each chip of some domains, by the domain's ordinal.

    A pool is a connected component of the scale-up links that carry traffic.
    """
    chip_query = _chips_query(_NODE.c.id, _NODE.c.state).where(_NODE.c.domain_id.in_(domains))
    chips = connection.execute(chip_query.order_by(_DOMAIN.c.ordinal, _SERVER.c.ordinal, _CHIP.c.ordinal)).all()
    links = connection.execute(
        select(_LINK.c.a_id, _LINK.c.b_id)
        .join(end_a := _NODE.alias("end_a"), end_a.c.id == _LINK.c.a_id)
        .join(end_b := _NODE.alias("end_b"), end_b.c.id == _LINK.c.b_id)
        .where(
            _LINK.c.domain_id.in_(domains),
            _LINK.c.scope != "host",
            *(table.c.state.in_(CARRYING_STATES) for table in (_LINK, end_a, end_b)),
        )
    ).all()
    link_ends = np.array([(link.a_id, link.b_id) for link in links], dtype=np.int64).reshape(-1, 2)
    carries = np.array([chip.state in CARRYING_STATES for chip in chips])
    component_sizes = solvers.components.component_sizes(link_ends, np.array([chip.id for chip in chips]), carries)
    pool_sizes = np.where(carries, component_sizes, 0).astype(np.uint8)
    first_indices = [index for index, chip in enumerate(chips) if not index or chips[index - 1].domain != chip.domain]
    return {
        chips[index].domain: domain_sizes
        for index, domain_sizes in zip(first_indices, np.split(pool_sizes, first_indices[1:]), strict=True)
    }


def _servers_per_rack(connection: Connection, domain: int) -> int:
    """Return the number of servers in the rack of a domain's first server; 1 if that server has no rack."""
    first = select(_SERVER.c.rack_id).where(_SERVER.c.domain_id == domain, _SERVER.c.ordinal == 0).scalar_subquery()
    count = select(func.count()).select_from(_SERVER).where(_SERVER.c.rack_id == first)
    return int(connection.scalar(count) or 1)
