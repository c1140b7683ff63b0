"""Whether a fabric is one: that of an adopted cluster may have several network nodes on top, which nothing joins."""

from sqlalchemy import Connection, select

from trninv.inventory.schema import TABLES
from trninv.routing.scope import Scope
from trninv.routing.wiring import Reader

_T = TABLES


def is_joined(reader: Reader, scope: Scope) -> bool:
    """Whether one network node is above all domains of a scope; an adopted cluster may have several on top."""
    return len(set().union(*_above(reader, scope))) <= 1


def is_apart(reader: Reader, scope: Scope) -> bool:
    """Whether domains of a scope are joined by nothing: neither a network node, nor a domain that is below several."""
    joined = list[set[int]]()
    for tops in _above(reader, scope):
        beside = [each for each in joined if each & tops]
        joined = [each for each in joined if not each & tops] + [tops.union(*beside)]
    return len(joined) > 1


def _above(reader: Reader, scope: Scope) -> list[set[int]]:
    """The network nodes on top of each domain of a scope; none where the cluster has but one on top."""
    key = "tops", scope.place.cluster_id
    tops = reader.remembered(key, lambda: _tops(reader.connection, scope.place.cluster_id))
    return [tops[domain] for domain in scope.domains if domain in tops]


def _tops(connection: Connection, cluster_id: int) -> dict[int, set[int]]:
    """The network nodes on top of each domain; only where the cluster has several on top."""
    node, link = _T["node"], _T["link"]
    uplinks = select(node.c.id, link.c.b_id).outerjoin(link, link.c.a_id == node.c.id)
    uplinks = uplinks.where(node.c.cluster_id == cluster_id, node.c.kind == "network_node")
    above = {row.id: row.b_id for row in connection.execute(uplinks)}
    if len([up for up in above.values() if up is None]) < 2:  # noqa: PLR2004 # one tree, or none
        return {}

    def top(key: int) -> int:
        return key if above[key] is None else top(above[key])

    ours = link.c.b_id.between(min(above), max(above)), link.c.domain_id.is_not(None)
    found: dict[int, set[int]] = {}
    for domain, up in connection.execute(select(link.c.domain_id, link.c.b_id).distinct().where(*ours)):
        found.setdefault(domain, set()).add(top(up))
    return found
