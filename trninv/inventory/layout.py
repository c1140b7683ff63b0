"""The rows that a cluster must have: SELECTs over the blueprint of one domain, staged in temporary tables.

`trninv.inventory.stamp` inserts them, `trninv.inventory.verify` compares them with what exists. Rows of one domain
are consecutive in each table: id = start of the block + ordinal of the domain × rows per domain + local number.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    CompoundSelect,
    Connection,
    Integer,
    MetaData,
    Select,
    Table,
    Text,
    case,
    cast,
    insert,
    literal,
    null,
    select,
    text,
    union_all,
)

from trninv.catalog.facts import Catalog
from trninv.catalog.models import System
from trninv.inventory.inline import inline, only_reads
from trninv.inventory.record import model_ids
from trninv.inventory.schema import ORDER, TABLES
from trninv.topology.clos import Fabric

_META = MetaData()

Rows = Select[Any] | CompoundSelect[Any]


def _temporary(name: str, **columns: type[Integer | BigInteger | Text]) -> Table:
    listed = (Column(key, kind) for key, kind in columns.items())
    return Table(f"blueprint_{name}", _META, *listed, prefixes=["TEMPORARY"])


_SERVER = _temporary("server", local=Integer, rack=Integer)
_TRAY = _temporary("tray", local=Integer, server=Integer, ordinal=Integer, kind=Text, rack_units=Integer)
_NODE = _temporary(
    "node",
    local=Integer,
    kind=Text,
    server=Integer,
    rack=Integer,
    tray=Integer,
    ordinal=Integer,
    bandwidth_bytes_per_s=BigInteger,
)
_CORE = _temporary("core", local=Integer, chip=Integer, ordinal=Integer)
_LINK = _temporary(
    "link",
    local=Integer,
    a=Integer,
    b=Integer,
    link_model_id=Integer,
    bandwidth_bytes_per_s=BigInteger,
    lanes=Integer,
    technology=Text,
    scope=Text,
)
"""A link with a null b goes to the network node above the domain."""
_NETWORK_NODE = _temporary("network_node", local=Integer, tier=Integer, ordinal=Integer)
_UPLINK = _temporary(
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

BLOCKS = ("domain", "rack", "server", "tray", "node", "core", "link")
"""Tables whose ids come in blocks; chip, switch, nic and network node share their node's id."""


@contextmanager
def staged(connection: Connection, catalog: Catalog, system: System, cluster: Mapping[Any, Any]) -> Iterator["Wanted"]:
    """What a cluster must have; valid while the context lasts."""
    rows = _blueprint(connection, catalog, system) | _fabric(connection, catalog, system)
    per_domain = {table.name.removeprefix("blueprint_"): len(listed) for table, listed in rows.items()}
    per_domain |= Counter(row["kind"] for row in rows[_NODE])
    layout = _Layout(cluster, system, system.fabric(catalog), per_domain)
    selects, sizes = layout.selects(connection, catalog), layout.sizes()
    if only_reads(connection):
        given = [inline(table, listed) for table, listed in rows.items()]
        yield Wanted({name: query.add_cte(*given) for name, query in selects.items()}, sizes)
        return
    _META.create_all(connection)  # an error rolls them back with the caller's transaction
    for table, listed in rows.items():
        if listed:
            connection.execute(insert(table), listed)
    yield Wanted(selects, sizes)
    _META.drop_all(connection)


def analyze(connection: Connection) -> None:
    """Let PostgreSQL know that a blueprint is smaller than the cluster, so that it crosses them domain by domain."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SET LOCAL jit = off"))
        for table in (*_META.tables, "domain"):
            connection.execute(text(f"ANALYZE {table}"))


@dataclass(frozen=True, slots=True)
class Wanted:
    """For each table in `ORDER`, a SELECT of the rows that a cluster must have, and their number."""

    rows: Mapping[str, Rows]
    sizes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Layout:
    cluster: Mapping[Any, Any]
    system: System
    fabric: Fabric | None
    per_domain: Mapping[str, int]

    def selects(self, connection: Connection, catalog: Catalog) -> dict[str, Rows]:
        model = self.system.domain.server
        return {
            "domain": self._domains(),
            "rack": self._racks(catalog.value("rack", "rack_units")),
            "server": self._servers(model_ids(connection, TABLES["server_model"])[model.slug]),
            "tray": self._each(
                _TRAY, "tray", self._at("server", _TRAY.c.server).label("server_id"), *_shared(_TRAY, "tray")
            ),
            "node": self._nodes(),
            "chip": self._chips(model_ids(connection, TABLES["chip_model"])[model.chip.slug]),
            "switch": self._switches(model_ids(connection, TABLES["switch_model"])),
            "nic": self._of_kind("nic", self._at("server", _NODE.c.server).label("server_id"), *_shared(_NODE, "nic")),
            "network_node": select(
                self._above("node", _NETWORK_NODE.c.local).label("id"), _NETWORK_NODE.c.tier, _NETWORK_NODE.c.ordinal
            ),
            "core": self._each(_CORE, "core", self._at("node", _CORE.c.chip).label("chip_id"), _CORE.c.ordinal),
            "link": self._links(),
        }

    def sizes(self) -> dict[str, int]:
        """The number of rows in each table."""
        above = {"node": self.per_domain["network_node"], "link": self.per_domain["uplink"]}
        sizes = {name: self.cluster["domains"] * self.per_domain.get(name, 0) + above.get(name, 0) for name in ORDER}
        return sizes | {
            "domain": self.cluster["domains"],
            "rack": self._rack_count(),
            "network_node": self.per_domain["network_node"],
        }

    def _rack_count(self) -> int:
        per_domain, shared = self._rack_sharing()
        return -(-int(self.cluster["domains"]) * per_domain // shared)

    def _domains(self) -> Select[Any]:
        number = _range(self.cluster["domains"])
        return select(
            (self.cluster["first_domain_id"] + number).label("id"),
            literal(self.cluster["id"]).label("cluster_id"),
            literal(self.cluster["domain_model_id"]).label("domain_model_id"),
            number.label("ordinal"),
        )

    def _racks(self, rack_units: int) -> Select[Any]:
        number = _range(self._rack_count())
        return select(
            (self.cluster["first_rack_id"] + number).label("id"),
            literal(self.cluster["id"]).label("cluster_id"),
            number.label("ordinal"),
            literal(rack_units).label("rack_units"),
        )

    def _servers(self, model_id: int) -> Select[Any]:
        return self._each(
            _SERVER,
            "server",
            _DOMAIN.c.id.label("domain_id"),
            self._rack(_SERVER.c.rack).label("rack_id"),
            literal(model_id).label("server_model_id"),
            _SERVER.c.local.label("ordinal"),
        )

    def _chips(self, model_id: int) -> Select[Any]:
        return self._of_kind(
            "chip",
            self._at("server", _NODE.c.server).label("server_id"),
            self._at("tray", _NODE.c.tray).label("tray_id"),
            literal(model_id).label("chip_model_id"),
            _NODE.c.ordinal,
        )

    def _switches(self, models: Mapping[str, int]) -> Select[Any]:
        model = self.system.domain.switch
        return self._of_kind(
            "switch",
            self._at("server", _NODE.c.server).label("server_id"),
            self._rack(_NODE.c.rack).label("rack_id"),
            _NODE.c.ordinal,
            cast(literal(models[model.slug]) if model else null(), Integer).label("switch_model_id"),
        )

    def _nodes(self) -> Rows:
        ours = self._each(_NODE, "node", _NODE.c.kind, _DOMAIN.c.cluster_id, _DOMAIN.c.id.label("domain_id"))
        above = select(
            self._above("node", _NETWORK_NODE.c.local).label("id"),
            literal("network_node", Text).label("kind"),
            literal(self.cluster["id"]).label("cluster_id"),
            cast(null(), Integer).label("domain_id"),
        ).select_from(_NETWORK_NODE)
        return union_all(ours, above) if self.fabric else ours

    def _links(self) -> Rows:
        shared = [column for column in _shared(_UPLINK, "link") if column.name != "cables"]
        b = self._at("node", _LINK.c.b)
        if self.fabric:
            over = self._above("node", _DOMAIN.c.ordinal // self.fabric.domains_per_node)
            b = case((_LINK.c.b.is_(None), over), else_=b)
        ours = self._each(
            _LINK,
            "link",
            self._at("node", _LINK.c.a).label("a_id"),
            b.label("b_id"),
            _DOMAIN.c.id.label("domain_id"),
            _LINK.c.lanes,
            literal(1).label("cables"),
            *(_LINK.c[column.name] for column in shared),
        )
        above = select(
            self._above("link", _UPLINK.c.local).label("id"),
            self._above("node", _UPLINK.c.a).label("a_id"),
            self._above("node", _UPLINK.c.b).label("b_id"),
            cast(null(), Integer).label("domain_id"),
            cast(null(), Integer).label("lanes"),
            _UPLINK.c.cables,
            *shared,
        )
        return union_all(ours, above) if self.fabric else ours

    def _each(self, blueprint: Table, block: str, *columns: ColumnElement[Any]) -> Select[Any]:
        """The blueprint's rows in every domain of the cluster."""
        key = self._at(block, blueprint.c.local).label("id")
        crossed = _DOMAIN.join(blueprint, literal(value=True))
        return select(key, *columns).select_from(crossed).where(_DOMAIN.c.cluster_id == self.cluster["id"])

    def _of_kind(self, kind: str, *columns: ColumnElement[Any]) -> Select[Any]:
        return self._each(_NODE, "node", *columns).where(_NODE.c.kind == kind)

    def _at(self, block: str, local: ColumnElement[Any]) -> ColumnElement[Any]:
        return literal(self.cluster[f"first_{block}_id"]) + _DOMAIN.c.ordinal * self.per_domain[block] + local

    def _above(self, block: str, local: ColumnElement[Any]) -> ColumnElement[Any]:
        """The fabric's rows come after those of all domains."""
        return literal(self.cluster[f"first_{block}_id"] + self.cluster["domains"] * self.per_domain[block]) + local

    def _rack(self, local: ColumnElement[Any]) -> ColumnElement[Any]:
        per_domain, shared = self._rack_sharing()
        return literal(self.cluster["first_rack_id"]) + _DOMAIN.c.ordinal * per_domain // shared + local

    def _rack_sharing(self) -> tuple[int, int]:
        """How many racks a domain spans, and how many domains share a rack; one of the two is 1."""
        return len(self.system.domain.blueprint.servers_by_rack), self.system.domain.domains_per_rack


_DOMAIN = TABLES["domain"]


def _range(size: int) -> ColumnElement[Any]:
    numbers = select(literal(0).label("n")).cte(recursive=True)
    return numbers.union_all(select(numbers.c.n + 1).where(numbers.c.n + 1 < size)).c.n


def _shared(blueprint: Table, target: str) -> list[Column[Any]]:
    """Columns that the blueprint and the target table have in common."""
    return [column for column in blueprint.c if column.name in TABLES[target].c and column.name != "local"]


def _wires(connection: Connection, system: System) -> dict[str, dict[str, Any]]:
    """A link's columns, by its role in the blueprint."""
    models = {
        row.slug: {
            "link_model_id": row.id,
            "bandwidth_bytes_per_s": row.bandwidth_bytes_per_s,
            "lanes": row.lanes,
            "technology": row.technology,
            "scope": row.scope,
        }
        for row in connection.execute(select(TABLES["link_model"]))
    }
    return {role: models[link.slug] for role, link in system.domain.links.items()}


def _fabric(connection: Connection, catalog: Catalog, system: System) -> dict[Table, list[dict[str, Any]]]:
    """Network nodes, and uplinks that carry as much as all NICs below them, with one cable for each."""
    fabric = system.fabric(catalog)
    if fabric is None:
        return {_NETWORK_NODE: [], _UPLINK: []}
    nics = sum(node.kind == "nic" for node in system.domain.blueprint.nodes)
    wire = _wires(connection, system)["nic"] | {"scope": "fabric"}
    del wire["lanes"]
    return {
        _NETWORK_NODE: [node._asdict() for node in fabric.nodes()],
        _UPLINK: [
            wire
            | {
                "local": local,
                "a": link.a,
                "b": link.b,
                "cables": link.domains * nics,
                "bandwidth_bytes_per_s": link.domains * nics * wire["bandwidth_bytes_per_s"],
            }
            for local, link in enumerate(fabric.uplinks())
        ],
    }


def _blueprint(connection: Connection, catalog: Catalog, system: System) -> dict[Table, list[dict[str, Any]]]:
    domain, blueprint = system.domain, system.domain.blueprint
    wires = _wires(connection, system)
    heads = catalog.find(domain.server.slug, "head_trays") or 0
    trays = heads + len(domain.server.trays) if domain.server.trays else 0
    tray_of = {chip: heads + tray for tray, chips in enumerate(domain.server.trays) for chip in chips}
    cores = catalog.value(domain.server.chip.slug, "cores")
    return {
        _SERVER: [{"local": server, "rack": blueprint.rack_of(server)} for server in range(blueprint.servers)],
        _TRAY: [
            {
                "local": server * trays + tray,
                "server": server,
                "ordinal": tray,
                "kind": kind,
                "rack_units": catalog.find(domain.server.slug, f"{kind}_tray_units"),
            }
            for server in range(blueprint.servers)
            for tray in range(trays)
            for kind in ("head" if tray < heads else "compute",)
        ],
        _NODE: [
            {
                "local": local,
                "kind": node.kind,
                "server": node.server,
                "rack": node.rack,
                "tray": (node.server or 0) * trays + tray_of[node.ordinal] if node.kind == "chip" and trays else None,
                "ordinal": node.ordinal,
                "bandwidth_bytes_per_s": wires["nic"]["bandwidth_bytes_per_s"] if node.kind == "nic" else None,
            }
            for local, node in enumerate(blueprint.nodes)
        ],
        _CORE: [
            {"local": chip * cores + core, "chip": chip, "ordinal": core}
            for chip in range(blueprint.chips)
            for core in range(cores)
        ],
        _LINK: [
            {"local": local, "a": a, "b": b, **wire}
            for local, (a, b, wire) in enumerate(
                [
                    *((link.a, link.b, wires[link.role]) for link in blueprint.links),
                    *(
                        (nic, None, wires["nic"] | {"scope": "fabric", "lanes": None})
                        for nic, node in enumerate(blueprint.nodes)
                        if node.kind == "nic" and system.domains > 1
                    ),
                ]
            )
        ],
    }
