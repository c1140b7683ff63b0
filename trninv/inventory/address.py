"""Parse addresses such as rainier/d17/s2/c5/nc3 and resolve them to rows.

Addresses are computed from ordinals, never stored, and stay the same when a cluster is seeded again.

cluster[/dD[/sS[/cC[/ncK]]]]    cluster/dD/swN    cluster/dD/sS/efaN    cluster/rR    cluster/fabric/tT/nN
A--B (a link)    @i-0abc, @hostname (the server to which that instance or host is bound), @hostname/cC
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, FromClause, Select, Table, and_, case, func, or_, select, true

from trninv.errors import AddressError, UnknownAddressError, WrongLevelError, suggestion
from trninv.inventory.named import replace_machine_name, split_link
from trninv.inventory.past import omitted_clusters
from trninv.inventory.schema import NODE_KINDS, TABLES
from trninv.inventory.template import Concat

_MAX_LENGTH = 200
_MAX_NAME = 64
_CLUSTER = re.compile(r"[a-z0-9](?:[a-z0-9._]|-(?!-))*")
_STEP = re.compile(r"(nc|efa|sw|fabric-t|d|s|c|r|n)(\d{1,9})", re.ASCII)

LEVELS: Final[Mapping[tuple[str, ...], str]] = {
    (): "cluster",
    ("d",): "domain",
    ("d", "s"): "server",
    ("d", "s", "c"): "chip",
    ("d", "s", "c", "nc"): "core",
    ("d", "sw"): "switch",
    ("d", "s", "efa"): "nic",
    ("r",): "rack",
    ("fabric-t", "n"): "network_node",
}
"""The level of an address, by the letters of its steps."""

_NAMES: Final = {
    "d": "domain",
    "s": "server",
    "c": "chip",
    "nc": "core",
    "sw": "switch",
    "efa": "nic",
    "r": "rack",
    "fabric-t": "network_node",
    "n": "network_node",
}
_ANY_SERVER: Final = "any/d0/s0"
NO_CLUSTER_MESSAGE: Final = "nothing is seeded yet, run trninv seed"

CHIP_CONTAINERS: Final = ("chip", "core", "server", "rack", "domain", "cluster")


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed address: the cluster's slug and the (letters, ordinal) steps below it."""

    cluster: str
    steps: tuple[tuple[str, int], ...] = ()

    @property
    def level(self) -> str:
        """The level of the named place: cluster, domain, server, …"""
        return LEVELS[tuple(letters for letters, _ in self.steps)]

    @property
    def parent(self) -> "Address":
        """The address of the container."""
        return Address(self.cluster, self.steps[:-1])

    def __str__(self) -> str:
        return "".join([self.cluster, *(f"{_format_letters(letters)}{ordinal}" for letters, ordinal in self.steps)])


@dataclass(frozen=True, slots=True)
class Place:
    """A place or link that exists; ``id`` is the id of its row in the table of its level."""

    address: str
    level: str
    id: int
    cluster_id: int


def parse(text: str) -> Address:
    """Parse the address of one place, ignoring case and surrounding blanks; machine names are not resolved.

    Raises
    ------
    AddressError
        The text has none of the forms shown at the top of this module.
    """
    cluster, *rest = text.strip().lower().replace("/fabric/t", "/fabric-t").split("/")
    steps = [_STEP.fullmatch(step) for step in rest]
    well_formed = len(text) <= _MAX_LENGTH and _CLUSTER.fullmatch(cluster) and all(steps)
    address = Address(cluster, tuple((step[1], int(step[2])) for step in steps if step))
    if not well_formed or tuple(letters for letters, _ in address.steps) not in LEVELS:
        raise AddressError(
            f"{text[:_MAX_LENGTH]!r} is not an address: write CLUSTER, CLUSTER/dD, /dD/sS, /dD/sS/cC, /dD/sS/cC/ncK, "
            "/dD/swN, /dD/sS/efaN, CLUSTER/rR or CLUSTER/fabric/tT/nN, such as u-trn2x64/d0/s1/c5, or @hostname/cC"
        )
    return address


def parse_cluster_name(text: str) -> str:
    """Return a cluster's name as it appears in addresses.

    Raises
    ------
    AddressError
        The name cannot be part of an address.
    """
    name = text.strip().lower()
    if len(name) > _MAX_NAME or not _CLUSTER.fullmatch(name):
        raise AddressError(
            f"{text[:_MAX_LENGTH]!r} can't name a cluster: write letters, digits, '.', '_' and single '-', "
            f"at most {_MAX_NAME} characters, a letter or digit first"
        )
    return name


def parse_or_look_up(connection: Connection, text: str) -> Address:
    """Parse the address of one place, with the names of instances and hosts replaced by their slots."""
    return parse(replace_machine_name(connection, text))


def is_link(text: str) -> bool:
    """Return whether an address has the form of a link."""
    return len(split_link(text)) > 1


def level_of(text: str) -> str:
    """Return the level that an address names, judged by its form alone."""
    if is_link(text):
        return "link"
    text = text.strip()
    if text.startswith("@"):
        _, slash, rest = text.partition("/")
        text = f"{_ANY_SERVER}{slash}{rest}"
    return parse(text).level


def resolve(connection: Connection, text: str) -> Place:
    """Return the place or link that an address names.

    Raises
    ------
    AddressError, UnknownAddressError
        The message of the second names what exists instead.
    """
    return (resolve_link if is_link(text) else resolve_place)(connection, text)


def resolve_place(connection: Connection, text: str) -> Place:
    """Return the place that an address names, in one query.

    Raises
    ------
    AddressError, UnknownAddressError
        The message of the second names what exists instead.
    """
    address = parse_or_look_up(connection, text)
    place = find_place(connection, address)
    if place is None:
        if omitted := next(
            (cluster for cluster in omitted_clusters(connection) if cluster.slug == address.cluster), None
        ):
            from trninv.inventory.unknown import history_start_error  # noqa: PLC0415 # circular: that module needs triggers, which need addresses

            raise history_start_error(connection, omitted)
        raise UnknownAddressError(_suggestion(connection, address))
    return place


def find_place(connection: Connection, address: Address) -> Place | None:
    """Return the place of a parsed address, or None if it does not exist."""
    row = connection.execute(_place_query(address)).first()
    return None if row is None else Place(str(address), address.level, row.id, row.cluster_id)


def resolve_link(connection: Connection, text: str) -> Place:
    """Return the link "A--B"; its ends may be in either order."""
    joined = [resolve_place(connection, end) for end in split_link(text)]
    for end in joined:
        if end.level not in NODE_KINDS:
            raise WrongLevelError(f"{end.address} is a {end.level}: a link joins chips, switches, NICs, network nodes")
    low, high = sorted(end.id for end in joined)
    link = TABLES["link"]
    link_id = connection.scalar(select(link.c.id).where(link.c.a_id == low, link.c.b_id == high))
    if link_id is None:
        linked = neighbours(connection, joined[0].id)
        raise UnknownAddressError(f"no link {text}: {joined[0].address} is linked to {', '.join(linked) or 'nothing'}")
    address = "--".join(end.address for end in sorted(joined, key=lambda end: end.id))
    return Place(address, "link", link_id, joined[0].cluster_id)


def neighbours(connection: Connection, node_id: int) -> list[str]:
    """Return the addresses of the nodes linked to a node."""
    link = TABLES["link"]
    others = (
        select(link.c.b_id).where(link.c.a_id == node_id).union_all(select(link.c.a_id).where(link.c.b_id == node_id))
    )
    nodes = node_addresses()
    query = nodes.where(TABLES["node"].c.id.in_(others)).order_by(TABLES["node"].c.id)
    return [row.address for row in connection.execute(query)]


def chip_ids_of(place: Place) -> Select[Any]:
    """Return a query of the node ids of the chips that a place contains.

    Raises
    ------
    WrongLevelError
        The place is a switch, NIC or link, which contain no chips.
    """
    chip, node, server, core = TABLES["chip"], TABLES["node"], TABLES["server"], TABLES["core"]
    match place.level:
        case "chip":
            return select(chip.c.id).where(chip.c.id == place.id)
        case "core":
            return select(core.c.chip_id).where(core.c.id == place.id)
        case "server":
            return select(chip.c.id).where(chip.c.server_id == place.id)
        case "rack":
            return select(chip.c.id).join(server, server.c.id == chip.c.server_id).where(server.c.rack_id == place.id)
        case "domain":
            return select(node.c.id).where(node.c.domain_id == place.id, node.c.kind == "chip")
        case "cluster":
            return select(node.c.id).where(node.c.cluster_id == place.id, node.c.kind == "chip")
    raise WrongLevelError(f"{place.address} is a {place.level}: name a {', '.join(CHIP_CONTAINERS[:-1])} or cluster")


def node_condition(place: Place) -> ColumnElement[bool]:
    """Return a condition on ``node`` for all chips, switches, NICs and network nodes at or below a place.

    A core stands for its chip. A server contains its own switch, a rack the switches in it.
    """
    if place.level == "core":
        return TABLES["node"].c.id.in_(chip_ids_of(place))
    return node_condition_at(place.level, place.id)


def node_condition_at(level: str, key: int | ColumnElement[int]) -> ColumnElement[bool]:
    """Return the same condition for a place given by its level and id."""
    node, server = TABLES["node"], TABLES["server"]
    match level:
        case "domain" | "cluster":
            return node.c[f"{level}_id"] == key
        case "server":
            subqueries = [
                select(t.c.id).where(t.c.server_id == key) for t in (TABLES["chip"], TABLES["nic"], TABLES["switch"])
            ]
        case "rack":
            server_ids = select(server.c.id).where(server.c.rack_id == key)
            subqueries = [select(t.c.id).where(t.c.server_id.in_(server_ids)) for t in (TABLES["chip"], TABLES["nic"])]
            subqueries.append(select(TABLES["switch"].c.id).where(TABLES["switch"].c.rack_id == key))
        case _:
            return node.c.id == key
    return or_(*(node.c.id.in_(ids) for ids in subqueries))


def node_addresses(id_condition: Callable[[ColumnElement[int]], ColumnElement[bool]] | None = None) -> Select[Any]:
    """Return a query of the id and address of every node; narrow it with conditions on ``node``.

    Parameters
    ----------
    id_condition
        A condition that the requested ids meet. With it PostgreSQL joins chips and NICs without reading their whole
        tables.
    """
    node, domain, cluster = TABLES["node"], TABLES["domain"], TABLES["cluster"]
    chip, switch, nic, server, network_node = (
        TABLES["chip"],
        TABLES["switch"],
        TABLES["nic"],
        TABLES["server"],
        TABLES["network_node"],
    )

    def same(table: Table) -> ColumnElement[bool]:
        return and_(table.c.id == node.c.id, true() if id_condition is None else id_condition(table.c.id))

    address = case(
        *((node.c.kind == kind, address_expression(kind)) for kind in ("chip", "nic", "switch")),
        else_=address_expression("network_node"),
    )
    joined = (
        node.outerjoin(domain, domain.c.id == node.c.domain_id)
        .join(cluster, cluster.c.id == node.c.cluster_id)
        .outerjoin(chip, same(chip))
        .outerjoin(switch, same(switch))
        .outerjoin(nic, same(nic))
        .outerjoin(network_node, same(network_node))
        .outerjoin(server, server.c.id == func.coalesce(chip.c.server_id, nic.c.server_id))
    )
    return select(node.c.id.label("id"), address.label("address")).select_from(joined)


def address_expression(level: str, tables: Mapping[str, FromClause] = TABLES) -> ColumnElement[str]:
    """Return the address, as a SQL expression, of a row joined with the rows of all its containers.

    Parameters
    ----------
    level
        One of the values of LEVELS.
    tables
        Tables or their aliases, by the tables' names.
    """
    letters = next(letters for letters, name in LEVELS.items() if name == level)
    steps = ((_format_letters(letters_), _ordinal_column(tables[_NAMES[letters_]], letters_)) for letters_ in letters)
    slug = tables["cluster"].c.slug
    return concat(slug, *(part for step in steps for part in step)) if letters else slug


_CONTAINERS: Final = {
    "chip": ("server", "domain", "cluster"),
    "nic": ("server", "domain", "cluster"),
    "switch": ("node", "domain", "cluster"),
    "network_node": ("node", "cluster"),
}
"""The tables from a node up to its cluster, which hold the ordinals of the node's address."""


def node_address_expression(key: ColumnElement[int]) -> ColumnElement[str]:
    """Return the address, as a SQL expression, of the node with this id: one scalar, without a join in the outer query.

    Each kind of node is tried in turn; chips come first because they are the most.
    """
    names = {name for kind, containers in _CONTAINERS.items() for name in (kind, *containers)}
    aliases = {name: TABLES[name].alias(f"at_{name}") for name in names}

    def address_subquery(kind: str) -> ColumnElement[str]:
        joined: FromClause = aliases[kind]
        for child, parent in pairwise((kind, *_CONTAINERS[kind])):
            parent_id = aliases[child].c["id" if parent == "node" else f"{parent}_id"]
            joined = joined.join(aliases[parent], aliases[parent].c.id == parent_id)
        query = select(address_expression(kind, aliases)).select_from(joined).where(aliases[kind].c.id == key)
        return query.correlate_except(*aliases.values()).scalar_subquery()

    return func.coalesce(*map(address_subquery, _CONTAINERS))


def concat(*parts: str | ColumnElement[Any]) -> ColumnElement[str]:
    """Concatenate constant text and ordinals in SQL that both databases accept."""
    return Concat(parts)


def _format_letters(letters: str) -> str:
    """Return the letters of a step as they stand in an address."""
    return f"/{letters.replace('-', '/')}"


def _ordinal_column(table: FromClause, letters: str) -> ColumnElement[int]:
    return table.c.tier if letters == "fabric-t" else table.c.ordinal


def _place_query(address: Address, *, siblings: bool = False) -> Select[Any]:
    """Select id, cluster_id and ordinal of an address or, with `siblings`, of all rows of its last step."""
    cluster = last = TABLES["cluster"]
    query = select(cluster).where(cluster.c.slug == address.cluster)
    for position, (letters, ordinal) in enumerate(address.steps, start=1):
        parent, last = last, TABLES[_NAMES[letters]]
        number = _ordinal_column(last, letters)
        if letters in ("sw", "fabric-t"):
            node = TABLES["node"]
            query = query.join(node, node.c[f"{parent.name}_id"] == parent.c.id).join(last, last.c.id == node.c.id)
        elif parent is not last:
            query = query.join(last, last.c[f"{parent.name}_id"] == parent.c.id)
        if not (siblings and position == len(address.steps)):
            query = query.where(number == ordinal)
    columns = [last.c.id.label("id"), cluster.c.id.label("cluster_id")]
    return query.with_only_columns(*columns, *([number] if address.steps else []))


def _suggestion(connection: Connection, address: Address) -> str:
    """Name the first missing step of an address and the siblings that exist instead."""
    missing = address
    while missing.steps and connection.execute(_place_query(missing.parent)).first() is None:
        missing = missing.parent
    if not missing.steps:
        slugs = connection.scalars(select(TABLES["cluster"].c.slug)).all()
        from trninv.catalog.models import default_systems  # noqa: PLC0415 # only to suggest a name

        meant = default_systems().by_name.get(missing.cluster)
        offer = f"did you mean {meant.slug}?" if meant and meant.slug in slugs else suggestion(missing.cluster, slugs)
        return f"no cluster {missing.cluster}: " + (offer if slugs else NO_CLUSTER_MESSAGE)
    siblings_ = sorted({row[2] for row in connection.execute(_place_query(missing, siblings=True))})
    letters = _format_letters(missing.steps[-1][0])[1:]
    bounds = dict.fromkeys(f"{letters}{ordinal}" for ordinal in (*siblings_[:1], *siblings_[-1:]))
    available = " to ".join(bounds) or f"no {_NAMES[missing.steps[-1][0]].replace('_', ' ')}"
    return f"no {missing}: {missing.parent} has {available}"
