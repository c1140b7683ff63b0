"""Load blueprints into temporary tables."""

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
    column_list = (Column(key, kind, primary_key=key in keys) for key, kind in columns.items())
    return Table(f"blueprint_{name}", _METADATA, *column_list, prefixes=["TEMPORARY"])


SERVER: Final = _temporary_table("server", part=Integer, local=Integer, rack=Integer)
TRAY: Final = _temporary_table(
    "tray", part=Integer, local=Integer, server=Integer, ordinal=Integer, kind=Text, rack_units=Integer
)
NODE: Final = _temporary_table(
    "node",
    part=Integer,
    local=Integer,
    kind=Text,
    server=Integer,
    rack=Integer,
    tray=Integer,
    ordinal=Integer,
    bandwidth_bytes_per_s=BigInteger,
)
CORE: Final = _temporary_table("core", part=Integer, local=Integer, chip=Integer, ordinal=Integer)
LINK: Final = _temporary_table(
    "link",
    part=Integer,
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
"""A link with a null b goes from a NIC of this server to the network node above."""
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
    """Provide rows in temporary tables inside this context, or yield CTEs for statements to include instead."""
    if is_read_only(connection):
        yield [rows_as_cte(table, blueprint) for table, blueprint in rows.items()]
        return
    _METADATA.create_all(connection)  # on an error the caller's transaction rolls them back
    for table, blueprint in rows.items():
        if blueprint:
            connection.execute(insert(table), blueprint)
        analyze_table(connection, table)
    yield []
    _METADATA.drop_all(connection)


def analyze_table(connection: Connection, table: Table) -> None:
    """Show PostgreSQL how small a blueprint is compared with the cluster, so that it crosses them domain by domain."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"ANALYZE {table}"))


def blueprint_rows(connection: Connection, catalog: Catalog, plan: ClusterPlan) -> dict[Table, list[dict[str, Any]]]:
    """Return the rows of each blueprint table: all domain groups, and the fabric."""
    links = _link_columns(connection)
    rows_by_table: dict[Table, list[dict[str, Any]]] = {table: [] for table in (SERVER, TRAY, NODE, CORE, LINK)}
    for number, part in enumerate(plan.domain_groups):
        for table, new_rows in _group_rows(catalog, part, links, has_fabric=plan.fabric is not None).items():
            rows_by_table[table] += ({"part": number, **row} for row in new_rows)
    return rows_by_table | _fabric_rows(plan, links)


def _link_columns(connection: Connection) -> dict[str, dict[str, Any]]:
    """Return the columns of a link by the slug of its model."""
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
    """Return network nodes, and uplinks that carry as much as all NICs below them, with one cable for each."""
    nodes = plan.fabric.nodes() if plan.fabric else ()
    return {
        NETWORK_NODE: [{"vendor_id": None, **node._asdict()} for node in nodes],
        UPLINK: [
            {"local": link.local, "a": link.a, "b": link.b} | _bundle_cables(link.cables, links)
            for link in plan.uplinks()
        ],
        SERVER_PARENT: [
            {"domain": domain, "server": server, "node": node}
            for (domain, server), node in (
                plan.fabric.server_parents.items() if isinstance(plan.fabric, FabricTree) else ()
            )
        ],
    }


def _bundle_cables(cables: Mapping[str, int], links: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Bundle parallel cables into one link, of the model that most of them have."""
    main_model = max(sorted(cables), key=lambda wire: cables[wire])
    bandwidth = sum(number * links[wire]["bandwidth_bytes_per_s"] for wire, number in cables.items())
    shared = {key: links[main_model][key] for key in ("link_model_id", "technology")}
    return shared | {"scope": "fabric", "cables": sum(cables.values()), "bandwidth_bytes_per_s": bandwidth}


def _group_rows(
    catalog: Catalog, part: DomainGroup, link_columns: Mapping[str, dict[str, Any]], *, has_fabric: bool
) -> dict[Table, list[dict[str, Any]]]:
    domain, blueprint = part.model, part.model.blueprint
    links = {role: link_columns[link.slug] for role, link in domain.links.items()}
    heads = catalog.picked_value_or_none(domain.server.slug, "head_trays") or 0
    trays = heads + len(domain.server.trays) if domain.server.trays else 0
    tray_of = {chip: heads + tray for tray, chips in enumerate(domain.server.trays) for chip in chips}
    cores = catalog.picked_value(domain.server.chip.slug, "cores")
    return {
        SERVER: [{"local": server, "rack": blueprint.rack_of(server)} for server in range(blueprint.servers)],
        TRAY: [
            {
                "local": server * trays + tray,
                "server": server,
                "ordinal": tray,
                "kind": kind,
                "rack_units": catalog.picked_value_or_none(domain.server.slug, f"{kind}_tray_units"),
            }
            for server in range(blueprint.servers)
            for tray in range(trays)
            for kind in ("head" if tray < heads else "compute",)
        ],
        NODE: [
            {
                "local": local,
                "kind": node.kind,
                "server": node.server,
                "rack": node.rack,
                "tray": (node.server or 0) * trays + tray_of[node.ordinal] if node.kind == "chip" and trays else None,
                "ordinal": node.ordinal,
                "bandwidth_bytes_per_s": links["nic"]["bandwidth_bytes_per_s"] if node.kind == "nic" else None,
            }
            for local, node in enumerate(blueprint.nodes)
        ],
        CORE: [
            {"local": chip * cores + core, "chip": chip, "ordinal": core}
            for chip in range(blueprint.chips)
            for core in range(cores)
        ],
        LINK: [
            {"local": local, "a": a, "b": b, "server": server, **wire}
            for local, (a, b, server, wire) in enumerate(
                [
                    *((link.a, link.b, None, links[link.role]) for link in blueprint.links),
                    *(
                        (nic, None, node.server, links["nic"] | {"scope": "fabric", "lanes": None})
                        for nic, node in enumerate(blueprint.nodes)
                        if node.kind == "nic" and has_fabric
                    ),
                ]
            )
        ],
    }
