"""Read the servers of a scope as schedulers see them, in one snapshot."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, func, select

from trninv.database.tables import CARRYING_STATES, TABLES, is_unhealthy
from trninv.errors import NotExpressibleError, WrongLevelError
from trninv.inventory.address.hostnames import DEFAULT_TEMPLATE, ServerAddress, hostnames
from trninv.inventory.address.lookup import Place
from trninv.inventory.state.author import is_deliberate

_T = TABLES
VENDOR_NODE_ID: Final = re.compile(r"nn-[0-9a-z]{8,64}", re.ASCII)
"""EC2's ids of network nodes; ids that match need no escapes in any format."""
SERVER_CONTAINERS: Final = ("server", "rack", "domain", "cluster")


class ServerSpec(NamedTuple):
    """The slugs and sizes of a server's models."""

    domain: str
    domain_servers: int
    wiring: str
    sides: str
    server: str
    chip: str
    chips: int
    vcpus: int
    memory_bytes: int


class ExportedServer(NamedTuple):
    """A server with its host name.

    ``chips`` has the ordinals of the usable chips, judged by their own states and not the server's. ``network`` has the
    names of the network nodes above it, the top first. ``cordon_reason`` is None if it is not cordoned.
    """

    location: ServerAddress
    name: str
    state: str
    model: ServerSpec
    chips: tuple[int, ...]
    network: tuple[str, ...]
    cordon_reason: str | None

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
        """The domain's name in other programs' files, which do not allow the / of an address."""
        return f"{self.location.cluster}-d{self.location.domain}"

    @property
    def is_usable(self) -> bool:
        """Whether jobs may run on it."""
        return self.state in CARRYING_STATES

    @property
    def takes_jobs(self) -> bool:
        """Whether new jobs may begin on it."""
        return self.is_usable and self.cordon_reason is None


@dataclass(frozen=True)
class ExportSource:
    """A scope of the inventory in one snapshot, with the options for writing it.

    Attributes
    ----------
    include_down
        Whether parts that are down or in maintenance are written too.
    coarse
        Whether a tree's leaves are network nodes rather than domains.

    """

    connection: Connection
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
        """The id of the last event, 0 before the first; it identifies the revision."""
        return self.connection.scalar(select(func.max(_T["state_event"].c.id))) or 0

    @cached_property
    def servers(self) -> list[ExportedServer]:
        """The servers to write, in the order of their addresses.

        Raises
        ------
        NotExpressibleError
            There are none.

        """
        written = [server for server in self.all_servers if server.is_usable or self.include_down]
        if not written:
            raise NotExpressibleError(
                f"no server of {self.place.address} is up: --include-down writes those that are not"
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
        rows = self.connection.execute(_servers_query(self.place)).all()
        addresses = [ServerAddress(row.slug, row.domain, row.ordinal) for row in rows]
        names = hostnames(addresses, self.template, [row.host for row in rows])
        failed, network_paths = self._failed_chips(), self._network_paths()
        models = {row[7:]: ServerSpec(*row[7:]) for row in rows}
        all_chips = {model: tuple(range(model.chips)) for model in models.values()}
        servers = []
        for row, name, location in zip(rows, names, addresses, strict=True):
            model = models[row[7:]]
            chips = (
                tuple(c for c in all_chips[model] if c not in failed[row.id]) if row.id in failed else all_chips[model]
            )
            servers.append(
                ExportedServer(location, name, row.state, model, chips, network_paths.get(row.id, ()), row.why)
            )
        return servers

    def _failed_chips(self) -> Mapping[int, set[int]]:
        """Return the ordinals of chips that are unusable by their own state, by server."""
        node, chip = _T["node"], _T["chip"]
        own = func.coalesce(node.c.own_state, node.c.state)
        query = (
            select(chip.c.server_id, chip.c.ordinal)
            .join(node, node.c.id == chip.c.id)
            .where(is_unhealthy(node), own.not_in(CARRYING_STATES), node.c.cluster_id + 0 == self.place.cluster_id)
        )
        failed: dict[int, set[int]] = defaultdict(set)
        for server, ordinal in self.connection.execute(query):
            failed[server].add(ordinal)
        return failed

    def _network_paths(self) -> Mapping[int, tuple[str, ...]]:
        """Return the names of the network nodes above all NICs of a server, the top first, by server."""
        nic, link = _T["nic"], _T["link"]
        low, high = func.min(link.c.b_id), func.max(link.c.b_id)
        query = (
            select(nic.c.server_id, low, high)
            .join(link, link.c.a_id == nic.c.id)
            .join(server := _T["server"], server.c.id == nic.c.server_id)
            .where(link.c.scope == "fabric", _scope_condition(self.place))
            .group_by(nic.c.server_id)
        )
        if self.place.level == "cluster":
            query = query.join(domain := _T["domain"], domain.c.id == server.c.domain_id)
        paths = {node: tuple(self._path_from_root(node)) for node in self._network_names}
        names = {}
        for server_id, first, last in self.connection.execute(query):
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
        network_node, node = _T["network_node"], _T["node"]
        query = (
            select(network_node)
            .join(node, node.c.id == network_node.c.id)
            .where(node.c.cluster_id == self.place.cluster_id)
        )
        return {row.id: self._network_node_name(row) for row in self.connection.execute(query)}

    def _network_node_name(self, node: Any) -> str:
        """Return EC2's id of a network node, or a name made of its tier and ordinal if it has no such id."""
        vendor_id = node.vendor_id or ""
        return vendor_id if VENDOR_NODE_ID.fullmatch(vendor_id) else f"{self.cluster}-t{node.tier}-n{node.ordinal}"

    @cached_property
    def _uplinks(self) -> dict[int, int]:
        link = _T["link"]
        query = (
            select(link.c.a_id, link.c.b_id)
            .join(network_node := _T["network_node"], network_node.c.id == link.c.a_id)
            .join(node := _T["node"], node.c.id == network_node.c.id)
            .where(node.c.cluster_id == self.place.cluster_id)
            .order_by(link.c.b_id.desc())
        )
        return {row.a_id: row.b_id for row in self.connection.execute(query)}


def _scope_condition(place: Place) -> ColumnElement[bool]:
    """Return the condition on servers in a place; if that is a cluster, the query must join domain.

    Raises
    ------
    WrongLevelError
        The place is below a server or has none.

    """
    server = _T["server"]
    match place.level:
        case "cluster":
            return _T["domain"].c.cluster_id == place.id
        case "server":
            return server.c.id == place.id
        case "domain" | "rack":
            return server.c[f"{place.level}_id"] == place.id
    raise WrongLevelError(f"{place.address} is a {place.level}: name a {', '.join(SERVER_CONTAINERS[:-1])} or cluster")


def _servers_query(place: Place) -> Any:
    server, domain, cluster = _T["server"], _T["domain"], _T["cluster"]
    domain_model, server_model, chip_model = _T["domain_model"], _T["server_model"], _T["chip_model"]
    binding, cordon_table = _T["binding"], _T["cordon"]
    return (
        select(
            server.c.id,
            server.c.state,
            cluster.c.slug,
            domain.c.ordinal.label("domain"),
            server.c.ordinal,
            binding.c.host,
            cordon_table.c.why,
            domain_model.c.slug.label("of_domain"),
            domain_model.c.servers,
            domain_model.c.wiring,
            domain_model.c.sides,
            server_model.c.slug.label("of_server"),
            chip_model.c.slug.label("chip"),
            server_model.c.chips,
            server_model.c.vcpus,
            server_model.c.host_memory_bytes,
        )
        .select_from(server)
        .join(domain, domain.c.id == server.c.domain_id)
        .join(cluster, cluster.c.id == domain.c.cluster_id)
        .join(domain_model, domain_model.c.id == domain.c.domain_model_id)
        .join(server_model, server_model.c.id == server.c.server_model_id)
        .join(chip_model, chip_model.c.id == server_model.c.chip_model_id)
        .outerjoin(binding, (binding.c.server_id == server.c.id) & binding.c.ended_at.is_(None))
        .outerjoin(cordon_table, (cordon_table.c.server_id == server.c.id) & is_deliberate(cordon_table))
        .where(_scope_condition(place))
        .order_by(domain.c.ordinal, server.c.ordinal)
    )
