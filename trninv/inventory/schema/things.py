"""Declare the fields, relations and lists of every thing.

A thing is a kind of row that can be queried, such as a server. GraphQL's types, filters and orders are generated from
these declarations, and so are the SQL statements to which GraphQL documents are compiled: a new field is one line here.
Expressions refer to the tables themselves; the modules that use them substitute aliases.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final

from sqlalchemy import FromClause, Integer, Select, Table, case, func, literal_column, select, union_all

from trninv.catalog.facts import default_catalog
from trninv.catalog.models import COMPUTE, default_systems
from trninv.database.sql_constructs import OrderedJoin
from trninv.database.tables import TABLES
from trninv.inventory.address.expressions import address_expression, concat, node_address_expression
from trninv.inventory.schema.access_things import ACCESS_THINGS
from trninv.inventory.schema.enumerations import (
    CHIP_USE,
    COMPUTE_TYPE,
    DIFFERENCE,
    GENERATION,
    LINK_SCOPE,
    SOURCE_KIND,
    STATE,
    TRAY_KIND,
    WIRING,
)
from trninv.inventory.schema.event_fields import EVENT, EVENT_FIELDS, event_relations
from trninv.inventory.schema.job_things import JOB_THINGS
from trninv.inventory.schema.observed_things import OBSERVED_THINGS
from trninv.inventory.schema.thing import (
    Counted,
    Field,
    RelatedList,
    Relation,
    Sql,
    Thing,
    ValueFormat,
    View,
    column_field,
    join_by_keys,
)
from trninv.inventory.seeding.catalog_rows import compute_column
from trninv.inventory.state.chip_use import chip_use
from trninv.inventory.state.condition import carried_bandwidth_expression, carried_bandwidth_filter

_cluster, _domain, _server, _rack, _tray = (TABLES[name] for name in ("cluster", "domain", "server", "rack", "tray"))
_node, _chip, _switch, _nic, _network_node = (
    TABLES[name] for name in ("node", "chip", "switch", "nic", "network_node")
)
_core, _link, _fact, _source = (TABLES[name] for name in ("core", "link", "fact", "source"))
_chip_model, _server_model, _domain_model, _link_model = (
    TABLES[f"{name}_model"] for name in ("chip", "server", "domain", "link")
)
_switch_model, _binding = TABLES["switch_model"], TABLES["binding"]
_end_a, _end_b = _node.alias("end_a"), _node.alias("end_b")

# one row for each chip model and type of operation, whose rates are columns of ``chip_model``
_compute = union_all(
    *(
        select(
            literal_column(str(position)).label("id"),
            _chip_model.c.id.label("chip_model_id"),
            literal_column(f"'{name.removesuffix('_compute')}'").label("type"),
            _chip_model.c[compute_column(name)].label("giga"),
        ).where(_chip_model.c[compute_column(name)].is_not(None))
        for position, name in enumerate(COMPUTE)
    )
).subquery("compute")

_SERVER_JOINS: Final = ("server_model", "domain", "domain_model", "cluster", "rack")
"""The tables to join with ``server`` for its model and its containers."""

_SERVER_CONTAINERS = {"domain": _domain.c.id, "server": _server.c.id, "rack": _server.c.rack_id}
"""The ids of the containers by which lists of servers and of their parts can be filtered."""


def _choices(name: str) -> Callable[[], tuple[str, ...]]:
    """Return a function that lists the values of a text field which the catalog determines."""

    @cache
    def values() -> tuple[str, ...]:
        domains = [system.domain for system in default_systems().systems]
        names: dict[str, Iterable[str]] = {
            "server": (domain.server.slug for domain in domains),
            "domain": (domain.name for domain in domains),
            "technology": (link.technology for domain in domains for link in domain.links.values()),
            "subject": (fact.subject for fact in default_catalog().facts),
            "attribute": (fact.attribute.name for fact in default_catalog().facts),
        }
        return tuple(dict.fromkeys(names[name]))

    return values


def _id(table: FromClause) -> Field:
    return Field("id", ValueFormat.ID, table.c.id, "Opaque id.", is_filterable=False)


def _address(sql: Sql) -> Field:
    return Field("address", ValueFormat.ADDRESS, sql, "Its address.", is_filterable=False)


def _ordinal(table: FromClause, description: str = "Its number in the place that contains it.") -> Field:
    return Field("ordinal", ValueFormat.INT, table.c.ordinal, description)


def _condition(table: Table) -> tuple[Field, Field]:
    description = "Fraction of its bandwidth that a degraded part carries; null unless degraded."
    # up is the usual state where a partial index has only the unhealthy rows
    usual = "up" if any(str(index.name).endswith("_unhealthy") for index in table.indexes) else None
    return (
        Field("state", ValueFormat.ENUM, table.c.state, "Its state.", enumeration=STATE, usual=usual),
        Field("factor", ValueFormat.MILLIONTHS, table.c.factor_ppm, description, nullable=True),
    )


_TO_CLUSTER = Relation("cluster", ("cluster",), _cluster.c.id, "The cluster it belongs to.")
_TO_DOMAIN = Relation("domain", ("domain",), _domain.c.id, "The scale-up domain it belongs to.")
_TO_RACK = Relation("rack", ("rack",), _rack.c.id, "The rack it is in.")
_TO_SERVER = Relation("server", ("server",), _server.c.id, "The server it belongs to.")
_SERVER_RELATIONS = (_TO_CLUSTER, _TO_DOMAIN, _TO_RACK, _TO_SERVER)


def _binding_field(column: str, description: str) -> Field:
    """Return a field of a server whose value is a column of its open binding."""
    open_binding, bound = _binding.alias("open_binding"), _binding.alias("bound")
    value = select(open_binding.c[column]).where(
        open_binding.c.server_id == _server.c.id, open_binding.c.ended_at.is_(None)
    )
    lookup = select(bound.c.server_id.label("id"), bound.c[column].label("value")).where(bound.c.ended_at.is_(None))
    value_sql = value.correlate_except(open_binding).scalar_subquery()
    return Field(column, ValueFormat.TEXT, value_sql, description, nullable=True, lookup=lookup)


def _job_name() -> tuple[Sql, Select[Any]]:
    """Return the name of a chip's job, in the form that ``trninv release`` accepts, and the lookup of chips by it."""
    allocation, job = TABLES["allocation"].alias("allocated_now"), TABLES["job"].alias("job_now")
    qualified_name = job.c.system + literal_column("':'") + job.c.external_id
    name = case((job.c.system == literal_column("'trninv'"), job.c.external_id), else_=qualified_name)
    tables = job.join(allocation, allocation.c.job_id == job.c.id)
    is_current = allocation.c.ended_at.is_(None), job.c.ended_at.is_(None)
    of_chip = select(name).select_from(tables).where(allocation.c.chip_id == _chip.c.id, *is_current)
    # jobs first: current ones are fewer than allocated chips, and indexes have these and the allocations of each
    jobs_first = OrderedJoin(job, allocation, allocation.c.job_id == job.c.id)
    lookup = select(allocation.c.chip_id.label("id"), name.label("value")).select_from(jobs_first)
    lookup = lookup.where(*is_current)
    return of_chip.correlate_except(allocation, job).scalar_subquery(), lookup


def _about(table: FromClause) -> Sql:
    """Return the subject and the attribute of a fact, as one text."""
    return table.c.subject + literal_column("' '") + table.c.attribute


def _links_of(table: FromClause) -> RelatedList:
    return RelatedList("links", "link", (_link.c.a_id, _link.c.b_id), table.c.id, "Its links.")


def _facts_of(subject: Sql, description: str) -> RelatedList:
    return RelatedList("facts", "fact", (_fact.c.subject,), subject, description, paged=False)


# the relation to the last change, and the list of events, of each kind of thing that has them
_LAST_CHANGE: Final[dict[str, Relation]] = {}
_EVENTS: Final[dict[str, RelatedList]] = {}
for _name in ("domain", "server", "chip", "switch", "nic", "network_node"):
    _LAST_CHANGE[_name], _EVENTS[_name] = event_relations(
        address_expression(_name), include_parts=_name in ("domain", "server")
    )
_link_address = concat(node_address_expression(_link.c.a_id), "--", node_address_expression(_link.c.b_id))
_LAST_CHANGE["link"], _EVENTS["link"] = event_relations(_link_address)

_CHIP_JOINS: Final = ("node", "chip_model", "server", *_SERVER_JOINS, "tray")
# the model of the link between a NIC and its server's chips: the subject of the fact of its line rate
_host_link, _host_link_model = _link.alias("host_link"), _link_model.alias("host_model")
_nic_link_model = (
    select(_host_link_model.c.slug)
    .select_from(_host_link.join(_host_link_model, _host_link_model.c.id == _host_link.c.link_model_id))
    .where(_host_link.c.b_id == _nic.c.id, _host_link.c.scope == literal_column("'host'"))
    .limit(literal_column("1"))
    .correlate_except(_host_link, _host_link_model)
    .scalar_subquery()
)
# the selected fact of each subject and attribute on which sources disagree
_conflict = (
    select(_fact).where(_fact.c.differs_in.is_not(None), _fact.c.preference == literal_column("0")).subquery("conflict")
)
_switch_model_name: Sql = (
    select(_switch_model.c.name)
    .where(_switch_model.c.id == _switch.c.switch_model_id)
    .correlate_except(_switch_model)
    .scalar_subquery()
)
_JOB_NAME, _CHIPS_BY_JOB = _job_name()
_BANDWIDTH: Final = "bandwidth_bytes_per_s"
_memory = _chip_model.c.device_memory_bytes
_memory_bandwidth = _chip_model.c.device_memory_bandwidth_bytes_per_s

THINGS: Final[Mapping[str, Thing]] = {
    thing.name: thing
    for thing in (
        Thing(
            name="cluster",
            description="A named fleet: a single server, an UltraServer, an UltraCluster.",
            list_name="clusters",
            table=_cluster,
            fields=(
                _id(_cluster),
                _address(address_expression("cluster")),
                column_field(_cluster.c.slug, "Its name.", ValueFormat.IDENTIFIER),
                column_field(_cluster.c.system, "The system that it was seeded from, or adopted."),
            ),
            lists=(
                RelatedList("domains", "domain", (), _cluster.c.id, "Its scale-up domains."),
                RelatedList("racks", "rack", (), _cluster.c.id, "Its racks."),
                RelatedList("chips", "chip", (), _cluster.c.id, "Its chips."),
                _facts_of(_cluster.c.system, "Facts about its system."),
            ),
        ),
        Thing(
            name="domain",
            description="A NeuronLink scale-up domain: one server, or one UltraServer.",
            list_name="domains",
            table=_domain,
            joins=join_by_keys(_domain, "domain_model", "cluster"),
            fields=(
                _id(_domain),
                _address(address_expression("domain")),
                _ordinal(_domain),
                column_field(
                    _domain_model.c.name, "The vendor's name of its model.", name="model", choices=_choices("domain")
                ),
                column_field(_domain_model.c.wiring, "The pattern in which its chips are wired.", enumeration=WIRING),
            ),
            relations=(_TO_CLUSTER, _LAST_CHANGE["domain"]),
            lists=(
                _EVENTS["domain"],
                RelatedList("servers", "server", (_server.c.domain_id,), _domain.c.id, "Its servers, rack by rack."),
                RelatedList("switches", "switch", (_node.c.domain_id,), _domain.c.id, "Its switches."),
                RelatedList("links", "link", (_link.c.domain_id,), _domain.c.id, "Its links, including those to NICs."),
                _facts_of(_domain_model.c.slug, "Facts about its model."),
            ),
            id_block="first_domain_id",
            containers={"domain": _domain.c.id},
            groups={"cluster": _cluster.c.slug, "model": _domain_model.c.slug},
            counted=Counted(_domain_model),
        ),
        Thing(
            name="rack",
            description="A rack.",
            list_name="racks",
            table=_rack,
            joins=join_by_keys(_rack, "cluster"),
            fields=(
                _id(_rack),
                _address(address_expression("rack")),
                _ordinal(_rack),
                column_field(_rack.c.rack_units, "Its height in rack units."),
            ),
            relations=(_TO_CLUSTER,),
            lists=(
                RelatedList("servers", "server", (_server.c.rack_id,), _rack.c.id, "The servers in it."),
                _facts_of(literal_column("'rack'"), "Facts about racks."),
            ),
            id_block="first_rack_id",
            containers={"rack": _rack.c.id},
            groups={"cluster": _cluster.c.slug},
            counted=Counted(),
        ),
        Thing(
            name="server",
            description="A server: the hardware of one EC2 instance.",
            list_name="servers",
            table=_server,
            joins=join_by_keys(_server, *_SERVER_JOINS, "chip_model"),
            view=View(
                "v_server",
                ("cluster", "domain", "rack"),
                further=(
                    column_field(_chip_model.c.generation, "Generation of its chips."),
                    column_field(_server_model.c.chips, "Chips."),
                ),
                example="SELECT address, rack, state FROM v_server WHERE domain = 'trn3-gen1/d0'",
            ),
            fields=(
                _id(_server),
                _address(address_expression("server")),
                _ordinal(_server),
                *_condition(_server),
                column_field(
                    _server_model.c.slug,
                    "Its model, the subject of its facts.",
                    name="model",
                    choices=_choices("server"),
                ),
                _binding_field(
                    "instance", "Id of the instance in this slot; null if none is bound or only its host is known."
                ),
                _binding_field("host", "Host name of the instance in this slot."),
                column_field(_server_model.c.vcpus, "Virtual CPUs of the host."),
                column_field(
                    _server_model.c.host_memory_bytes,
                    "Memory of the host.",
                    ValueFormat.CAPACITY,
                    name="host_memory",
                    fact=(_server_model.c.slug, "host_memory"),
                ),
            ),
            relations=(_TO_CLUSTER, _TO_DOMAIN, _TO_RACK, _LAST_CHANGE["server"]),
            lists=(
                _EVENTS["server"],
                RelatedList("chips", "chip", (_chip.c.server_id,), _server.c.id, "Its chips, by device number."),
                RelatedList("nics", "nic", (_nic.c.server_id,), _server.c.id, "Its EFA devices."),
                RelatedList(
                    "trays", "tray", (_tray.c.server_id,), _server.c.id, "Its trays, head trays first.", paged=False
                ),
                _facts_of(_server_model.c.slug, "Facts about its model."),
            ),
            id_block="first_server_id",
            containers=_SERVER_CONTAINERS,
            groups={
                "cluster": _cluster.c.slug,
                "model": _server_model.c.slug,
                "generation": _chip_model.c.generation,
                "state": _server.c.state,
            },
            sums={"memory": _server_model.c.host_memory_bytes},
            counted=Counted(_server_model, {_server.c.state: "state"}),
        ),
        Thing(
            name="chip",
            description="A chip: what Neuron tools call a device.",
            list_name="chips",
            table=_chip,
            joins=join_by_keys(_chip, *_CHIP_JOINS),
            view=View(
                "v_chip",
                ("cluster", "domain", "server", "rack"),
                {"memory": "hbm", "memory_bandwidth": "hbm", "job": None, "use": None},
                (
                    column_field(_chip_model.c.slug, "Its model.", name="model"),
                    column_field(_chip_model.c.cores, "Physical NeuronCores."),
                    *(
                        Field(
                            f"{name}_tflops",
                            ValueFormat.THOUSANDTHS,
                            _chip_model.c[compute_column(f"{name}_compute")],
                            f"{operations}.",
                        )
                        for name, operations in {
                            "mxfp8": "MXFP8",
                            "fp8": "Dense FP8",
                            "bf16": "Dense BF16",
                            "fp32": "FP32",
                            "sparse": "With sparsity",
                        }.items()
                    ),
                ),
                example="SELECT generation, count(*) AS chips, sum(hbm_gib) AS hbm_gib FROM v_chip GROUP BY "
                "generation ORDER BY generation",
            ),
            fields=(
                _id(_chip),
                _address(address_expression("chip")),
                _ordinal(_chip),
                *_condition(_node),
                column_field(_chip_model.c.generation, "Its generation.", enumeration=GENERATION),
                Field("memory", ValueFormat.CAPACITY, _memory, "Its HBM.", fact=(_chip_model.c.slug, "device_memory")),
                Field(
                    "memory_bandwidth",
                    ValueFormat.BANDWIDTH,
                    _memory_bandwidth,
                    "Its HBM's bandwidth.",
                    fact=(_chip_model.c.slug, "device_memory_bandwidth"),
                ),
                Field(
                    "tray",
                    ValueFormat.INT,
                    _tray.c.ordinal,
                    "Number of its tray within the server; null if not documented.",
                    nullable=True,
                ),
                Field(
                    "job",
                    ValueFormat.TEXT,
                    _JOB_NAME,
                    "The job to which it is allocated: its name, or SYSTEM:ID.",
                    nullable=True,
                    lookup=_CHIPS_BY_JOB,
                ),
                Field("use", ValueFormat.ENUM, chip_use(), "Whether a new job can get it.", enumeration=CHIP_USE),
            ),
            relations=(
                *_SERVER_RELATIONS,
                Relation("model", ("chip_model",), _chip_model.c.id, "Its model."),
                _LAST_CHANGE["chip"],
            ),
            lists=(
                _EVENTS["chip"],
                RelatedList("cores", "core", (_core.c.chip_id,), _chip.c.id, "Its physical cores."),
                _links_of(_chip),
            ),
            id_block="first_node_id",
            containers=_SERVER_CONTAINERS,
            groups={
                "cluster": _cluster.c.slug,
                "model": _chip_model.c.slug,
                "generation": _chip_model.c.generation,
                "state": _node.c.state,
            },
            sums={"memory": _memory, "bandwidth": _memory_bandwidth}
            | {name.removesuffix("_compute"): _chip_model.c[compute_column(name)] for name in COMPUTE},
            counted=Counted(_chip_model, {_node.c.state: "state"}),
        ),
        Thing(
            name="core",
            description="A physical NeuronCore.",
            list_name="cores",
            table=_core,
            joins=join_by_keys(_core, "chip", *_CHIP_JOINS),
            view=View(
                "v_core",
                ("cluster", "domain", "server", "rack", "chip"),
                further=(
                    column_field(_chip_model.c.core_model, "Its model.", name="model"),
                    column_field(_chip_model.c.generation, "Its generation."),
                    column_field(_node.c.state, "State of the chip.", name="chip_state"),
                ),
                example="SELECT address FROM v_core WHERE chip = 'u-trn2x64/d0/s1/c5'",
            ),
            fields=(_id(_core), _address(address_expression("core")), _ordinal(_core)),
            relations=(*_SERVER_RELATIONS, Relation("chip", ("chip",), _chip.c.id, "Its chip.")),
            id_block="first_core_id",
            containers=_SERVER_CONTAINERS,
            groups={
                "cluster": _cluster.c.slug,
                "model": _chip_model.c.core_model,
                "generation": _chip_model.c.generation,
                "state": _node.c.state,
            },
            counted=Counted(_chip_model, {_node.c.state: "state"}),
        ),
        Thing(
            name="switch",
            description="A switch of a server or of a rack.",
            list_name="switches",
            table=_switch,
            joins={
                _node: (_node.c.id == _switch.c.id, False),
                _domain: (_domain.c.id == _node.c.domain_id, False),
                _cluster: (_cluster.c.id == _domain.c.cluster_id, False),
                _rack: (_rack.c.id == _switch.c.rack_id, False),
                _server: (_server.c.id == _switch.c.server_id, True),
                _server_model: (_server_model.c.id == _server.c.server_model_id, True),
                _domain_model: (_domain_model.c.id == _domain.c.domain_model_id, False),
            },
            view=View(
                "v_switch",
                ("cluster", "domain", "rack"),
                further=(
                    Field(
                        "model",
                        ValueFormat.TEXT,
                        _switch_model_name,
                        "The vendor's name of its model; null if not in the catalog.",
                    ),
                ),
                example="SELECT rack, count(*) AS switches FROM v_switch WHERE cluster = 'trn3-gen2' GROUP BY rack "
                "ORDER BY rack",
            ),
            fields=(_id(_switch), _address(address_expression("switch")), _ordinal(_switch), *_condition(_node)),
            relations=(
                _TO_CLUSTER,
                _TO_DOMAIN,
                _TO_RACK,
                Relation(
                    "server",
                    ("server",),
                    _switch.c.server_id,
                    "The server whose chips it joins; null for a rack's switch.",
                    nullable=True,
                ),
                Relation(
                    "model",
                    ("switch_model",),
                    _switch.c.switch_model_id,
                    "Its model; null if not documented.",
                    nullable=True,
                ),
                _LAST_CHANGE["switch"],
            ),
            lists=(_links_of(_switch), _EVENTS["switch"]),
            id_block="first_node_id",
            containers={"domain": _domain.c.id, "server": _switch.c.server_id, "rack": _rack.c.id},
            groups={"cluster": _cluster.c.slug, "model": _domain_model.c.slug, "state": _node.c.state},
            counted=Counted(_domain_model, {_node.c.state: "state"}),
        ),
        Thing(
            name="nic",
            description="An EFA device.",
            list_name="nics",
            table=_nic,
            joins=join_by_keys(_nic, "node", "server", *_SERVER_JOINS),
            view=View(
                "v_nic",
                ("cluster", "domain", "server", "rack"),
                example="SELECT address, bandwidth_gb_per_s FROM v_nic WHERE cluster = 'trn1.32xlarge'",
            ),
            fields=(
                _id(_nic),
                _address(address_expression("nic")),
                _ordinal(_nic),
                *_condition(_node),
                column_field(
                    _nic.c.bandwidth_bytes_per_s,
                    "Its line rate, one direction.",
                    ValueFormat.BANDWIDTH,
                    name="bandwidth",
                    fact=(_nic_link_model, "bandwidth"),
                ),
            ),
            relations=(*_SERVER_RELATIONS, _LAST_CHANGE["nic"]),
            lists=(_links_of(_nic), _EVENTS["nic"]),
            id_block="first_node_id",
            containers=_SERVER_CONTAINERS,
            groups={"cluster": _cluster.c.slug, "model": _server_model.c.slug, "state": _node.c.state},
            sums={"bandwidth": _nic.c.bandwidth_bytes_per_s},
            counted=Counted(_server_model, {_node.c.state: "state"}, {_nic.c.bandwidth_bytes_per_s: _BANDWIDTH}),
        ),
        Thing(
            name="network_node",
            description="A network node of the EFA fabric, as EC2's instance topology reports it.",
            list_name="network_nodes",
            table=_network_node,
            joins=join_by_keys(_network_node, "node", "cluster"),
            view=View(
                "v_network_node",
                ("cluster",),
                example="SELECT cluster, tier, count(*) AS nodes FROM v_network_node GROUP BY cluster, tier ORDER BY "
                "cluster, tier",
            ),
            fields=(
                _id(_network_node),
                _address(address_expression("network_node")),
                _ordinal(_network_node, "Its number in its tier."),
                *_condition(_node),
                column_field(_network_node.c.tier, "Its tier: 1 at the top, 3 above the NICs in a seeded cluster."),
                column_field(_network_node.c.vendor_id, "Its EC2 id, nn-…, in an adopted cluster."),
            ),
            relations=(_TO_CLUSTER, _LAST_CHANGE["network_node"]),
            lists=(_links_of(_network_node), _EVENTS["network_node"]),
            id_block="first_node_id",
            groups={"cluster": _cluster.c.slug, "state": _node.c.state},
            counted=Counted(columns={_node.c.state: "state"}),
        ),
        Thing(
            name="link",
            description="A link between two nodes, full duplex.",
            list_name="links",
            table=_link,
            joins={
                _end_a: (_end_a.c.id == _link.c.a_id, False),
                _end_b: (_end_b.c.id == _link.c.b_id, False),
                _link_model: (_link_model.c.id == _link.c.link_model_id, False),
                _cluster: (_cluster.c.id == _end_a.c.cluster_id, False),
                _domain: (_domain.c.id == _link.c.domain_id, True),
                _domain_model: (_domain_model.c.id == _domain.c.domain_model_id, True),
            },
            fields=(
                _id(_link),
                _address(_link_address),
                *_condition(_link),
                Field(
                    "bandwidth",
                    ValueFormat.BANDWIDTH,
                    carried_bandwidth_expression(_link, _end_a, _end_b),
                    "Current bandwidth, one direction.",
                    fact=(_link_model.c.slug, "bandwidth"),
                    search=carried_bandwidth_filter(_link),
                ),
                column_field(
                    _link.c.bandwidth_bytes_per_s,
                    "Bandwidth when healthy, one direction.",
                    ValueFormat.BANDWIDTH,
                    name="nominal",
                    fact=(_link_model.c.slug, "bandwidth"),
                ),
                Field(
                    "both_directions",
                    ValueFormat.BANDWIDTH,
                    literal_column("2", Integer) * _link.c.bandwidth_bytes_per_s,
                    "Twice the nominal bandwidth, as vendor pages often print it.",
                    fact=(_link_model.c.slug, "bandwidth"),
                    is_filterable=False,
                ),
                column_field(_link.c.lanes, "PCIe lanes, if documented."),
                column_field(_link.c.cables, "Number of parallel cables; its bandwidth is their total."),
                column_field(_link.c.technology, "NeuronLink-v2, EFA, …", choices=_choices("technology")),
                column_field(_link.c.scope, "How far it reaches.", enumeration=LINK_SCOPE),
            ),
            relations=(
                Relation("a", ("chip", "switch", "nic", "network_node"), _link.c.a_id, "One end."),
                Relation("b", ("chip", "switch", "nic", "network_node"), _link.c.b_id, "The other end."),
                Relation(
                    "domain",
                    ("domain",),
                    _link.c.domain_id,
                    "The scale-up domain it belongs to; null between two network nodes.",
                    nullable=True,
                ),
                _LAST_CHANGE["link"],
            ),
            lists=(_facts_of(_link_model.c.slug, "Facts about its model."), _EVENTS["link"]),
            id_block="first_link_id",
            containers={"domain": _link.c.domain_id},
            groups={"cluster": _cluster.c.slug, "model": _link_model.c.slug, "state": _link.c.state},
            sums={"bandwidth": _link.c.bandwidth_bytes_per_s},
            counted=Counted(
                _link_model,
                {_link.c.state: "state", _link.c.scope: "scope"},
                {_link.c.bandwidth_bytes_per_s: _BANDWIDTH},
            ),
        ),
        Thing(
            name="event",
            description="A change of a part's state, a job's allocation or a server's cordon.",
            list_name="events",
            list_description="Events, oldest first. Use last for the newest, and after with an endCursor for what has "
            "happened since. Within asOf: events up to that time. A scenario adds no events.",
            table=EVENT,
            fields=EVENT_FIELDS,
            has_scope=True,
        ),
        *JOB_THINGS,
        *OBSERVED_THINGS,
        *ACCESS_THINGS,
        Thing(
            name="tray",
            description="A tray of a server, if documents describe how the server is divided.",
            table=_tray,
            fields=(
                column_field(_tray.c.ordinal, "Its number within the server."),
                column_field(_tray.c.kind, "What the tray contains.", enumeration=TRAY_KIND),
                column_field(_tray.c.rack_units, "Its height in rack units, if documented."),
            ),
        ),
        Thing(
            name="chip_model",
            description="A model of chip.",
            table=_chip_model,
            fields=(
                column_field(_chip_model.c.slug, "Short name, the subject of its facts."),
                column_field(_chip_model.c.name, "The vendor's name."),
                column_field(_chip_model.c.generation, "Its generation.", enumeration=GENERATION),
                column_field(_chip_model.c.core_model, "Name of its core model."),
                column_field(_chip_model.c.cores, "Physical NeuronCores of one chip."),
                Field(
                    "memory",
                    ValueFormat.CAPACITY,
                    _memory,
                    "HBM of one chip.",
                    fact=(_chip_model.c.slug, "device_memory"),
                ),
                Field(
                    "memory_bandwidth",
                    ValueFormat.BANDWIDTH,
                    _memory_bandwidth,
                    "HBM bandwidth of one chip.",
                    fact=(_chip_model.c.slug, "device_memory_bandwidth"),
                ),
            ),
            lists=(
                RelatedList(
                    "compute",
                    "compute",
                    (_compute.c.chip_model_id,),
                    _chip_model.c.id,
                    "Operations per second by type.",
                    paged=False,
                ),
                _facts_of(_chip_model.c.slug, "Facts about it."),
            ),
        ),
        Thing(
            name="switch_model",
            description="A model of switch.",
            table=_switch_model,
            fields=(
                column_field(_switch_model.c.slug, "Short name, the subject of its facts."),
                column_field(_switch_model.c.name, "The vendor's name."),
            ),
            lists=(_facts_of(_switch_model.c.slug, "Facts about it."),),
        ),
        Thing(
            name="compute",
            description="The rate of one type of operation on a chip.",
            table=_compute,
            fields=(
                Field("type", ValueFormat.ENUM, _compute.c.type, "Type of operation.", enumeration=COMPUTE_TYPE),
                Field("teraflops", ValueFormat.THOUSANDTHS, _compute.c.giga, "10¹² operations per second."),
            ),
        ),
        Thing(
            name="source",
            description="A document or another source of numbers.",
            table=_source,
            fields=(
                column_field(_source.c.slug, "Short name."),
                column_field(_source.c.title, "Title as published."),
                column_field(_source.c.publisher, "Who published it."),
                column_field(_source.c.date, "Publication date, as precisely as it is known."),
                column_field(
                    _source.c.kind,
                    "Kind of document, which decides the default selection of facts.",
                    enumeration=SOURCE_KIND,
                ),
                column_field(_source.c.note, "Further remarks."),
            ),
        ),
        Thing(
            name="fact",
            description="One number as one source states it.",
            list_name="facts",
            table=_fact,
            joins=join_by_keys(_fact, "source"),
            fields=(
                column_field(
                    _fact.c.subject, "Its subject: a chip, system, link model, …", choices=_choices("subject")
                ),
                column_field(_fact.c.attribute, "The attribute of the subject.", choices=_choices("attribute")),
                Field(
                    "value",
                    ValueFormat.TEXT,
                    _fact.c.shown,
                    "The value formatted for people; bandwidths are one direction.",
                ),
                column_field(
                    _fact.c.value,
                    "The exact value in base units: bytes, bytes per second, 10⁹ operations per second.",
                    ValueFormat.BIGINT,
                    name="exact",
                ),
                Field(
                    "as_written",
                    ValueFormat.TEXT,
                    func.rtrim(_fact.c.as_written + literal_column("' '") + _fact.c.unit),
                    "Value and unit as written; for a derived fact (see formula), its result.",
                ),
                column_field(_fact.c.unit, "The unit as written."),
                column_field(_fact.c.quote, "Quote from the document."),
                column_field(_fact.c.reading_unit, "Unit in which it is read, if that differs from the written one."),
                column_field(
                    _fact.c.reading_direction, "Whether the written value is one direction or the sum of both."
                ),
                column_field(_fact.c.reading_reason, "Why it is read this way."),
                column_field(_fact.c.formula, "Formula of a derived fact."),
                Field(
                    "picked",
                    ValueFormat.BOOLEAN,
                    _fact.c.preference == literal_column("0"),
                    "Whether it is the selected fact for its subject and attribute.",
                ),
                column_field(_fact.c.disputed, "Whether sources disagree on it, or on a fact it is derived from."),
                column_field(
                    _fact.c.differs_in,
                    "How the facts for its subject and attribute disagree; null: they agree.",
                    enumeration=DIFFERENCE,
                    is_filterable=False,
                ),
                column_field(
                    _fact.c.dispute,
                    "Its value with what contradicts it: other values, a disputed origin, or a note on how it is read; "
                    "null: nothing contradicts it, or only a unit does.",
                    is_filterable=False,
                ),
                column_field(_fact.c.note, "How to read the disagreement."),
                Field(
                    "assumed",
                    ValueFormat.BOOLEAN,
                    _source.c.kind == literal_column("'assumed'"),
                    "Whether it is assumed: no document states it.",
                ),
            ),
            relations=(Relation("source", ("source",), _source.c.id, "The source that states it."),),
            lists=(
                RelatedList(
                    "others",
                    "fact",
                    (_about(_fact),),
                    _about(_fact),
                    "Facts from other sources about the same subject and attribute.",
                    paged=False,
                    exclude=_fact.c.id,
                ),
            ),
        ),
        Thing(
            name="conflict",
            description="Facts about one attribute of a subject that disagree.",
            list_name="conflicts",
            list_description="Every subject and attribute on which sources disagree.",
            table=_conflict,
            fields=(
                column_field(
                    _conflict.c.subject, "The part, model or system that they are about.", choices=_choices("subject")
                ),
                column_field(_conflict.c.attribute, "The attribute that they state.", choices=_choices("attribute")),
                Field(
                    "disagreement",
                    ValueFormat.ENUM,
                    _conflict.c.differs_in,
                    "How they disagree.",
                    enumeration=DIFFERENCE,
                ),
                column_field(_conflict.c.note, "How to read them."),
            ),
            relations=(Relation("selected", ("fact",), _conflict.c.id, "The selected fact."),),
            lists=(
                RelatedList(
                    "facts",
                    "fact",
                    (_about(_fact),),
                    _about(_conflict),
                    "All of them, the selected one first.",
                    paged=False,
                ),
            ),
        ),
    )
}
