"""Pack the state and memory pool of every chip of a cluster into a few bytes per chip."""

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

_TABLES = TABLES
_DOMAIN, _SERVER, _NODE, _CHIP, _LINK = (_TABLES[name] for name in ("domain", "server", "node", "chip", "link"))

MAGIC: Final = b"TRNI"

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class DomainRange:
    """Consecutive domains of one model; ``first_…`` are the ordinals of their first domain, chip and rack."""

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
        The cluster's domains by model, in the order of their ordinals.
    states
        One byte per chip: the index of its state in `STATES`.
    pool_sizes
        One byte per chip: the healthy chips that it reaches over scale-up links, including itself; 0 if it carries
        nothing.

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
        """Return the address of the chip at an index of the order."""
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

    Only unhealthy parts are read, the rest follows from the domain models; domains with equal failures are read once.

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
        _chips_query(_NODE.c.state).where(*_is_unhealthy(connection, place.cluster_id))
    ).all():
        positions = chip_positions(ranges, np.array([(chip.domain, chip.server, chip.ordinal) for chip in unhealthy]))
        states[positions] = [STATES.index(chip.state) for chip in unhealthy]
    for first_chip, sizes in _pool_sizes_by_domain(connection, place.cluster_id, ranges):
        pool_sizes[first_chip : first_chip + len(sizes)] = sizes
    return ClusterOverview(place.address, ranges, states.tobytes(), pool_sizes.tobytes())


def chip_positions(ranges: Sequence[DomainRange], ordinals: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index of each chip in the order of addresses, given rows of domain, server and chip ordinal."""
    positions = np.zeros(len(ordinals), dtype=np.int64)
    domain, server, chip = ordinals.T
    for domain_range in ranges:
        chips_before = (domain - domain_range.first_domain) * domain_range.chips_per_domain
        position = domain_range.first_chip + chips_before + server * domain_range.chips_per_server + chip
        positions = np.where(domain >= domain_range.first_domain, position, positions)
    return positions


def domain_ranges(connection: Connection, cluster: int) -> tuple[DomainRange, ...]:
    """Return the ranges of a cluster's domains, by the cluster's id."""
    return tuple(_read_domain_ranges(connection, cluster))


def _read_domain_ranges(connection: Connection, cluster: int) -> Iterator[DomainRange]:
    server_model, model = _TABLES["server_model"], _TABLES["domain_model"]
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
    """Select each chip's domain, server and own ordinal, and the given columns."""
    chips = _CHIP.join(_NODE, _NODE.c.id == _CHIP.c.id).join(_SERVER).join(_DOMAIN)
    ordinals = _DOMAIN.c.ordinal.label("domain"), _SERVER.c.ordinal.label("server"), _CHIP.c.ordinal
    return select(*ordinals, *columns).select_from(chips)


def _is_unhealthy(connection: Connection, cluster: int) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for a cluster's unhealthy nodes."""
    # + 0 keeps the planner off the cluster's index: few rows are unhealthy
    return is_unhealthy(_NODE), maybe_unhealthy(connection, _NODE), _NODE.c.cluster_id + 0 == cluster


def _pool_sizes_by_domain(
    connection: Connection, cluster: int, ranges: Sequence[DomainRange]
) -> Iterator[tuple[int, Bytes]]:
    """Yield the index of the first chip, and the pool sizes, of each domain with a part that carries nothing."""
    ordinals = select(_DOMAIN.c.id, _DOMAIN.c.ordinal).where(_DOMAIN.c.cluster_id == cluster)
    ordinal_of = {row.id: row.ordinal for row in connection.execute(ordinals)}
    domains_by_failure: dict[tuple[DomainRange, frozenset[tuple[str, int]]], list[int]] = {}
    for domain, failures in failures_by_domain(connection, cluster).items():
        if failure := frozenset((table, local) for table, local, carried in failures if not carried):
            domain_range = next(
                domain_range for domain_range in reversed(ranges) if domain_range.first_domain <= ordinal_of[domain]
            )
            domains_by_failure.setdefault((domain_range, failure), []).append(domain)
    sizes_by_domain = (
        _pool_sizes(connection, [domains[0] for domains in domains_by_failure.values()]) if domains_by_failure else {}
    )
    for (domain_range, _), domains in domains_by_failure.items():
        for domain in domains:
            chips_before = (ordinal_of[domain] - domain_range.first_domain) * domain_range.chips_per_domain
            yield domain_range.first_chip + chips_before, sizes_by_domain[ordinal_of[domains[0]]]


def _pool_sizes(connection: Connection, domains: Sequence[int]) -> dict[int, Bytes]:
    """Return the pool size of each chip of some domains, by the domain's ordinal.

    A pool is a connected component of the carrying scale-up links.
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
    link_ends = np.array([tuple(link) for link in links], dtype=np.int64).reshape(-1, 2)
    healthy = np.array([chip.state in CARRYING_STATES for chip in chips])
    component_sizes = solvers.graph.component_sizes(link_ends, np.array([chip.id for chip in chips]), healthy)
    pool_sizes = np.where(healthy, component_sizes, 0).astype(np.uint8)
    first_indices = [index for index, chip in enumerate(chips) if not index or chips[index - 1].domain != chip.domain]
    return {
        chips[index].domain: pool
        for index, pool in zip(first_indices, np.split(pool_sizes, first_indices[1:]), strict=True)
    }


def _servers_per_rack(connection: Connection, domain: int) -> int:
    """Return the number of servers in the rack of a domain's first server."""
    first = select(_SERVER.c.rack_id).where(_SERVER.c.domain_id == domain, _SERVER.c.ordinal == 0).scalar_subquery()
    count = select(func.count()).select_from(_SERVER).where(_SERVER.c.rack_id == first)
    return int(connection.scalar(count) or 1)
