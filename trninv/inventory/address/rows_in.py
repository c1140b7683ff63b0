"""Select the rows at or below a place: the one definition of what is in a cluster, rack, domain, server, chip or link.

- A part is in a place if its address is the place's or continues it. A core, as a place, stands for its chip.
- A rack contains the servers that stand in it with their chips and NICs, and the switches mounted in it, although
  their addresses do not name it. A server's own switch is in the server.
- A link is in a place if at least one of its ends is, and in itself. No other row is in a link, except its findings.
- Bindings and cordons are where their server is, allocations where their chip is. A job is where it has chips or, once
  it has ended, where it had any. A reservation is where its chips are.
- Bindings, findings and measurements keep the address of a slot or part, so they are matched by address. A finding
  about a link counts for both ends.

Events are matched by `trninv.history.scope_filter`, because their parts may no longer exist.
"""

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, Table, Text, and_, func, literal, literal_column, or_, select, union

from trninv.database.tables import TABLES
from trninv.errors import WrongLevelError
from trninv.inventory.address.expressions import address_expression, join_containers, node_address_expression
from trninv.inventory.address.lookup import Place

_BY_ADDRESS: Final = ("finding", "measurement")
"""The kinds of rows that name parts by address."""
Key = int | ColumnElement[int]
"""The id of a place, or a bound parameter for it."""

SERVER_CONTAINERS: Final = ("server", "rack", "domain", "cluster")
CHIP_CONTAINERS: Final = ("chip", "core", *SERVER_CONTAINERS)
_NODE_CONTAINERS: Final = (*CHIP_CONTAINERS, "switch", "nic", "network_node")
CONTAINERS: Final[Mapping[str, tuple[str, ...]]] = {
    "server": SERVER_CONTAINERS,
    "binding": SERVER_CONTAINERS,
    "cordon": SERVER_CONTAINERS,
    "chip": CHIP_CONTAINERS,
    "allocation": CHIP_CONTAINERS,
    "job": CHIP_CONTAINERS,
    "reservation": CHIP_CONTAINERS,
    "switch": ("switch", *SERVER_CONTAINERS),
    "nic": ("nic", *SERVER_CONTAINERS),
    "network_node": ("network_node", "cluster"),
    "node": _NODE_CONTAINERS,
    "link": (*_NODE_CONTAINERS, "link"),
    "finding": (*_NODE_CONTAINERS, "link"),
    "measurement": _NODE_CONTAINERS,
}
"""The levels of places that can contain rows of a kind."""


def rows_in(place: Place, kind: str) -> ColumnElement[bool]:
    """Return the condition on the table of a kind that its rows are at or below a place.

    Raises
    ------
    WrongLevelError
        A place of this level contains no rows of this kind.
    """
    check_level(place.address, place.level, kind)
    return rows_at(place.level, literal(place.address) if is_matched_by_address(place.level, kind) else place.id, kind)


def check_level(address: str, level: str, kind: str) -> None:
    """Refuse a place of a level that contains no rows of a kind.

    Raises
    ------
    WrongLevelError
        `level` is not one of `CONTAINERS` for this kind.
    """
    if level not in (levels := CONTAINERS[kind]):
        names = [name.replace("_", " ") for name in (level, *levels)]
        raise WrongLevelError(f"{address} is a {names[0]}: name a {', '.join(names[1:-1])} or {names[-1]}")


def is_matched_by_address(level: str, kind: str) -> bool:
    """Return whether `rows_at` takes the address of a place of this level, not its id."""
    return kind in _BY_ADDRESS and level not in ("rack", "core")


def row_ids_in(place: Place, kind: str) -> Select[Any]:
    """Return a query of the ids of the rows of a kind at or below a place.

    Raises
    ------
    WrongLevelError
        A place of this level contains no rows of this kind.
    """
    if kind == "chip" and place.level in ("domain", "cluster"):  # one search of an index, without the table of chips
        node = TABLES["node"]
        return select(node.c.id).where(rows_in(place, "node"), node.c.kind == "chip")
    return select(TABLES[kind].c.id).where(rows_in(place, kind))


def rows_at(level: str, key: Key, kind: str) -> ColumnElement[bool]:
    """Return the condition of `rows_in` for a level and an id, or a bound parameter (see `is_matched_by_address`)."""
    conditions = {
        "node": _nodes_at,
        "server": _servers_at,
        "link": _links_at,
        "job": _jobs_at,
        "reservation": _reservations_at,
        "binding": _bindings_at,
    }
    columns = {"cordon": ("server_id", "server")} | dict.fromkeys(("allocation", "reserved_chip"), ("chip_id", "chip"))
    if kind in _BY_ADDRESS:
        return _addressed_at(TABLES[kind], level, key)
    if kind in conditions:
        return conditions[kind](level, key)
    if kind in columns:
        column, container = columns[kind]
        return TABLES[kind].c[column].in_(_ids_at(level, key, container))
    return _nodes_of_kind_at(level, key, kind)


def _ids_at(level: str, key: Key, kind: str) -> Select[Any]:
    return select(TABLES[kind].c.id).where(rows_at(level, key, kind))


def _servers_at(level: str, key: Key) -> ColumnElement[bool]:
    server, domain = TABLES["server"], TABLES["domain"]
    if level == "cluster":
        return server.c.domain_id.in_(select(domain.c.id).where(domain.c.cluster_id == key))
    return server.c["id" if level == "server" else f"{level}_id"] == key


def _nodes_at(level: str, key: Key) -> ColumnElement[bool]:
    node, core = TABLES["node"], TABLES["core"]
    match level:
        case "domain" | "cluster":
            return node.c[f"{level}_id"] == key
        case "server" | "rack":
            return or_(*(node.c.id.in_(_ids_at(level, key, kind)) for kind in ("chip", "nic", "switch")))
        case "core":
            return node.c.id.in_(select(core.c.chip_id).where(core.c.id == key))
    return node.c.id == key


def _nodes_of_kind_at(level: str, key: Key, kind: str) -> ColumnElement[bool]:
    table, node = TABLES[kind], TABLES["node"]
    if level == kind:
        return table.c.id == key
    if level == "server":
        return table.c.server_id == key
    if level == "rack":
        return table.c.rack_id == key if kind == "switch" else table.c.server_id.in_(_ids_at(level, key, "server"))
    return table.c.id.in_(select(node.c.id).where(_nodes_at(level, key), node.c.kind == kind))


def _links_at(level: str, key: Key) -> ColumnElement[bool]:
    link = TABLES["link"]
    if level == "link":
        return link.c.id == key
    node_ids = _ids_at(level, key, "node")
    return or_(link.c.a_id.in_(node_ids), link.c.b_id.in_(node_ids))


def _jobs_at(level: str, key: Key) -> ColumnElement[bool]:
    job, allocation = TABLES["job"], TABLES["allocation"]
    if level == "cluster":
        return job.c.cluster_id == key
    had_chips = select(allocation.c.job_id).where(rows_at(level, key, "allocation"))
    return or_(
        job.c.id.in_(had_chips.where(allocation.c.ended_at.is_(None))),
        and_(job.c.ended_at.is_not(None), job.c.id.in_(had_chips)),
    )


def _reservations_at(level: str, key: Key) -> ColumnElement[bool]:
    reservation, reserved_chip = TABLES["reservation"], TABLES["reserved_chip"]
    if level == "cluster":
        return reservation.c.cluster_id == key
    has_chip = select(reserved_chip.c.reservation_id).where(rows_at(level, key, "reserved_chip"))
    return reservation.c.id.in_(has_chip)


def _bindings_at(level: str, key: Key) -> ColumnElement[bool]:
    return TABLES["binding"].c.address.in_(_server_addresses(level, key))


def _server_addresses(level: str, key: Key) -> Select[Any]:
    return _addresses("server").where(rows_at(level, key, "server"))


def _addresses(kind: str) -> Select[Any]:
    return select(address_expression(kind).label("address")).select_from(join_containers(kind))


def _addressed_at(table: Table, level: str, key: Any) -> ColumnElement[bool]:  # Any: an address or an id
    """Return the condition for rows that name parts by address, such as findings.

    A rack's rows are those about the rack and those about its servers and switches, whose addresses don't name it.
    """
    if level == "core":
        core = TABLES["core"]
        chip = select(core.c.chip_id).where(core.c.id == key).scalar_subquery()
        return address_is_in(table.c.address, node_address_expression(chip))
    if level != "rack":
        return address_is_in(table.c.address, key)
    in_rack = table.alias("in_rack")
    switches = _addresses("switch").where(rows_at(level, key, "switch"))
    parts = _server_addresses(level, key).union_all(switches).subquery("rack_parts")
    ids = union(  # two statements, so that the first can search the index of addresses
        *(
            select(in_rack.c.id).join(parts, condition(in_rack.c.address, parts.c.address))
            for condition in (is_at_or_below, _second_end_is_in)
        )
    )
    address = _addresses("rack").where(TABLES["rack"].c.id == key).scalar_subquery()
    return or_(table.c.address == address, table.c.id.in_(ids))


def address_is_in(address: ColumnElement[Any], place: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that an address is a place, below it, or a link with an end at or below it."""
    return or_(is_at_or_below(address, place), _second_end_is_in(address, place))


def _second_end_is_in(address: ColumnElement[Any], place: ColumnElement[Any]) -> ColumnElement[bool]:
    # replace has no wildcards; LIKE has "_", which an address may contain
    slash, dashes = literal_column("'/'", Text), literal_column("'--'", Text)
    path = address + slash
    is_link = address.like(literal_column("'%--%'"))
    return and_(is_link, func.replace(path, dashes + place + slash, "") != path)


def is_at_or_below(address: ColumnElement[Any], place: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that an address is a place, below it, or a link whose first end is at or below it."""
    separators = {"/": "0", "--": "-."}  # each with the text that follows it in sort order
    ranges = (
        and_(
            address >= place + literal_column(f"'{separator}'", Text),
            address < place + literal_column(f"'{following}'", Text),
        )
        for separator, following in separators.items()
    )
    return or_(address == place, *ranges)
