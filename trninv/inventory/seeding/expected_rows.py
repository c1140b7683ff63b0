"""Build the SELECTs for every row that a cluster should have.

`trninv.inventory.seeding.cluster_seeding` inserts these rows, `trninv.inventory.seeding.verification` compares them
with the stored ones.

Rows of one domain are consecutive in each table: id = start of the group's block + number of the domain in it × rows
per domain + local number. The fabric's rows follow those of all groups. An observed fabric may grow, so its rows follow
the reserve for more domains, and each tier has a reserve for more network nodes.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    CompoundSelect,
    Connection,
    FromClause,
    Integer,
    Select,
    Table,
    Text,
    and_,
    case,
    cast,
    literal,
    null,
    select,
    union_all,
)

from trninv.catalog.facts import Catalog
from trninv.database.id_blocks import BLOCK_CAPACITY, BLOCK_TABLES
from trninv.database.sql_constructs import OrderedJoin
from trninv.database.tables import INSERT_ORDER, TABLES
from trninv.inventory.seeding.blueprint_tables import (
    CORE,
    LINK,
    NETWORK_NODE,
    NODE,
    SERVER,
    SERVER_PARENT,
    TRAY,
    UPLINK,
    blueprint_rows,
    blueprint_tables,
)
from trninv.inventory.seeding.catalog_rows import model_ids
from trninv.inventory.seeding.cluster_plan import ClusterPlan, DomainGroup
from trninv.topology.clos import ClosFabric
from trninv.topology.fabric_tree import FabricTree

Rows = Select[Any] | CompoundSelect[Any]


@dataclass(frozen=True, slots=True)
class ExpectedRows:
    """A SELECT of the rows that a cluster should have, and their number, for each table in `INSERT_ORDER`."""

    rows: Mapping[str, Rows]
    sizes: Mapping[str, int]


@contextmanager
def expected_rows(
    connection: Connection, catalog: Catalog, plan: ClusterPlan, cluster: Mapping[Any, Any], since: int = 0
) -> Iterator[ExpectedRows]:
    """Prepare the rows that a cluster should have; they can be read while the context lasts.

    Parameters
    ----------
    since
        The ordinal of the first domain whose rows are selected; row counts and ids still cover all domains.
    """
    blueprints = blueprint_rows(connection, catalog, plan)
    layout = _ClusterRows(cluster, plan, _row_counts(plan, blueprints), _ModelIds.from_connection(connection), since)
    with blueprint_tables(connection, blueprints) as inlined:
        selects = layout.selects(catalog)
        yield ExpectedRows({name: query.add_cte(*inlined) for name, query in selects.items()}, layout.sizes())


@dataclass(frozen=True, slots=True)
class _ModelIds:
    """The ids of models, by slug."""

    domain: Mapping[str, int]
    server: Mapping[str, int]
    chip: Mapping[str, int]
    switch: Mapping[str, int]

    @classmethod
    def from_connection(cls, connection: Connection) -> "_ModelIds":
        return cls(*(model_ids(connection, TABLES[f"{name}_model"]) for name in ("domain", "server", "chip", "switch")))


@dataclass(frozen=True, slots=True)
class _RowCounts:
    """The number of rows of a domain in each table, with the domains and racks of its group."""

    domains: int
    racks: int
    per_domain: Mapping[str, int]

    def total(self, table: str) -> int:
        """Return the number of the group's rows in a table."""
        return {"domain": self.domains, "rack": self.racks}.get(table, self.domains * self.per_domain.get(table, 0))


def _row_counts(plan: ClusterPlan, rows: Mapping[Table, Sequence[Mapping[str, Any]]]) -> list[_RowCounts]:
    counts = [Counter[str]() for _ in plan.domain_groups]
    for table in (SERVER, TRAY, NODE, CORE, LINK):
        for row in rows[table]:
            counts[row["part"]][table.name.removeprefix("blueprint_")] += 1
            if table is NODE:
                counts[row["part"]][row["kind"]] += 1
    return [
        _RowCounts(part.domains, _racks(part), counter)
        for part, counter in zip(plan.domain_groups, counts, strict=True)
    ]


def _racks(part: DomainGroup) -> int:
    per_domain, shared = _rack_sharing(part)
    return -(-part.domains * per_domain // shared)


def _rack_sharing(part: DomainGroup) -> tuple[int, int]:
    """Return how many racks a domain spans and how many domains share a rack; one of the two is 1."""
    return len(part.model.blueprint.servers_by_rack), part.model.domains_per_rack


@dataclass(frozen=True, slots=True)
class _ClusterRows:
    cluster: Mapping[Any, Any]
    plan: ClusterPlan
    part_sizes: Sequence[_RowCounts]
    ids: _ModelIds
    since: int

    def sizes(self) -> dict[str, int]:
        """Return the number of rows in each table."""
        counts_by_table = {name: sum(size.total(name) for size in self.part_sizes) for name in INSERT_ORDER}
        network_nodes = sum(1 for _ in self.plan.fabric.nodes()) if self.plan.fabric else 0
        counts_by_table["network_node"] = network_nodes
        counts_by_table["node"] += network_nodes
        counts_by_table["link"] += sum(1 for _ in self.plan.uplinks())
        return counts_by_table

    def selects(self, catalog: Catalog) -> dict[str, Rows]:
        parts = [self._domain_group(number) for number in range(len(self.plan.domain_groups))]
        rack_units = catalog.picked_value("rack", "rack_units")
        queries = {name: [rows(part) for part in parts] for name, rows in _ROWS.items()}
        queries["rack"] = [part.racks(rack_units) for part in parts]
        if self.plan.fabric:
            queries["node"].append(self._network_nodes())
            queries["link"].append(self._uplinks())
        unions: dict[str, Rows] = {
            name: union_all(*rows) if len(rows) > 1 else rows[0] for name, rows in queries.items()
        }
        unions["network_node"] = select(
            self._fabric_row_id("node", NETWORK_NODE.c.local).label("id"),
            NETWORK_NODE.c.tier,
            NETWORK_NODE.c.ordinal,
            NETWORK_NODE.c.vendor_id,
        )
        return {name: unions[name] for name in INSERT_ORDER}

    def _domain_group(self, number: int) -> "_DomainGroupRows":
        before = self.part_sizes[:number]
        starts = {name: self._first(name) + sum(size.total(name) for size in before) for name in BLOCK_TABLES}
        return _DomainGroupRows(
            self.cluster["id"],
            number,
            self.plan.domain_groups[number],
            self.plan.first_ordinals[number],
            sum(size.racks for size in before),
            starts,
            self.part_sizes[number],
            self.ids,
            self._node_above_nic(),
            isinstance(self.plan.fabric, FabricTree),
            self.since,
        )

    def _first(self, block: str) -> int:
        return int(self.cluster[f"first_{block}_id"])

    def _node_above_nic(self) -> ColumnElement[Any] | None:
        """Return the id of the network node above a NIC, or None if there is no fabric."""
        match self.plan.fabric:
            case ClosFabric(domains_per_node=domains_per_node):
                return self._fabric_row_id("node", _DOMAIN.c.ordinal // domains_per_node)
            case FabricTree():
                return self._fabric_row_id("node", SERVER_PARENT.c.node)
        return None

    def _fabric_row_id(self, block: str, local: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the id of a row of the fabric, after the rows of all domains and the reserve for more domains."""
        has_room = isinstance(self.plan.fabric, FabricTree) and not self.plan.fabric.is_dense
        domains = BLOCK_CAPACITY[block] if has_room else sum(size.total(block) for size in self.part_sizes)
        return literal(self._first(block) + domains) + local

    def _network_nodes(self) -> Select[Any]:
        return select(
            self._fabric_row_id("node", NETWORK_NODE.c.local).label("id"),
            literal("network_node", Text).label("kind"),
            literal(self.cluster["id"]).label("cluster_id"),
            cast(null(), Integer).label("domain_id"),
        ).select_from(NETWORK_NODE)

    def _uplinks(self) -> Select[Any]:
        return select(
            self._fabric_row_id("link", UPLINK.c.local).label("id"),
            self._fabric_row_id("node", UPLINK.c.a).label("a_id"),
            self._fabric_row_id("node", UPLINK.c.b).label("b_id"),
            cast(null(), Integer).label("domain_id"),
            cast(null(), Integer).label("lanes"),
            UPLINK.c.cables,
            *(column for column in _common_columns(UPLINK, "link") if column.name != "cables"),
        )


@dataclass(frozen=True, slots=True)
class _DomainGroupRows:
    """The rows of one domain group: its blueprint, crossed with its domains.

    Attributes
    ----------
    first, first_rack
        Ordinals of its first domain and rack.
    starts
        The first id of the group in each table.
    node_above, is_above_server
        The network node above a NIC, and whether the blueprint names one for each server.
    since
        Ordinal of the first domain whose rows are selected.
    """

    cluster: int
    number: int
    part: DomainGroup
    first: int
    first_rack: int
    starts: Mapping[str, int]
    size: _RowCounts
    ids: _ModelIds
    node_above: ColumnElement[Any] | None
    is_above_server: bool
    since: int

    def domains(self) -> Select[Any]:
        number = _range(self.part.domains)
        return select(
            (self.starts["domain"] + number).label("id"),
            literal(self.cluster).label("cluster_id"),
            literal(self.ids.domain[self.part.model.slug]).label("domain_model_id"),
            (self.first + number).label("ordinal"),
        )

    def racks(self, rack_units: int) -> Select[Any]:
        number = _range(self.size.racks)
        return select(
            (self.starts["rack"] + number).label("id"),
            literal(self.cluster).label("cluster_id"),
            (self.first_rack + number).label("ordinal"),
            literal(rack_units).label("rack_units"),
        )

    def servers(self) -> Select[Any]:
        return self._rows_per_domain(
            SERVER,
            "server",
            _DOMAIN.c.id.label("domain_id"),
            self._rack(SERVER.c.rack).label("rack_id"),
            literal(self.ids.server[self.part.model.server.slug]).label("server_model_id"),
            SERVER.c.local.label("ordinal"),
        )

    def trays(self) -> Select[Any]:
        server = self._row_id("server", TRAY.c.server).label("server_id")
        return self._rows_per_domain(TRAY, "tray", server, *_common_columns(TRAY, "tray"))

    def nodes(self) -> Select[Any]:
        return self._rows_per_domain(NODE, "node", NODE.c.kind, _DOMAIN.c.cluster_id, _DOMAIN.c.id.label("domain_id"))

    def chips(self) -> Select[Any]:
        return self._nodes_of_kind(
            "chip",
            self._row_id("server", NODE.c.server).label("server_id"),
            self._row_id("tray", NODE.c.tray).label("tray_id"),
            literal(self.ids.chip[self.part.model.server.chip.slug]).label("chip_model_id"),
            NODE.c.ordinal,
        )

    def switches(self) -> Select[Any]:
        model = self.part.model.switch
        return self._nodes_of_kind(
            "switch",
            self._row_id("server", NODE.c.server).label("server_id"),
            self._rack(NODE.c.rack).label("rack_id"),
            NODE.c.ordinal,
            cast(literal(self.ids.switch[model.slug]) if model else null(), Integer).label("switch_model_id"),
        )

    def nics(self) -> Select[Any]:
        return self._nodes_of_kind(
            "nic", self._row_id("server", NODE.c.server).label("server_id"), *_common_columns(NODE, "nic")
        )

    def cores(self) -> Select[Any]:
        return self._rows_per_domain(CORE, "core", self._row_id("node", CORE.c.chip).label("chip_id"), CORE.c.ordinal)

    def links(self) -> Select[Any]:
        b = self._row_id("node", LINK.c.b)
        if self.node_above is not None:
            b = case((LINK.c.b.is_(None), self.node_above), else_=b)
        return self._rows_per_domain(
            LINK,
            "link",
            self._row_id("node", LINK.c.a).label("a_id"),
            b.label("b_id"),
            _DOMAIN.c.id.label("domain_id"),
            LINK.c.lanes,
            literal(1).label("cables"),
            *(LINK.c[column.name] for column in _common_columns(UPLINK, "link") if column.name != "cables"),
        )

    def _rows_per_domain(self, blueprint: Table, block: str, *columns: ColumnElement[Any]) -> Select[Any]:
        """Select the blueprint's rows in every domain of the group."""
        key = self._row_id(block, blueprint.c.local).label("id")
        source: FromClause = OrderedJoin(_DOMAIN, blueprint, blueprint.c.part == self.number)
        if blueprint is LINK and self.is_above_server:
            source = source.outerjoin(
                SERVER_PARENT,
                and_(SERVER_PARENT.c.domain == _DOMAIN.c.ordinal, SERVER_PARENT.c.server == LINK.c.server),
            )
        is_in_group = _DOMAIN.c.ordinal.between(max(self.first, self.since), self.first + self.part.domains - 1)
        return select(key, *columns).select_from(source).where(_DOMAIN.c.cluster_id == self.cluster, is_in_group)

    def _nodes_of_kind(self, kind: str, *columns: ColumnElement[Any]) -> Select[Any]:
        return self._rows_per_domain(NODE, "node", *columns).where(NODE.c.kind == kind)

    def _row_id(self, block: str, local: ColumnElement[Any]) -> ColumnElement[Any]:
        rows_per_domain = self.size.per_domain[block]
        return literal(self.starts[block] - self.first * rows_per_domain) + _DOMAIN.c.ordinal * rows_per_domain + local

    def _rack(self, local: ColumnElement[Any]) -> ColumnElement[Any]:
        per_domain, shared = _rack_sharing(self.part)
        number = _DOMAIN.c.ordinal - self.first if self.first else _DOMAIN.c.ordinal
        return literal(self.starts["rack"]) + number * per_domain // shared + local


_DOMAIN = TABLES["domain"]
_ROWS: Mapping[str, Callable[[_DomainGroupRows], Select[Any]]] = {
    "domain": _DomainGroupRows.domains,
    "server": _DomainGroupRows.servers,
    "tray": _DomainGroupRows.trays,
    "node": _DomainGroupRows.nodes,
    "chip": _DomainGroupRows.chips,
    "switch": _DomainGroupRows.switches,
    "nic": _DomainGroupRows.nics,
    "core": _DomainGroupRows.cores,
    "link": _DomainGroupRows.links,
}


def _range(size: int) -> ColumnElement[Any]:
    numbers = select(literal(0).label("n")).cte(recursive=True)
    return numbers.union_all(select(numbers.c.n + 1).where(numbers.c.n + 1 < size)).c.n


def _common_columns(blueprint: Table, target: str) -> list[Column[Any]]:
    """Return the columns that a blueprint and its target table have in common."""
    return [column for column in blueprint.c if column.name in TABLES[target].c and column.name != "local"]
