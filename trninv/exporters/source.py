"""What is exported: the servers of a scope as schedulers see them, and of which revision of the inventory."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, func, select

from trninv.errors import NotExpressibleError, WrongLevelError
from trninv.inventory.address import Place
from trninv.inventory.closed_servers import is_wanted
from trninv.inventory.hostnames import TEMPLATE, ServerAddress, hostnames
from trninv.inventory.schema import CARRYING, TABLES, is_not_up

_T = TABLES
SEEN_NODE: Final = re.compile(r"nn-[0-9a-z]{8,64}", re.ASCII)
"""The form of EC2's ids of network nodes: what has it needs no escape in any format."""
HOLD_SERVERS: Final = ("server", "rack", "domain", "cluster")


class Model(NamedTuple):
    """What a server is: its models' slugs and sizes."""

    domain: str
    domain_servers: int
    wiring: str
    sides: str
    server: str
    chip: str
    chips: int
    vcpus: int
    memory_bytes: int


class Server(NamedTuple):
    """A server, by the name that others call it.

    ``chips`` are the ordinals of those that carry (a chip's own state, whatever the server's is), ``network`` the names
    of the network nodes above it, the top first, and ``closed`` why it takes no new jobs, None where it does.
    """

    at: ServerAddress
    name: str
    state: str
    model: Model
    chips: tuple[int, ...]
    network: tuple[str, ...]
    closed: str | None

    @property
    def address(self) -> str:
        """Its address."""
        return f"{self.domain_address}/s{self.at.server}"

    @property
    def domain_address(self) -> str:
        """The address of its domain."""
        return f"{self.at.cluster}/d{self.at.domain}"

    @property
    def domain(self) -> str:
        """What its domain is called in other programs' files, where an address's / is refused."""
        return f"{self.at.cluster}-d{self.at.domain}"

    @property
    def usable(self) -> bool:
        """Whether jobs may run on it."""
        return self.state in CARRYING

    @property
    def takes_jobs(self) -> bool:
        """Whether new jobs may begin on it."""
        return self.usable and self.closed is None


@dataclass(frozen=True)
class Source:
    """A scope in one state of the inventory, and how it is to be written.

    Attributes
    ----------
    include_down
        Whether what is down or in maintenance is written too.
    coarse
        Whether a tree's leaves are network nodes, not domains.

    """

    connection: Connection
    place: Place
    template: str = TEMPLATE
    include_down: bool = False
    coarse: bool = False

    @property
    def cluster(self) -> str:
        """The cluster's slug."""
        return self.place.address.partition("/")[0]

    @cached_property
    def event(self) -> int:
        """The number of the last change of a state, 0 before the first: it tells one revision from another."""
        return self.connection.scalar(select(func.max(_T["state_event"].c.id))) or 0

    @cached_property
    def servers(self) -> list[Server]:
        """Those that are written, in the order of their addresses.

        Raises
        ------
        NotExpressibleError
            There is none.

        """
        found = [each for each in self.all_servers if each.usable or self.include_down]
        if not found:
            raise NotExpressibleError(
                f"no server of {self.place.address} is up: --include-down writes those that are not"
            )
        return found

    @cached_property
    def left_out(self) -> list[Server]:
        """Those that are not written, because they are down or in maintenance."""
        return [] if self.include_down else [each for each in self.all_servers if not each.usable]

    def domains(self) -> dict[str, list[Server]]:
        """The servers that are written, by the name of their domain."""
        found: dict[str, list[Server]] = defaultdict(list)
        for server in self.servers:
            found[server.domain].append(server)
        return dict(found)

    @cached_property
    def all_servers(self) -> list[Server]:
        """Every server of the scope, in the order of their addresses."""
        rows = self.connection.execute(_query(self.place)).all()
        addresses = [ServerAddress(row.slug, row.domain, row.ordinal) for row in rows]
        names = hostnames(addresses, self.template, [row.host for row in rows])
        lost, above = self._lost_chips(), self._above()
        models = {row[7:]: Model(*row[7:]) for row in rows}
        whole = {model: tuple(range(model.chips)) for model in models.values()}
        found = []
        for row, name, at in zip(rows, names, addresses, strict=True):
            model = models[row[7:]]
            chips = tuple(c for c in whole[model] if c not in lost[row.id]) if row.id in lost else whole[model]
            found.append(Server(at, name, row.state, model, chips, above.get(row.id, ()), row.why))
        return found

    def _lost_chips(self) -> Mapping[int, set[int]]:
        """Ordinals of chips whose own state carries nothing, by server."""
        node, chip = _T["node"], _T["chip"]
        own = func.coalesce(node.c.own_state, node.c.state)
        query = (
            select(chip.c.server_id, chip.c.ordinal)
            .join(node, node.c.id == chip.c.id)
            .where(is_not_up(node), own.not_in(CARRYING), node.c.cluster_id + 0 == self.place.cluster_id)
        )
        found: dict[int, set[int]] = defaultdict(set)
        for server, ordinal in self.connection.execute(query):
            found[server].add(ordinal)
        return found

    def _above(self) -> Mapping[int, tuple[str, ...]]:
        """Names of the network nodes that all NICs of a server hang below, the top first, by server."""
        nic, link = _T["nic"], _T["link"]
        low, high = func.min(link.c.b_id), func.max(link.c.b_id)
        query = (
            select(nic.c.server_id, low, high)
            .join(link, link.c.a_id == nic.c.id)
            .join(server := _T["server"], server.c.id == nic.c.server_id)
            .where(link.c.scope == "fabric", _inside(self.place))
            .group_by(nic.c.server_id)
        )
        if self.place.level == "cluster":
            query = query.join(domain := _T["domain"], domain.c.id == server.c.domain_id)
        ways = {node: tuple(self._way(node)) for node in self._network}
        found = {}
        for server_id, first, last in self.connection.execute(query):
            both = zip(ways[first], ways[last], strict=False)
            found[server_id] = tuple(self._network[a] for a, b in both if a == b)
        return found

    def _way(self, node: int) -> Iterator[int]:
        """From the top down to a network node."""
        if node in self._uplinks:
            yield from self._way(self._uplinks[node])
        yield node

    @cached_property
    def _network(self) -> dict[int, str]:
        above, node = _T["network_node"], _T["node"]
        query = select(above).join(node, node.c.id == above.c.id).where(node.c.cluster_id == self.place.cluster_id)
        return {row.id: self._called(row) for row in self.connection.execute(query)}

    def _called(self, node: Any) -> str:
        """What EC2 calls a network node, if that is the form of its ids, or else its place."""
        vendor_id = node.vendor_id or ""
        return vendor_id if SEEN_NODE.fullmatch(vendor_id) else f"{self.cluster}-t{node.tier}-n{node.ordinal}"

    @cached_property
    def _uplinks(self) -> dict[int, int]:
        link = _T["link"]
        query = (
            select(link.c.a_id, link.c.b_id)
            .join(below := _T["network_node"], below.c.id == link.c.a_id)
            .join(node := _T["node"], node.c.id == below.c.id)
            .where(node.c.cluster_id == self.place.cluster_id)
            .order_by(link.c.b_id.desc())
        )
        return {row.a_id: row.b_id for row in self.connection.execute(query)}


def _inside(place: Place) -> ColumnElement[bool]:
    """Condition on server, joined with its domain where the place is a cluster.

    Raises
    ------
    WrongLevelError
        The place holds no servers.

    """
    server = _T["server"]
    match place.level:
        case "cluster":
            return _T["domain"].c.cluster_id == place.id
        case "server":
            return server.c.id == place.id
        case "domain" | "rack":
            return server.c[f"{place.level}_id"] == place.id
    raise WrongLevelError(f"{place.address} is a {place.level}: name a {', '.join(HOLD_SERVERS[:-1])} or cluster")


def _query(place: Place) -> Any:
    server, domain, cluster = _T["server"], _T["domain"], _T["cluster"]
    of_domain, of_server, chip = _T["domain_model"], _T["server_model"], _T["chip_model"]
    bound, closing = _T["binding"], _T["closing"]
    return (
        select(
            server.c.id,
            server.c.state,
            cluster.c.slug,
            domain.c.ordinal.label("domain"),
            server.c.ordinal,
            bound.c.host,
            closing.c.why,
            of_domain.c.slug.label("of_domain"),
            of_domain.c.servers,
            of_domain.c.wiring,
            of_domain.c.sides,
            of_server.c.slug.label("of_server"),
            chip.c.slug.label("chip"),
            of_server.c.chips,
            of_server.c.vcpus,
            of_server.c.host_memory_bytes,
        )
        .select_from(server)
        .join(domain, domain.c.id == server.c.domain_id)
        .join(cluster, cluster.c.id == domain.c.cluster_id)
        .join(of_domain, of_domain.c.id == domain.c.domain_model_id)
        .join(of_server, of_server.c.id == server.c.server_model_id)
        .join(chip, chip.c.id == of_server.c.chip_model_id)
        .outerjoin(bound, (bound.c.server_id == server.c.id) & bound.c.until.is_(None))
        .outerjoin(closing, (closing.c.server_id == server.c.id) & is_wanted(closing))
        .where(_inside(place))
        .order_by(domain.c.ordinal, server.c.ordinal)
    )
