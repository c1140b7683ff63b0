"""Load blueprints into temporary tables.

A blueprint is the nodes and links of one domain in local numbers (from 0 within the domain). The statements of
`trninv.inventory.seeding.expected_rows` join it with the domains of a cluster. Consecutive domains of the same model
form a domain group and share a blueprint. In the tables, ``group_number`` numbers the groups from 0, and ``local``
numbers the rows of a domain or, in the tables of the fabric, those of the cluster.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import CTE, BigInteger, Column, Connection, Integer, MetaData, Table, Text, insert, select, text

from trninv.catalog.facts import Catalog
from trninv.database.postgresql import is_read_only, rows_as_cte
from trninv.database.tables import TABLES
from trninv.inventory.seeding.cluster_plan import ClusterPlan, DomainGroup
from trninv.topology.fabric_tree import FabricTree

_METADATA = MetaData()
Rows = Mapping[Table, Sequence[Mapping[str, Any]]]


def _temporary_table(name: str, *keys: str, **columns: type[Integer | BigInteger | Text]) -> Table:
    """Declare the temporary table ``blueprint_NAME``; `keys` are the columns of its primary key."""
    column_list = (Column(column, kind, primary_key=column in keys) for column, kind in columns.items())
    return Table(f"blueprint_{name}", _METADATA, *column_list, prefixes=["TEMPORARY"])


SERVER: Final = _temporary_table("server", group_number=Integer, local=Integer, rack=Integer)
TRAY: Final = _temporary_table(
    "tray", group_number=Integer, local=Integer, server=Integer, ordinal=Integer, kind=Text, rack_units=Integer
)
NODE: Final = _temporary_table(
    "node",
    group_number=Integer,
    local=Integer,
    kind=Text,
    server=Integer,
    rack=Integer,
    tray=Integer,
    ordinal=Integer,
    bandwidth_bytes_per_s=BigInteger,
)
CORE: Final = _temporary_table("core", group_number=Integer, local=Integer, chip=Integer, ordinal=Integer)
LINK: Final = _temporary_table(
    "link",
    group_number=Integer,
    local=Integer,
    a=Integer,
    b=Integer,
    server=Integer,
    link_model_id=Integer,
    bandwidth_bytes_per_s=BigInteger,
    lanes=Integer,
    technology=Text,
    scope=Text,
)
"""A link with a null ``b`` goes from a NIC of its ``server`` to the network node above."""
NETWORK_NODE: Final = _temporary_table("network_node", local=Integer, tier=Integer, ordinal=Integer, vendor_id=Text)
UPLINK: Final = _temporary_table(
    "uplink",
    local=Integer,
    a=Integer,
    b=Integer,
    link_model_id=Integer,
    bandwidth_bytes_per_s=BigInteger,
    cables=Integer,
    technology=Text,
    scope=Text,
)
SERVER_PARENT: Final = _temporary_table("above", "domain", "server", domain=Integer, server=Integer, node=Integer)
"""The network node above each server, where it does not follow from the domain's ordinal."""


@contextmanager
def blueprint_tables(connection: Connection, rows: Rows) -> Iterator[list[CTE]]:
    """Provide rows in temporary tables inside this context; on a read-only connection, yield them as CTEs instead."""
    if is_read_only(connection):
        yield [rows_as_cte(table, table_rows) for table, table_rows in rows.items()]
        return
    _METADATA.create_all(connection)  # on an error the caller's transaction rolls them back
    for table, table_rows in rows.items():
        if table_rows:
            connection.execute(insert(table), table_rows)
        analyze_table(connection, table)
    yield []
    _METADATA.drop_all(connection)


def analyze_table(connection: Connection, table: Table) -> None:
    """Update PostgreSQL's statistics of a table, so that it plans joins for its actual size."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"ANALYZE {table}"))


def blueprint_rows(connection: Connection, catalog: Catalog, plan: ClusterPlan) -> dict[Table, list[dict[str, Any]]]:
    """Return the rows of each blueprint table, for all domain groups and the fabric."""
    links = _link_columns(connection)
    rows_by_table: dict[Table, list[dict[str, Any]]] = {table: [] for table in (SERVER, TRAY, NODE, CORE, LINK)}
    for number, group in enumerate(plan.domain_groups):
        for table, new_rows in _group_rows(catalog, group, links, has_fabric=plan.fabric is not None).items():
            rows_by_table[table] += ({"group_number": number, **row} for row in new_rows)
    return rows_by_table | _fabric_rows(plan, links)


def _link_columns(connection: Connection) -> dict[str, dict[str, Any]]:
    """Return the columns that a link gets from its model, by the model's slug."""
    return {
        row.slug: {
            "link_model_id": row.id,
            "bandwidth_bytes_per_s": row.bandwidth_bytes_per_s,
            "lanes": row.lanes,
            "technology": row.technology,
            "scope": row.scope,
        }
        for row in connection.execute(select(TABLES["link_model"]))
    }


def _fabric_rows(plan: ClusterPlan, links: Mapping[str, dict[str, Any]]) -> dict[Table, list[dict[str, Any]]]:
    """Return the network nodes, their uplinks, and the parents of servers.

    An uplink (a link to the node above) has a cable for each NIC below it and carries as much as all of these NICs.
    """
    nodes = plan.fabric.nodes() if plan.fabric else ()
    server_parents = plan.fabric.server_parents if isinstance(plan.fabric, FabricTree) else {}
    return {
        NETWORK_NODE: [{"vendor_id": None, **node._asdict()} for node in nodes],
        UPLINK: [
            {"local": link.local, "a": link.a, "b": link.b} | _bundle_cables(link.cables, links)
            for link in plan.uplinks()
        ],
        SERVER_PARENT: [
            {"domain": domain, "server": server, "node": node} for (domain, server), node in server_parents.items()
        ],
    }


def _bundle_cables(cables: Mapping[str, int], links: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Bundle parallel cables, counted by link model, into one link of the model that most of them have."""
    main_model = max(sorted(cables), key=lambda model: cables[model])
    bandwidth = sum(number * links[model]["bandwidth_bytes_per_s"] for model, number in cables.items())
    shared = {key: links[main_model][key] for key in ("link_model_id", "technology")}
    return shared | {"scope": "fabric", "cables": sum(cables.values()), "bandwidth_bytes_per_s": bandwidth}


def _group_rows(
    catalog: Catalog, group: DomainGroup, link_columns: Mapping[str, dict[str, Any]], *, has_fabric: bool
) -> dict[Table, list[dict[str, Any]]]:
    """Return the rows of one domain of a group, by blueprint table."""
    domain, blueprint = group.model, group.model.blueprint
    links = {role: link_columns[link.slug] for role, link in domain.links.items()}
    # the head trays of a server come first and have no chips
    head_trays = catalog.picked_value_or_none(domain.server.slug, "head_trays") or 0
    trays_per_server = head_trays + len(domain.server.trays) if domain.server.trays else 0
    tray_by_chip = {chip: head_trays + tray for tray, chips in enumerate(domain.server.trays) for chip in chips}
    cores_per_chip = catalog.picked_value(domain.server.chip.slug, "cores")
    trays = list[dict[str, Any]]()
    for server in range(blueprint.servers):
        for tray in range(trays_per_server):
            kind = "head" if tray < head_trays else "compute"
            rack_units = catalog.picked_value_or_none(domain.server.slug, f"{kind}_tray_units")
            local = server * trays_per_server + tray
            trays.append({"local": local, "server": server, "ordinal": tray, "kind": kind, "rack_units": rack_units})
    nodes = list[dict[str, Any]]()
    for local, node in enumerate(blueprint.nodes):
        has_tray = node.kind == "chip" and trays_per_server
        nodes.append(
            {
                "local": local,
                "kind": node.kind,
                "server": node.server,
                "rack": node.rack,
                "tray": (node.server or 0) * trays_per_server + tray_by_chip[node.ordinal] if has_tray else None,
                "ordinal": node.ordinal,
                "bandwidth_bytes_per_s": links["nic"]["bandwidth_bytes_per_s"] if node.kind == "nic" else None,
            }
        )
    link_rows = [{"a": link.a, "b": link.b, "server": None, **links[link.role]} for link in blueprint.links]
    for local, node in enumerate(blueprint.nodes):
        if node.kind == "nic" and has_fabric:
            columns = links["nic"] | {"scope": "fabric", "lanes": None}
            link_rows.append({"a": local, "b": None, "server": node.server, **columns})
    return {
        SERVER: [{"local": server, "rack": blueprint.rack_of(server)} for server in range(blueprint.servers)],
        TRAY: trays,
        NODE: nodes,
        CORE: [
            {"local": chip * cores_per_chip + core, "chip": chip, "ordinal": core}
            for chip in range(blueprint.chips)
            for core in range(cores_per_chip)
        ],
        LINK: [{"local": local, **row} for local, row in enumerate(link_rows)],
    }
