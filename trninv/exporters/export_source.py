"""Read the servers of a scope, as all formats write them: the input of ``trninv topology``.

The scope is the place that a user exports: a server, rack, domain or cluster. A domain is one server or one
UltraServer.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

from sqlalchemy import func, select

from trninv.database.tables import CARRYING_STATES, TABLES, is_unhealthy
from trninv.errors import NotExpressibleError
from trninv.exporters.reserved_servers import ReservedServers, read_reserved_servers
from trninv.inventory.address.expressions import join_containers
from trninv.inventory.address.hostnames import DEFAULT_TEMPLATE, ServerAddress, hostnames
from trninv.inventory.address.lookup import Place
from trninv.inventory.address.rows_in import rows_in
from trninv.inventory.state.author import is_deliberate
from trninv.routing.snapshot import Snapshot

VENDOR_NODE_ID: Final = re.compile(r"nn-[0-9a-z]{8,64}", re.ASCII)
"""The form of EC2's ids of network nodes; such ids need no escapes in any format."""


class ServerSpec(NamedTuple):
    """The slugs and sizes of a server's models.

    Attributes
    ----------
    domain, server, chip
        Slugs of the models of its domain, of itself and of its chips.
    domain_servers
        Number of servers in its domain.
    wiring, sides
        The wiring pattern of the domain's chips and, for a torus, its sides, such as 4x4x4.
    chips, vcpus, memory_bytes
        Number of chips, number of vCPUs and host memory in bytes.

    """

    domain: str
    domain_servers: int
    wiring: str
    sides: str
    server: str
    chip: str
    chips: int
    vcpus: int
    memory_bytes: int


_SPEC_COLUMNS: Final = slice(-len(ServerSpec._fields), None)
"""The last columns of `_servers_query`, in the order of `ServerSpec`."""


class ExportedServer(NamedTuple):
    """A server as formats write it.

    Attributes
    ----------
    location
        The slug of its cluster, and the ordinals of its domain and itself.
    name
        Its host name.
    chips
        Ordinals of its usable chips, judged by the chips' own states and not the server's.
    network
        Names of the network nodes that are above all of its NICs, the top node first.
    cordon_reason
        Why new jobs are kept away from it, by a person or by maintenance that has begun, or None.
    maintenance
        Its next maintenance, or that which has begun: name and times; None if none is reserved.

    """

    location: ServerAddress
    name: str
    state: str
    model: ServerSpec
    chips: tuple[int, ...]
    network: tuple[str, ...]
    cordon_reason: str | None
    maintenance: str | None = None

    @property
    def address(self) -> str:
        """The server's address."""
        return f"{self.domain_address}/s{self.location.server}"

    @property
    def domain_address(self) -> str:
        """The address of the server's domain."""
        return f"{self.location.cluster}/d{self.location.domain}"

    @property
    def domain(self) -> str:
        """The name of its domain in files of other programs, which do not allow the / of an address."""
        return f"{self.location.cluster}-d{self.location.domain}"

    @property
    def is_usable(self) -> bool:
        """Whether it is up or degraded, so that jobs may run on it."""
        return self.state in CARRYING_STATES

    @property
    def takes_jobs(self) -> bool:
        """Whether new jobs may start on it."""
        return self.is_usable and self.cordon_reason is None


@dataclass(frozen=True)
class ExportSource:
    """A scope of the inventory in one snapshot, with the options for writing it.

    Attributes
    ----------
    place
        The scope.
    template
        The template that derives host names from locations.
    include_down
        Whether parts that are down or in maintenance are written too.
    coarse
        Whether the leaves of a tree of switches are network nodes rather than domains.

    """

    snapshot: Snapshot
    place: Place
    template: str = DEFAULT_TEMPLATE
    include_down: bool = False
    coarse: bool = False

    @property
    def cluster(self) -> str:
        """The cluster's slug."""
        return self.place.address.partition("/")[0]

    @cached_property
    def event(self) -> int:
        """The id of the last event, 0 before the first; it says which state of the fleet a file shows."""
        return self.snapshot.connection.scalar(select(func.max(TABLES["state_event"].c.id))) or 0

    @cached_property
    def servers(self) -> list[ExportedServer]:
        """The servers to write, in the order of their addresses.

        Raises
        ------
        NotExpressibleError
            The scope has no servers to write.

        """
        written = [server for server in self.all_servers if server.is_usable or self.include_down]
        if not written:
            raise NotExpressibleError(
                f"{self.place.address} has no servers that are up; add --include-down to write the others"
            )
        return written

    @cached_property
    def omitted_servers(self) -> list[ExportedServer]:
        """The servers that are not written, because they are down or in maintenance."""
        return [] if self.include_down else [server for server in self.all_servers if not server.is_usable]

    def servers_by_domain(self) -> dict[str, list[ExportedServer]]:
        """Return the servers to write, by the name of their domain."""
        by_domain: dict[str, list[ExportedServer]] = defaultdict(list)
        for server in self.servers:
            by_domain[server.domain].append(server)
        return dict(by_domain)

    @cached_property
    def all_servers(self) -> list[ExportedServer]:
        """Every server of the scope, in the order of their addresses."""
        rows = self.snapshot.connection.execute(_servers_query(self.place)).all()
        addresses = [ServerAddress(row.slug, row.domain, row.ordinal) for row in rows]
        names = hostnames(addresses, self.template, [row.host for row in rows])
        failed, network_paths = self._failed_chips(), self._network_paths()
        maintenance = self._next_maintenance()
        models = {row[_SPEC_COLUMNS]: ServerSpec(*row[_SPEC_COLUMNS]) for row in rows}
        all_chips = {model: tuple(range(model.chips)) for model in models.values()}
        servers = []
        for row, name, location in zip(rows, names, addresses, strict=True):
            model = models[row[_SPEC_COLUMNS]]
            chips = all_chips[model]
            if row.id in failed:
                chips = tuple(chip for chip in chips if chip not in failed[row.id])
            next_maintenance = maintenance.get((row.domain, row.ordinal))
            text = None if next_maintenance is None else str(next_maintenance)
            begun = text if next_maintenance and next_maintenance.has_begun else None
            network = network_paths.get(row.id, ())
            servers.append(ExportedServer(location, name, row.state, model, chips, network, row.why or begun, text))
        return servers

    @cached_property
    def reservations(self) -> list[ReservedServers]:
        """The reservations in the scope that are not over, by their start, with their servers."""
        return list(read_reserved_servers(self.snapshot.connection, self.place))

    def _next_maintenance(self) -> Mapping[tuple[int, int], ReservedServers]:
        """Return the next maintenance of each server that has any, by the ordinals of its domain and itself."""
        following: dict[tuple[int, int], ReservedServers] = {}
        for reserved in self.reservations:
            if reserved.is_maintenance:
                following = dict.fromkeys(reserved.servers, reserved) | following
        return following

    def _failed_chips(self) -> Mapping[int, set[int]]:
        """Return the ordinals of chips that are unusable by their own state, by the server's id."""
        node, chip = TABLES["node"], TABLES["chip"]
        own = func.coalesce(node.c.own_state, node.c.state)
        # + 0 keeps the planner off the index of cluster_id, because few rows are unhealthy
        query = (
            select(chip.c.server_id, chip.c.ordinal)
            .join(node, node.c.id == chip.c.id)
            .where(is_unhealthy(node), own.not_in(CARRYING_STATES), node.c.cluster_id + 0 == self.place.cluster_id)
        )
        failed: dict[int, set[int]] = defaultdict(set)
        for server, ordinal in self.snapshot.connection.execute(query):
            failed[server].add(ordinal)
        return failed

    def _network_paths(self) -> Mapping[int, tuple[str, ...]]:
        """Return the names of the network nodes above all NICs of a server, the top node first, by the server's id."""
        nic, link = TABLES["nic"], TABLES["link"]
        low, high = func.min(link.c.b_id), func.max(link.c.b_id)
        query = (
            select(nic.c.server_id, low, high)
            .join(link, link.c.a_id == nic.c.id)
            .join(server := TABLES["server"], server.c.id == nic.c.server_id)
            .where(link.c.scope == "fabric", rows_in(self.place, "server"))
            .group_by(nic.c.server_id)
        )
        paths = {node: tuple(self._path_from_root(node)) for node in self._network_names}
        names = {}
        for server_id, first, last in self.snapshot.connection.execute(query):
            pairs = zip(paths[first], paths[last], strict=False)
            names[server_id] = tuple(self._network_names[a] for a, b in pairs if a == b)
        return names

    def _path_from_root(self, node: int) -> Iterator[int]:
        """Yield the network nodes from the top down to a node."""
        if node in self._uplinks:
            yield from self._path_from_root(self._uplinks[node])
        yield node

    @cached_property
    def _network_names(self) -> dict[int, str]:
        """The name of each network node of the cluster, by id."""
        network_node, node = TABLES["network_node"], TABLES["node"]
        query = (
            select(network_node)
            .join(node, node.c.id == network_node.c.id)
            .where(node.c.cluster_id == self.place.cluster_id)
        )
        return {row.id: self._network_node_name(row) for row in self.snapshot.connection.execute(query)}

    def _network_node_name(self, node: Any) -> str:
        """Return EC2's id of a network node, or a name made of its tier and ordinal if it has no such id."""
        vendor_id = node.vendor_id or ""
        return vendor_id if VENDOR_NODE_ID.fullmatch(vendor_id) else f"{self.cluster}-t{node.tier}-n{node.ordinal}"

    @cached_property
    def _uplinks(self) -> dict[int, int]:
        """The id of the node above each network node; the lowest id if there are several."""
        link = TABLES["link"]
        query = (
            select(link.c.a_id, link.c.b_id)
            .join(network_node := TABLES["network_node"], network_node.c.id == link.c.a_id)
            .join(node := TABLES["node"], node.c.id == network_node.c.id)
            .where(node.c.cluster_id == self.place.cluster_id)
            .order_by(link.c.b_id.desc())
        )
        return {row.a_id: row.b_id for row in self.snapshot.connection.execute(query)}


def _servers_query(place: Place) -> Any:
    """Select the servers of a place with their bound host and cordon; the last columns are those of `ServerSpec`."""
    server, domain, cluster = TABLES["server"], TABLES["domain"], TABLES["cluster"]
    domain_model, server_model, chip_model = TABLES["domain_model"], TABLES["server_model"], TABLES["chip_model"]
    binding, cordon_table = TABLES["binding"], TABLES["cordon"]
    return (
        select(
            server.c.id,
            server.c.state,
            cluster.c.slug,
            domain.c.ordinal.label("domain"),
            server.c.ordinal,
            binding.c.host,
            cordon_table.c.why,
            domain_model.c.slug.label("domain_model"),
            domain_model.c.servers,
            domain_model.c.wiring,
            domain_model.c.sides,
            server_model.c.slug.label("server_model"),
            chip_model.c.slug.label("chip"),
            server_model.c.chips,
            server_model.c.vcpus,
            server_model.c.host_memory_bytes,
        )
        .select_from(join_containers("server"))
        .join(domain_model, domain_model.c.id == domain.c.domain_model_id)
        .join(server_model, server_model.c.id == server.c.server_model_id)
        .join(chip_model, chip_model.c.id == server_model.c.chip_model_id)
        .outerjoin(binding, (binding.c.server_id == server.c.id) & binding.c.ended_at.is_(None))
        .outerjoin(cordon_table, (cordon_table.c.server_id == server.c.id) & is_deliberate(cordon_table))
        .where(rows_in(place, "server"))
        .order_by(domain.c.ordinal, server.c.ordinal)
    )
