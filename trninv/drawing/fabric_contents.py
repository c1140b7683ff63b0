"""Read what the picture of a fabric shows: network nodes and uplinks, the servers below them, and jobs between them."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, select

from trninv.database.tables import TABLES, is_unhealthy
from trninv.drawing.rack_contents import job_address_name
from trninv.drawing.symbols import SEVERITY
from trninv.errors import NotFoundError
from trninv.inventory.address.lookup import Place
from trninv.inventory.state.condition import carried_bandwidth, carried_bandwidth_filter, condition_from_row
from trninv.placement.allocations.job_allocations import job_ordinals

_DOMAIN, _SERVER, _NODE, _CHIP, _NIC, _LINK, _NETWORK_NODE = (
    TABLES[name] for name in ("domain", "server", "node", "chip", "nic", "link", "network_node")
)
PartCounts = Mapping[tuple[str, str], int]
"""Numbers of unhealthy parts by kind and state; parts that are so with their server are not counted."""


class FabricServer(NamedTuple):
    """A server: its ordinal, its worst part's state, its jobs' ids, and whether only parts of it are unhealthy."""

    ordinal: int
    state: str
    jobs: Collection[int]
    is_partial: bool


@dataclass(frozen=True, slots=True)
class FabricDomain:
    """The servers of a domain below one network node; ``state`` is that of its worst part outside its servers.

    ``links`` has the states of unhealthy links by the ordinals of the servers at their ends, if nothing else outside
    the servers is unhealthy.
    """

    ordinal: int
    state: str
    servers: Sequence[FabricServer]
    counts: PartCounts
    links: Mapping[tuple[int, int], str]

    @property
    def worst_state(self) -> str:
        """The state of its worst part."""
        return min((self.state, *(server.state for server in self.servers)), key=SEVERITY.index)

    @property
    def allocated_share(self) -> float:
        """The share of its servers with a job."""
        return sum(bool(server.jobs) for server in self.servers) / len(self.servers)


class FabricJob(NamedTuple):
    """A job; ``ordinal`` is its position among all jobs, which decides its letter and color.

    ``bandwidths`` has, by the id of each node of the lowest tier that it is below, the bytes per second of its EFA
    devices there, as designed.
    """

    name: str
    address_name: str
    ordinal: int
    chips: int
    bandwidths: Mapping[int, int]

    @property
    def is_crossing(self) -> bool:
        """Whether it is below several nodes of the lowest tier."""
        return len(self.bandwidths) > 1


@dataclass(frozen=True, slots=True)
class Fabric:
    """A cluster's network nodes, their uplinks, and what is below them. Bandwidths are of one direction.

    Attributes
    ----------
    nodes
        Rows with id, tier (1 is the top), ordinal, vendor id and state.
    uplinks
        Rows of the link from each node to its parent, by the node's id; a node without one is the top.
    capacities
        The bytes per second that a node's uplink carries now, by its id.
    attached, carried
        The bytes per second of all links from below to each node, as designed and now.
    domains
        The domains below each node of the lowest tier, by its id.
    jobs
        The jobs by id, the largest first.

    """

    address: str
    nodes: Sequence[Any]
    uplinks: Mapping[int, Any]
    capacities: Mapping[int, int]
    attached: Mapping[int, int]
    carried: Mapping[int, int]
    domains: Mapping[int, Sequence[FabricDomain]]
    jobs: Mapping[int, FabricJob]


def read_fabric(connection: Connection, cluster: Place) -> Fabric:
    """Read a cluster's fabric.

    Raises
    ------
    NotFoundError
        The cluster has a single domain, and so no fabric.

    """
    nodes = connection.execute(
        select(_NETWORK_NODE, _NODE.c.state, _NODE.c.factor_ppm)
        .join(_NODE, _NODE.c.id == _NETWORK_NODE.c.id)
        .where(_NODE.c.cluster_id == cluster.cluster_id)
        .order_by(_NETWORK_NODE.c.id)
    ).all()
    if not nodes:
        raise NotFoundError(f"{cluster.address} has no fabric: it is a single domain")
    ids = nodes[0].id, nodes[-1].id
    by_id = {row.id: row for row in nodes}
    uplinks = connection.execute(select(_LINK).where(_LINK.c.a_id.between(*ids), _LINK.c.scope == "fabric")).all()
    below = connection.execute(
        select(
            _LINK.c.b_id,
            func.sum(_LINK.c.bandwidth_bytes_per_s).label("designed"),
            func.sum(carried_bandwidth_filter(_LINK)).label("now"),
        )
        .where(_LINK.c.b_id.between(*ids), _LINK.c.scope == "fabric")
        .group_by(_LINK.c.b_id)
    ).all()
    servers = _read_servers(connection, cluster, ids)
    jobs = _read_jobs(connection, cluster)
    return Fabric(
        f"{cluster.address}/fabric",
        nodes,
        {uplink.a_id: uplink for uplink in uplinks},
        {uplink.a_id: _capacity(uplink, by_id) for uplink in uplinks},
        {row.b_id: int(row.designed) for row in below},
        {row.b_id: int(row.now) for row in below},
        _group_domains(connection, cluster, servers, jobs),
        _describe_jobs(connection, cluster, servers, jobs),
    )


def _capacity(uplink: Any, nodes: Mapping[int, Any]) -> int:
    conditions = map(condition_from_row, (uplink, nodes[uplink.a_id], nodes[uplink.b_id]))
    return carried_bandwidth(uplink.bandwidth_bytes_per_s, *conditions)


def _read_servers(connection: Connection, cluster: Place, ids: tuple[int, int]) -> Sequence[Any]:
    """Return the servers with their network node and EFA bandwidth; ``ids`` are the first and last node's.

    All EFA devices of a server are attached to one node, so the first device says to which.
    """
    device = _NIC.alias("device")
    bandwidth = select(func.sum(device.c.bandwidth_bytes_per_s)).where(device.c.server_id == _SERVER.c.id)
    return connection.execute(
        select(
            _SERVER.c.id, _SERVER.c.ordinal, _SERVER.c.domain_id, _DOMAIN.c.ordinal.label("domain"), _LINK.c.b_id,
            _SERVER.c.state, bandwidth.scalar_subquery().label("bandwidth"),
        )
        .join(_DOMAIN, _DOMAIN.c.id == _SERVER.c.domain_id)
        .join(_NIC, (_NIC.c.server_id == _SERVER.c.id) & (_NIC.c.ordinal == 0))
        .join(_LINK, (_LINK.c.a_id == _NIC.c.id) & _LINK.c.b_id.between(*ids))
        .where(_DOMAIN.c.cluster_id == cluster.cluster_id)
        .order_by(_DOMAIN.c.ordinal, _SERVER.c.ordinal)
    ).all()  # fmt: skip


def _read_jobs(connection: Connection, cluster: Place) -> dict[int, dict[int, int]]:
    """Return the number of each job's chips in each server, by the ids of server and job."""
    allocation = TABLES["allocation"]
    jobs: dict[int, dict[int, int]] = defaultdict(dict)
    for server, job, chips in connection.execute(
        select(_CHIP.c.server_id, allocation.c.job_id, func.count())
        .join(_CHIP, _CHIP.c.id == allocation.c.chip_id)
        .join(_SERVER, _SERVER.c.id == _CHIP.c.server_id)
        .join(_DOMAIN, _DOMAIN.c.id == _SERVER.c.domain_id)
        .where(allocation.c.ended_at.is_(None), _DOMAIN.c.cluster_id == cluster.cluster_id)
        .group_by(_CHIP.c.server_id, allocation.c.job_id)
    ):
        jobs[server][job] = chips
    return jobs


def _group_domains(
    connection: Connection, cluster: Place, servers: Sequence[Any], jobs: Mapping[int, Mapping[int, int]]
) -> dict[int, list[FabricDomain]]:
    """Return the domains below each network node; the states of their parts are read, which are few."""
    in_servers, elsewhere = defaultdict[int, list[tuple[str, str]]](list), defaultdict[int, list[tuple[str, str]]](list)
    links: dict[int, dict[tuple[int, int] | None, str]] = defaultdict(dict)
    for domain, server, kind, state, ends in _unhealthy_parts(connection, cluster):
        (elsewhere[domain] if server is None else in_servers[server]).append((kind, state))
        if server is None:
            links[domain][ends] = state
    domains: dict[tuple[int, int], list[Any]] = defaultdict(list)
    for server in servers:
        domains[server.b_id, server.domain].append(server)
    grouped: dict[int, list[FabricDomain]] = defaultdict(list)
    for (node, ordinal), rows in domains.items():
        others = elsewhere.get(rows[0].domain_id, [])
        counts = Counter(others)
        drawn = []
        for row in rows:
            parts, state = in_servers.get(row.id, []), row.state
            if parts or state != "up":
                counts.update([("server", state)] if state != "up" else [])
                counts.update(part for part in parts if part[1] != state)
                state = min((state, *(other for _, other in parts)), key=SEVERITY.index)
            is_partial = row.state == "up" != state
            drawn.append(FabricServer(row.ordinal, state, jobs.get(row.id, {}).keys(), is_partial))
        state = min(("up", *(state for _, state in others)), key=SEVERITY.index)
        own = {pair: link_state for pair, link_state in links.get(rows[0].domain_id, {}).items() if pair}
        if len(own) != len(links.get(rows[0].domain_id, {})) or any(max(pair) >= len(drawn) for pair in own):
            own = {}
        grouped[node].append(FabricDomain(ordinal, state, drawn, counts, own))
    return grouped


def _unhealthy_parts(
    connection: Connection, cluster: Place
) -> Iterator[tuple[int, int | None, str, str, tuple[int, int] | None]]:
    """Yield domain, server or None, kind, state and a link's servers' ordinals of unhealthy chips, NICs and so on.

    Those of other clusters are read too, since a condition on the cluster would make a database read all its nodes.
    """
    for cluster_id, *part in connection.execute(
        select(
            _NODE.c.cluster_id,
            _NODE.c.domain_id,
            func.coalesce(_CHIP.c.server_id, _NIC.c.server_id),
            _NODE.c.kind,
            _NODE.c.state,
        )
        .outerjoin(_CHIP, _CHIP.c.id == _NODE.c.id)
        .outerjoin(_NIC, _NIC.c.id == _NODE.c.id)
        .where(is_unhealthy(_NODE), _NODE.c.domain_id.is_not(None))
    ):  # fmt: skip
        if cluster_id == cluster.cluster_id:
            domain, server, kind, state = part
            yield domain, server, kind, state, None
    chips, servers = [_CHIP.alias(end) for end in "ab"], [_SERVER.alias(f"{end}_server") for end in "ab"]
    for cluster_id, domain, state, a, b in connection.execute(
        select(_DOMAIN.c.cluster_id, _LINK.c.domain_id, _LINK.c.state, *(server.c.ordinal for server in servers))
        .join(_DOMAIN, _DOMAIN.c.id == _LINK.c.domain_id)
        .outerjoin(chips[0], chips[0].c.id == _LINK.c.a_id)
        .outerjoin(chips[1], chips[1].c.id == _LINK.c.b_id)
        .outerjoin(servers[0], servers[0].c.id == chips[0].c.server_id)
        .outerjoin(servers[1], servers[1].c.id == chips[1].c.server_id)
        .where(is_unhealthy(_LINK))
    ):
        if cluster_id == cluster.cluster_id:
            yield domain, None, "link", state, None if a is None or b is None else (a, b)


def _describe_jobs(
    connection: Connection, cluster: Place, servers: Sequence[Any], jobs: Mapping[int, Mapping[int, int]]
) -> dict[int, FabricJob]:
    """Return the jobs by id, the largest first."""
    chips = Counter[int]()
    bandwidths: dict[int, Counter[int]] = defaultdict(Counter)
    for server in servers:
        for job, count in jobs.get(server.id, {}).items():
            chips[job] += count
            bandwidths[job][server.b_id] += int(server.bandwidth)
    job_table = TABLES["job"]
    query = select(job_table).where(job_table.c.cluster_id == cluster.cluster_id, job_table.c.ended_at.is_(None))
    rows = {row.id: row for row in connection.execute(query)}
    ordinals = job_ordinals(connection)
    return {
        job: FabricJob(rows[job].name, job_address_name(rows[job]), ordinals[job], chips[job], bandwidths[job])
        for job in sorted(bandwidths, key=lambda job: (-chips[job], ordinals[job]))
    }
