"""Select the rows at or below a place.

Addresses are computed from ordinals, never stored, and stay the same when a cluster is seeded again.

cluster[/dD[/sS[/cC[/ncK]]]]    cluster/dD/swN    cluster/dD/sS/efaN    cluster/rR    cluster/fabric/tT/nN
A--B (a link)    @i-0abc, @hostname (the server to which that instance or host is bound), @hostname/cC
"""

from typing import Any

from sqlalchemy import ColumnElement, Select, or_, select

from trninv.database.tables import TABLES
from trninv.errors import WrongLevelError
from trninv.inventory.address.lookup import CHIP_CONTAINERS, Place


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
