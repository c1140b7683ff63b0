"""Build the SELECTs for every row that a cluster should have.

`trninv.inventory.seeding.cluster_seeding` inserts these rows, `trninv.inventory.seeding.verification` compares them
with the stored ones. The SELECTs join the blueprint of each domain group (the nodes and links of one domain, in local
numbers) with the domains of the group.

Rows of one domain are consecutive in each table: id = first id of the group + number of the domain in the group × rows
per domain + local number. The fabric's rows follow those of all groups. An adopted cluster's fabric may grow, so
its rows follow a reserve of ids for more domains, and each tier has a reserve for more network nodes. A block is the
range of ids that a cluster has in a table; chips, switches, NICs and network nodes have their ids in the block of
``node``.
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
from trninv.catalog.models import DomainModel
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
    """A SELECT of the rows that a cluster should have, and their number, for each table in `INSERT_ORDER`.

    Attributes
    ----------
    counts
        The rows of ``part_count`` if all parts are up.
    """

    rows: Mapping[str, Rows]
    sizes: Mapping[str, int]
    counts: Sequence[Mapping[str, Any]]


@contextmanager
def expected_rows(
    connection: Connection, catalog: Catalog, plan: ClusterPlan, cluster: Mapping[Any, Any], first_domain: int = 0
) -> Iterator[ExpectedRows]:
    """Yield SELECTs of the rows that a cluster should have; they can be executed inside this context.

    Parameters
    ----------
    cluster
        The cluster's row.
    first_domain
        The ordinal of the first domain whose parts are selected. The rows of domains, racks and the fabric are selected
        for all domains, and row counts and ids cover all domains too.
    """
    blueprints = blueprint_rows(connection, catalog, plan)
    model_ids_by_slug = _ModelIds.from_connection(connection)
    cluster_rows = _ClusterRows(cluster, plan, _count_rows(plan, blueprints), model_ids_by_slug, first_domain)
    with blueprint_tables(connection, blueprints) as ctes:
        selects = cluster_rows.selects(catalog)
        yield ExpectedRows(
            {name: query.add_cte(*ctes) for name, query in selects.items()},
            cluster_rows.sizes(),
            cluster_rows.part_counts(blueprints),
        )


def count_rows(connection: Connection, catalog: Catalog, plan: ClusterPlan) -> int:
    """Count the rows that a cluster should have; the models of its plan are stored."""
    counts = _count_rows(plan, blueprint_rows(connection, catalog, plan))
    return sum(_ClusterRows({}, plan, counts, _ModelIds.from_connection(connection), 0).sizes().values())


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
    """The numbers of domains and racks of a domain group, and the number of its rows per domain in each other table."""

    domains: int
    racks: int
    per_domain: Mapping[str, int]

    def total(self, table: str) -> int:
        """Return the number of the group's rows in a table."""
        return {"domain": self.domains, "rack": self.racks}.get(table, self.domains * self.per_domain.get(table, 0))


def _count_rows(plan: ClusterPlan, rows: Mapping[Table, Sequence[Mapping[str, Any]]]) -> list[_RowCounts]:
    """Count the rows of each domain group from the rows of its blueprint."""
    counts = [Counter[str]() for _ in plan.domain_groups]
    for table in (SERVER, TRAY, NODE, CORE, LINK):
        for row in rows[table]:
            counts[row["group_number"]][table.name.removeprefix("blueprint_")] += 1
            if table is NODE:
                counts[row["group_number"]][row["kind"]] += 1
    return [
        _RowCounts(group.domains, _rack_count(group), per_domain)
        for group, per_domain in zip(plan.domain_groups, counts, strict=True)
    ]


def _rack_count(group: DomainGroup) -> int:
    racks_per_domain, domains_per_rack = _rack_sharing(group)
    return -(-group.domains * racks_per_domain // domains_per_rack)  # rounded up


def _rack_sharing(group: DomainGroup) -> tuple[int, int]:
    """Return how many racks a domain spans and how many domains share a rack; one of the two is 1."""
    return len(group.model.blueprint.servers_by_rack), group.model.domains_per_rack


@dataclass(frozen=True, slots=True)
class _ClusterRows:
    """The rows of a cluster: those of its domain groups, its network nodes and their uplinks."""

    cluster: Mapping[Any, Any]
    plan: ClusterPlan
    group_counts: Sequence[_RowCounts]
    ids: _ModelIds
    first_domain: int

    def sizes(self) -> dict[str, int]:
        """Return the number of rows in each table."""
        counts_by_table = {name: sum(counts.total(name) for counts in self.group_counts) for name in INSERT_ORDER}
        network_nodes = sum(1 for _ in self.plan.fabric.nodes()) if self.plan.fabric else 0
        counts_by_table["network_node"] = network_nodes
        counts_by_table["node"] += network_nodes
        counts_by_table["link"] += sum(1 for _ in self.plan.uplinks())
        return counts_by_table

    def part_counts(self, blueprints: Mapping[Table, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
        """Return the rows of ``part_count`` if all parts are up, from those of one domain of each group."""
        sums: dict[tuple[str, int, str], Counter[str]] = {}

        def add(kind: str, number: int, model: int = 0, scope: str = "", cables: int = 0, bandwidth: int = 0) -> None:
            added = Counter(number=number, cables=number * cables, bandwidth_bytes_per_s=number * bandwidth)
            sums.setdefault((kind, model, scope), Counter()).update(added)

        groups = [(group, *self._model_ids(group.model)) for group in self.plan.domain_groups]
        for counts, (group, domain, server, chip) in zip(self.group_counts, groups, strict=True):
            add("domain", group.domains, domain)
            add("rack", counts.racks)
            add("server", counts.total("server"), server)
            add("core", counts.total("core"), chip)
        for node in blueprints[NODE]:
            group, domain, server, chip = groups[node["group_number"]]
            model = {"chip": chip, "nic": server, "switch": domain}[node["kind"]]
            add(node["kind"], group.domains, model, bandwidth=node["bandwidth_bytes_per_s"] or 0)
        for link in (*blueprints[LINK], *blueprints[UPLINK]):
            number = groups[link["group_number"]][0].domains if "group_number" in link else 1
            columns = link["link_model_id"], link["scope"], link.get("cables", 1), link["bandwidth_bytes_per_s"]
            add("link", number, *columns)
        add("network_node", len(blueprints[NETWORK_NODE]))
        return [
            {"cluster_id": self.cluster["id"], "kind": kind, "model_id": model, "scope": scope, "state": "up"} | added
            for (kind, model, scope), added in sums.items()
            if added["number"]
        ]

    def _model_ids(self, model: DomainModel) -> tuple[int, int, int]:
        """Return the ids of a domain's model and of those of its servers and chips."""
        return self.ids.domain[model.slug], self.ids.server[model.server.slug], self.ids.chip[model.server.chip.slug]

    def selects(self, catalog: Catalog) -> dict[str, Rows]:
        """Return the SELECT for each table."""
        groups = [self._group_rows(number) for number in range(len(self.plan.domain_groups))]
        rack_units = catalog.picked_value("rack", "rack_units")
        queries = {name: [select_rows(group) for group in groups] for name, select_rows in _SELECTS.items()}
        queries["rack"] = [group.racks(rack_units) for group in groups]
        if self.plan.fabric:
            queries["node"].append(self._network_nodes())
            queries["link"].append(self._uplinks())
        unions: dict[str, Rows] = {
            name: union_all(*selects) if len(selects) > 1 else selects[0] for name, selects in queries.items()
        }
        unions["network_node"] = select(
            self._fabric_row_id("node", NETWORK_NODE.c.local).label("id"),
            NETWORK_NODE.c.tier,
            NETWORK_NODE.c.ordinal,
            NETWORK_NODE.c.vendor_id,
        )
        return {name: unions[name] for name in INSERT_ORDER}

    def _group_rows(self, number: int) -> "_DomainGroupRows":
        """Return the rows of the domain group with this number."""
        before = self.group_counts[:number]
        return _DomainGroupRows(
            cluster=self.cluster["id"],
            number=number,
            group=self.plan.domain_groups[number],
            first_ordinal=self.plan.first_ordinals[number],
            first_rack=sum(counts.racks for counts in before),
            first_ids={
                name: self._first_id(name) + sum(counts.total(name) for counts in before) for name in BLOCK_TABLES
            },
            counts=self.group_counts[number],
            ids=self.ids,
            node_above_nic=self._node_above_nic(),
            has_server_parents=isinstance(self.plan.fabric, FabricTree),
            first_domain=self.first_domain,
        )

    def _first_id(self, block: str) -> int:
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
        has_reserve = isinstance(self.plan.fabric, FabricTree) and not self.plan.fabric.is_dense
        offset = BLOCK_CAPACITY[block] if has_reserve else sum(counts.total(block) for counts in self.group_counts)
        return literal(self._first_id(block) + offset) + local

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
    """The rows of one domain group: its blueprint, joined with each of its domains.

    Attributes
    ----------
    cluster
        The cluster's id.
    number
        The group's number among those of the cluster, from 0.
    first_ordinal, first_rack
        Ordinals of the group's first domain and rack.
    first_ids
        The first id of the group in each block of ids.
    node_above_nic
        The id of the network node above a NIC, in SQL; None if there is no fabric.
    has_server_parents
        Whether `SERVER_PARENT` has the network node above each server.
    first_domain
        Ordinal of the first domain whose parts are selected; rows of domains and racks always are.
    """

    cluster: int
    number: int
    group: DomainGroup
    first_ordinal: int
    first_rack: int
    first_ids: Mapping[str, int]
    counts: _RowCounts
    ids: _ModelIds
    node_above_nic: ColumnElement[Any] | None
    has_server_parents: bool
    first_domain: int

    def domains(self) -> Select[Any]:
        number = _numbers_below(self.group.domains)
        return select(
            (self.first_ids["domain"] + number).label("id"),
            literal(self.cluster).label("cluster_id"),
            literal(self.ids.domain[self.group.model.slug]).label("domain_model_id"),
            (self.first_ordinal + number).label("ordinal"),
        )

    def racks(self, rack_units: int) -> Select[Any]:
        number = _numbers_below(self.counts.racks)
        return select(
            (self.first_ids["rack"] + number).label("id"),
            literal(self.cluster).label("cluster_id"),
            (self.first_rack + number).label("ordinal"),
            literal(rack_units).label("rack_units"),
        )

    def servers(self) -> Select[Any]:
        return self._rows_per_domain(
            SERVER,
            "server",
            _DOMAIN.c.id.label("domain_id"),
            self._rack_id(SERVER.c.rack).label("rack_id"),
            literal(self.ids.server[self.group.model.server.slug]).label("server_model_id"),
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
            literal(self.ids.chip[self.group.model.server.chip.slug]).label("chip_model_id"),
            NODE.c.ordinal,
        )

    def switches(self) -> Select[Any]:
        model = self.group.model.switch
        return self._nodes_of_kind(
            "switch",
            self._row_id("server", NODE.c.server).label("server_id"),
            self._rack_id(NODE.c.rack).label("rack_id"),
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
        if self.node_above_nic is not None:
            b = case((LINK.c.b.is_(None), self.node_above_nic), else_=b)
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
        """Select the rows of a blueprint table for every domain of the group."""
        key = self._row_id(block, blueprint.c.local).label("id")
        source: FromClause = OrderedJoin(_DOMAIN, blueprint, blueprint.c.group_number == self.number)
        if blueprint is LINK and self.has_server_parents:
            source = source.outerjoin(
                SERVER_PARENT,
                and_(SERVER_PARENT.c.domain == _DOMAIN.c.ordinal, SERVER_PARENT.c.server == LINK.c.server),
            )
        last_ordinal = self.first_ordinal + self.group.domains - 1
        is_in_group = _DOMAIN.c.ordinal.between(max(self.first_ordinal, self.first_domain), last_ordinal)
        return select(key, *columns).select_from(source).where(_DOMAIN.c.cluster_id == self.cluster, is_in_group)

    def _nodes_of_kind(self, kind: str, *columns: ColumnElement[Any]) -> Select[Any]:
        return self._rows_per_domain(NODE, "node", *columns).where(NODE.c.kind == kind)

    def _row_id(self, block: str, local: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the id of a row of the joined domain, from its local number."""
        rows_per_domain = self.counts.per_domain[block]
        id_of_domain_0 = self.first_ids[block] - self.first_ordinal * rows_per_domain
        return literal(id_of_domain_0) + _DOMAIN.c.ordinal * rows_per_domain + local

    def _rack_id(self, local: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the id of a rack of the joined domain, from its local number."""
        racks_per_domain, domains_per_rack = _rack_sharing(self.group)
        # the same for any first ordinal, but shorter in SQL where that is 0
        number = _DOMAIN.c.ordinal - self.first_ordinal if self.first_ordinal else _DOMAIN.c.ordinal
        return literal(self.first_ids["rack"]) + number * racks_per_domain // domains_per_rack + local


_DOMAIN = TABLES["domain"]
_SELECTS: Mapping[str, Callable[[_DomainGroupRows], Select[Any]]] = {
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
"""The method that selects the rows of each table, except those of racks and of the fabric."""


def _numbers_below(size: int) -> ColumnElement[Any]:
    """Return a column of the numbers from 0 to size - 1."""
    numbers = select(literal(0).label("n")).cte(recursive=True)
    return numbers.union_all(select(numbers.c.n + 1).where(numbers.c.n + 1 < size)).c.n


def _common_columns(blueprint: Table, target: str) -> list[Column[Any]]:
    """Return the columns that a blueprint and its target table have in common."""
    return [column for column in blueprint.c if column.name in TABLES[target].c and column.name != "local"]
