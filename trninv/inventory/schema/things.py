"""Declare the fields, relations and lists of every thing.

GraphQL's types, filters and orders are generated from these declarations, and so are the SQL statements that documents
are compiled to: a field is one line here. Expressions are written on the tables themselves; their users substitute
aliases.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final

from sqlalchemy import FromClause, Integer, case, func, literal_column, select, union_all

from trninv.catalog.facts import default_catalog
from trninv.catalog.models import COMPUTE, default_systems
from trninv.database.tables import TABLES
from trninv.inventory.address.expressions import address_expression, concat, node_address_expression
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
from trninv.inventory.schema.event_fields import EVENT, event_relations
from trninv.inventory.schema.event_fields import EVENT_FIELDS as OF_EVENT
from trninv.inventory.schema.thing import Enumeration, Field, RelatedList, Relation, Sql, Thing, ValueFormat
from trninv.inventory.seeding.catalog_rows import compute_column
from trninv.inventory.state.chip_use import chip_use
from trninv.inventory.state.condition import carried_bandwidth_expression, carried_bandwidth_filter

_TABLES = TABLES
_cluster, _domain, _server, _rack, _tray = (_TABLES[name] for name in ("cluster", "domain", "server", "rack", "tray"))
_node, _chip, _switch, _nic, _network_node = (
    _TABLES[name] for name in ("node", "chip", "switch", "nic", "network_node")
)
_core, _link, _fact, _source = (_TABLES[name] for name in ("core", "link", "fact", "source"))
_chips, _servers, _domains, _links = (_TABLES[f"{name}_model"] for name in ("chip", "server", "domain", "link"))
_switches, _binding = _TABLES["switch_model"], _TABLES["binding"]
_end_a, _end_b = _node.alias("end_a"), _node.alias("end_b")

_compute = union_all(
    *(
        select(
            literal_column(str(position)).label("id"),
            _chips.c.id.label("chip_model_id"),
            literal_column(f"'{name.removesuffix('_compute')}'").label("type"),
            _chips.c[compute_column(name)].label("giga"),
        ).where(_chips.c[compute_column(name)].is_not(None))
        for position, name in enumerate(COMPUTE)
    )
).subquery("compute")

_SERVER: Final[dict[FromClause, tuple[Sql, bool]]] = {
    _domain: (_domain.c.id == _server.c.domain_id, False),
    _cluster: (_cluster.c.id == _domain.c.cluster_id, False),
    _rack: (_rack.c.id == _server.c.rack_id, False),
    _servers: (_servers.c.id == _server.c.server_model_id, False),
    _domains: (_domains.c.id == _domain.c.domain_model_id, False),
}

_WITHIN_SERVER = {"domain": _domain.c.id, "server": _server.c.id, "rack": _server.c.rack_id}


@lru_cache(maxsize=1)
def _models() -> dict[str, tuple[str, ...]]:
    """Return the slugs of all models that systems consist of, by the subject of their facts."""
    domains = [system.domain for system in default_systems().systems]
    links = [link for domain in domains for link in domain.links.values()]
    return {
        "server": _unique(domain.server.slug for domain in domains),
        "domain": _unique(domain.name for domain in domains),
        "technology": _unique(link.technology for link in links),
        "subject": _unique(fact.subject for fact in default_catalog().facts),
        "attribute": _unique(fact.attribute.name for fact in default_catalog().facts),
    }


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _allowed_slugs(model_kind: str) -> Callable[[], tuple[str, ...]]:
    return lambda: _models()[model_kind]


def _id(table: FromClause) -> Field:
    return Field("id", ValueFormat.ID, table.c.id, "Opaque id.", is_filterable=False)


def _enum(name: str, enumeration: Enumeration, sql: Sql, description: str) -> Field:
    return Field(name, ValueFormat.ENUM, sql, description, enumeration=enumeration)


def _address(sql: Sql) -> Field:
    return Field("address", ValueFormat.ADDRESS, sql, "Its address.", is_filterable=False)


def _ordinal(table: FromClause, description: str = "Its number within what contains it.") -> Field:
    return Field("ordinal", ValueFormat.INT, table.c.ordinal, description)


def _condition(table: FromClause) -> tuple[Field, Field]:
    description = "Fraction of its bandwidth that a degraded part carries; null unless degraded."
    return (
        _enum("state", STATE, table.c.state, "Its state."),
        Field("factor", ValueFormat.MILLIONTHS, table.c.factor_ppm, description, nullable=True),
    )


_TO_CLUSTER = Relation("cluster", ("cluster",), _cluster.c.id, "The cluster it belongs to.")
_TO_DOMAIN = Relation("domain", ("domain",), _domain.c.id, "The scale-up domain it belongs to.")
_TO_RACK = Relation("rack", ("rack",), _rack.c.id, "The rack it is in.")
_TO_SERVER = Relation("server", ("server",), _server.c.id, "The server it belongs to.")
_IN_SERVER = (_TO_CLUSTER, _TO_DOMAIN, _TO_RACK, _TO_SERVER)


def _binding_column(column: str) -> Sql:
    """Return a column of the server's open binding, as a subquery that things inside the server can use too."""
    open_ = _binding.alias("open_binding")
    value = select(open_.c[column]).where(open_.c.server_id == _server.c.id, open_.c.ended_at.is_(None))
    return value.correlate_except(open_).scalar_subquery()


def _job_name() -> Sql:
    """Return the name of the job to which a chip is allocated, as ``trninv release`` takes it."""
    allocation, job = _TABLES["allocation"].alias("allocated_now"), _TABLES["job"].alias("holder")
    qualified_name = job.c.system + literal_column("':'") + job.c.external_id
    name = case((job.c.system == literal_column("'trninv'"), job.c.external_id), else_=qualified_name)
    query = select(name).join(allocation, allocation.c.job_id == job.c.id)
    return (
        query.where(allocation.c.chip_id == _chip.c.id, allocation.c.ended_at.is_(None))
        .correlate_except(allocation, job)
        .scalar_subquery()
    )


def _links_of(table: FromClause) -> RelatedList:
    return RelatedList("links", "link", (_link.c.a_id, _link.c.b_id), table.c.id, "Its links.")


def _facts_of(subject: Sql, description: str) -> RelatedList:
    return RelatedList("facts", "fact", (_fact.c.subject,), subject, description, paged=False)


_LAST: Final[dict[str, Relation]] = {}
_EVENTS: Final[dict[str, RelatedList]] = {}
for _name in ("domain", "server", "chip", "switch", "nic", "network_node"):
    _LAST[_name], _EVENTS[_name] = event_relations(
        address_expression(_name), include_parts=_name in ("domain", "server")
    )
_link_address = concat(node_address_expression(_link.c.a_id), "--", node_address_expression(_link.c.b_id))
_LAST["link"], _EVENTS["link"] = event_relations(_link_address)

_CHIP_JOINS: dict[FromClause, tuple[Sql, bool]] = {
    _node: (_node.c.id == _chip.c.id, False),
    _server: (_server.c.id == _chip.c.server_id, False),
    **_SERVER,
    _chips: (_chips.c.id == _chip.c.chip_model_id, False),
    _tray: (_tray.c.id == _chip.c.tray_id, True),
}
_host, _host_model = _link.alias("host_link"), _links.alias("host_model")
_nic_subject = (
    select(_host_model.c.slug)
    .select_from(_host.join(_host_model, _host_model.c.id == _host.c.link_model_id))
    .where(_host.c.b_id == _nic.c.id, _host.c.scope == literal_column("'host'"))
    .limit(literal_column("1"))
    .correlate_except(_host, _host_model)
    .scalar_subquery()
)
_memory = _chips.c.device_memory_bytes
_hbm = _chips.c.device_memory_bandwidth_bytes_per_s

THINGS: Final[Mapping[str, Thing]] = {
    kind.name: kind
    for kind in (
        Thing(
            "cluster",
            "Cluster",
            "A named fleet: a single server, an UltraServer, an UltraCluster.",
            _cluster,
            {},
            (
                _id(_cluster),
                _address(address_expression("cluster")),
                Field("slug", ValueFormat.IDENTIFIER, _cluster.c.slug, "Its name."),
                Field("system", ValueFormat.TEXT, _cluster.c.system, "The system it was seeded as, or adopted."),
            ),
            (),
            (
                RelatedList("domains", "domain", (), _cluster.c.id, "Its scale-up domains."),
                RelatedList("racks", "rack", (), _cluster.c.id, "Its racks."),
                RelatedList("chips", "chip", (), _cluster.c.id, "Its chips."),
                _facts_of(_cluster.c.system, "Facts about its system."),
            ),
        ),
        Thing(
            "domain",
            "Domain",
            "A NeuronLink scale-up domain: one server, or one UltraServer.",
            _domain,
            {
                _cluster: (_cluster.c.id == _domain.c.cluster_id, False),
                _domains: (_domains.c.id == _domain.c.domain_model_id, False),
            },
            (
                _id(_domain),
                _address(address_expression("domain")),
                _ordinal(_domain),
                Field(
                    "model",
                    ValueFormat.TEXT,
                    _domains.c.name,
                    "The vendor's name of its model.",
                    choices=_allowed_slugs("domain"),
                ),
                _enum("wiring", WIRING, _domains.c.wiring, "The pattern in which its chips are wired."),
            ),
            (_TO_CLUSTER, _LAST["domain"]),
            (
                _EVENTS["domain"],
                RelatedList("servers", "server", (_server.c.domain_id,), _domain.c.id, "Its servers, rack by rack."),
                RelatedList("switches", "switch", (_node.c.domain_id,), _domain.c.id, "Its switches."),
                RelatedList("links", "link", (_link.c.domain_id,), _domain.c.id, "Its links, including those to NICs."),
                _facts_of(_domains.c.slug, "Facts about its model."),
            ),
            "first_domain_id",
            {"domain": _domain.c.id},
            {"cluster": _cluster.c.slug, "model": _domains.c.slug},
        ),
        Thing(
            "rack",
            "Rack",
            "A rack.",
            _rack,
            {_cluster: (_cluster.c.id == _rack.c.cluster_id, False)},
            (
                _id(_rack),
                _address(address_expression("rack")),
                _ordinal(_rack),
                Field("rack_units", ValueFormat.INT, _rack.c.rack_units, "Its height in rack units."),
            ),
            (_TO_CLUSTER,),
            (
                RelatedList("servers", "server", (_server.c.rack_id,), _rack.c.id, "The servers in it."),
                _facts_of(literal_column("'rack'"), "Facts about racks."),
            ),
            "first_rack_id",
            {"rack": _rack.c.id},
            {"cluster": _cluster.c.slug},
        ),
        Thing(
            "server",
            "Server",
            "A server: an EC2 instance of a rack.",
            _server,
            {**_SERVER, _chips: (_chips.c.id == _servers.c.chip_model_id, False)},
            (
                _id(_server),
                _address(address_expression("server")),
                _ordinal(_server),
                *_condition(_server),
                Field(
                    "model",
                    ValueFormat.TEXT,
                    _servers.c.slug,
                    "Its model, the subject of its facts.",
                    choices=_allowed_slugs("server"),
                ),
                Field(
                    "instance",
                    ValueFormat.TEXT,
                    _binding_column("instance"),
                    "Id of the instance in this slot.",
                    nullable=True,
                ),
                Field(
                    "host",
                    ValueFormat.TEXT,
                    _binding_column("host"),
                    "Host name of the instance in this slot.",
                    nullable=True,
                ),
                Field("vcpus", ValueFormat.INT, _servers.c.vcpus, "Virtual CPUs of the host."),
                Field(
                    "host_memory",
                    ValueFormat.CAPACITY,
                    _servers.c.host_memory_bytes,
                    "Memory of the host.",
                    fact=(_servers.c.slug, "host_memory"),
                ),
            ),
            (_TO_CLUSTER, _TO_DOMAIN, _TO_RACK, _LAST["server"]),
            (
                _EVENTS["server"],
                RelatedList("chips", "chip", (_chip.c.server_id,), _server.c.id, "Its chips, by device number."),
                RelatedList("nics", "nic", (_nic.c.server_id,), _server.c.id, "Its EFA devices."),
                RelatedList(
                    "trays", "tray", (_tray.c.server_id,), _server.c.id, "Its trays, head trays first.", paged=False
                ),
                _facts_of(_servers.c.slug, "Facts about its model."),
            ),
            "first_server_id",
            _WITHIN_SERVER,
            {
                "cluster": _cluster.c.slug,
                "model": _servers.c.slug,
                "generation": _chips.c.generation,
                "state": _server.c.state,
            },
            {"memory": _servers.c.host_memory_bytes},
        ),
        Thing(
            "chip",
            "Chip",
            "A chip: what Neuron tools call a device.",
            _chip,
            _CHIP_JOINS,
            (
                _id(_chip),
                _address(address_expression("chip")),
                _ordinal(_chip),
                *_condition(_node),
                _enum("generation", GENERATION, _chips.c.generation, "Its generation."),
                Field("memory", ValueFormat.CAPACITY, _memory, "Its HBM.", fact=(_chips.c.slug, "device_memory")),
                Field(
                    "memory_bandwidth",
                    ValueFormat.BANDWIDTH,
                    _hbm,
                    "Its HBM's bandwidth.",
                    fact=(_chips.c.slug, "device_memory_bandwidth"),
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
                    _job_name(),
                    "The job to which it is allocated: its name, or SYSTEM:ID.",
                    nullable=True,
                ),
                _enum("use", CHIP_USE, chip_use(), "Whether a new job can get it."),
            ),
            (*_IN_SERVER, Relation("model", ("chip_model",), _chips.c.id, "Its model."), _LAST["chip"]),
            (
                _EVENTS["chip"],
                RelatedList("cores", "core", (_core.c.chip_id,), _chip.c.id, "Its physical cores."),
                _links_of(_chip),
            ),
            "first_node_id",
            _WITHIN_SERVER,
            {
                "cluster": _cluster.c.slug,
                "model": _chips.c.slug,
                "generation": _chips.c.generation,
                "state": _node.c.state,
            },
            {"memory": _memory, "bandwidth": _hbm}
            | {name.removesuffix("_compute"): _chips.c[compute_column(name)] for name in COMPUTE},
        ),
        Thing(
            "core",
            "Core",
            "A physical NeuronCore.",
            _core,
            {_chip: (_chip.c.id == _core.c.chip_id, False), **_CHIP_JOINS},
            (_id(_core), _address(address_expression("core")), _ordinal(_core)),
            (*_IN_SERVER, Relation("chip", ("chip",), _chip.c.id, "Its chip.")),
            (),
            "first_core_id",
            _WITHIN_SERVER,
            {
                "cluster": _cluster.c.slug,
                "model": _chips.c.core_model,
                "generation": _chips.c.generation,
                "state": _node.c.state,
            },
        ),
        Thing(
            "switch",
            "Switch",
            "A switch of a server or of a rack.",
            _switch,
            {
                _node: (_node.c.id == _switch.c.id, False),
                _domain: (_domain.c.id == _node.c.domain_id, False),
                _cluster: (_cluster.c.id == _domain.c.cluster_id, False),
                _rack: (_rack.c.id == _switch.c.rack_id, False),
                _server: (_server.c.id == _switch.c.server_id, True),
                _servers: (_servers.c.id == _server.c.server_model_id, True),
                _domains: (_domains.c.id == _domain.c.domain_model_id, False),
            },
            (
                _id(_switch),
                _address(address_expression("switch")),
                _ordinal(_switch),
                *_condition(_node),
            ),
            (
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
                _LAST["switch"],
            ),
            (_links_of(_switch), _EVENTS["switch"]),
            "first_node_id",
            {"domain": _domain.c.id, "server": _switch.c.server_id, "rack": _rack.c.id},
            {"cluster": _cluster.c.slug, "model": _domains.c.slug, "state": _node.c.state},
        ),
        Thing(
            "nic",
            "Nic",
            "An EFA device.",
            _nic,
            {
                _node: (_node.c.id == _nic.c.id, False),
                _server: (_server.c.id == _nic.c.server_id, False),
                **_SERVER,
            },
            (
                _id(_nic),
                _address(address_expression("nic")),
                _ordinal(_nic),
                *_condition(_node),
                Field(
                    "bandwidth",
                    ValueFormat.BANDWIDTH,
                    _nic.c.bandwidth_bytes_per_s,
                    "Its line rate, one direction.",
                    fact=(_nic_subject, "bandwidth"),
                ),
            ),
            (*_IN_SERVER, _LAST["nic"]),
            (_links_of(_nic), _EVENTS["nic"]),
            "first_node_id",
            _WITHIN_SERVER,
            {"cluster": _cluster.c.slug, "model": _servers.c.slug, "state": _node.c.state},
            {"bandwidth": _nic.c.bandwidth_bytes_per_s},
        ),
        Thing(
            "network_node",
            "NetworkNode",
            "A network node of the EFA fabric, as EC2's instance topology shows it.",
            _network_node,
            {
                _node: (_node.c.id == _network_node.c.id, False),
                _cluster: (_cluster.c.id == _node.c.cluster_id, False),
            },
            (
                _id(_network_node),
                _address(address_expression("network_node")),
                _ordinal(_network_node),
                *_condition(_node),
                Field(
                    "tier",
                    ValueFormat.INT,
                    _network_node.c.tier,
                    "Its tier: 1 at the top, 3 above the NICs in a seeded cluster.",
                ),
                Field(
                    "vendor_id",
                    ValueFormat.TEXT,
                    _network_node.c.vendor_id,
                    "Its EC2 id, nn-…, in an adopted cluster.",
                    nullable=True,
                ),
            ),
            (_TO_CLUSTER, _LAST["network_node"]),
            (_links_of(_network_node), _EVENTS["network_node"]),
            "first_node_id",
            {},
            {"cluster": _cluster.c.slug, "state": _node.c.state},
        ),
        Thing(
            "link",
            "Link",
            "A link between two nodes, full duplex.",
            _link,
            {
                _end_a: (_end_a.c.id == _link.c.a_id, False),
                _end_b: (_end_b.c.id == _link.c.b_id, False),
                _links: (_links.c.id == _link.c.link_model_id, False),
                _cluster: (_cluster.c.id == _end_a.c.cluster_id, False),
                _domain: (_domain.c.id == _link.c.domain_id, True),
                _domains: (_domains.c.id == _domain.c.domain_model_id, True),
            },
            (
                _id(_link),
                _address(_link_address),
                *_condition(_link),
                Field(
                    "bandwidth",
                    ValueFormat.BANDWIDTH,
                    carried_bandwidth_expression(_link, _end_a, _end_b),
                    "Current bandwidth, one direction.",
                    fact=(_links.c.slug, "bandwidth"),
                    search=carried_bandwidth_filter(_link),
                ),
                Field(
                    "nominal",
                    ValueFormat.BANDWIDTH,
                    _link.c.bandwidth_bytes_per_s,
                    "Bandwidth when healthy, one direction.",
                    fact=(_links.c.slug, "bandwidth"),
                ),
                Field(
                    "both_directions",
                    ValueFormat.BANDWIDTH,
                    literal_column("2", Integer) * _link.c.bandwidth_bytes_per_s,
                    "Twice the nominal bandwidth, as vendor pages often print it.",
                    fact=(_links.c.slug, "bandwidth"),
                    is_filterable=False,
                ),
                Field("lanes", ValueFormat.INT, _link.c.lanes, "PCIe lanes, if documented.", nullable=True),
                Field(
                    "cables",
                    ValueFormat.INT,
                    _link.c.cables,
                    "Number of parallel cables; its bandwidth is their total.",
                ),
                Field(
                    "technology",
                    ValueFormat.TEXT,
                    _link.c.technology,
                    "NeuronLink-v2, EFA, …",
                    choices=_allowed_slugs("technology"),
                ),
                _enum("scope", LINK_SCOPE, _link.c.scope, "The level that it stays within."),
            ),
            (
                Relation("a", ("chip", "switch", "nic", "network_node"), _link.c.a_id, "One end."),
                Relation("b", ("chip", "switch", "nic", "network_node"), _link.c.b_id, "The other end."),
                Relation(
                    "domain",
                    ("domain",),
                    _link.c.domain_id,
                    "The scale-up domain it belongs to; null between two network nodes.",
                    nullable=True,
                ),
                _LAST["link"],
            ),
            (_facts_of(_links.c.slug, "Facts about its model."), _EVENTS["link"]),
            "first_link_id",
            {"domain": _link.c.domain_id},
            {"cluster": _cluster.c.slug, "model": _links.c.slug, "state": _link.c.state},
            {"bandwidth": _link.c.bandwidth_bytes_per_s},
        ),
        Thing(
            "event",
            "Event",
            "A change of a part's state, a job's allocation or a server's cordon.",
            EVENT,
            {},
            OF_EVENT,
        ),
        Thing(
            "tray",
            "Tray",
            "A tray of a server, if documents describe how the server is divided.",
            _tray,
            {},
            (
                Field("ordinal", ValueFormat.INT, _tray.c.ordinal, "Its number within the server."),
                _enum("kind", TRAY_KIND, _tray.c.kind, "What the tray contains."),
                Field(
                    "rack_units",
                    ValueFormat.INT,
                    _tray.c.rack_units,
                    "Its height in rack units, if documented.",
                    nullable=True,
                ),
            ),
        ),
        Thing(
            "chip_model",
            "ChipModel",
            "A model of chip.",
            _chips,
            {},
            (
                Field("slug", ValueFormat.TEXT, _chips.c.slug, "Short name, the subject of its facts."),
                Field("name", ValueFormat.TEXT, _chips.c.name, "The vendor's name."),
                _enum("generation", GENERATION, _chips.c.generation, "Its generation."),
                Field("core_model", ValueFormat.TEXT, _chips.c.core_model, "Name of its core model."),
                Field("cores", ValueFormat.INT, _chips.c.cores, "Physical NeuronCores of one chip."),
                Field(
                    "memory", ValueFormat.CAPACITY, _memory, "HBM of one chip.", fact=(_chips.c.slug, "device_memory")
                ),
                Field(
                    "memory_bandwidth",
                    ValueFormat.BANDWIDTH,
                    _hbm,
                    "HBM bandwidth of one chip.",
                    fact=(_chips.c.slug, "device_memory_bandwidth"),
                ),
            ),
            (),
            (
                RelatedList(
                    "compute",
                    "compute",
                    (_compute.c.chip_model_id,),
                    _chips.c.id,
                    "Operations per second by type.",
                    paged=False,
                ),
                _facts_of(_chips.c.slug, "Facts about it."),
            ),
        ),
        Thing(
            "switch_model",
            "SwitchModel",
            "A model of switch.",
            _switches,
            {},
            (
                Field("slug", ValueFormat.TEXT, _switches.c.slug, "Short name, the subject of its facts."),
                Field("name", ValueFormat.TEXT, _switches.c.name, "The vendor's name."),
            ),
            (),
            (_facts_of(_switches.c.slug, "Facts about it."),),
        ),
        Thing(
            "compute",
            "Compute",
            "The rate of one type of operation on a chip.",
            _compute,
            {},
            (
                _enum("type", COMPUTE_TYPE, _compute.c.type, "Type of operation."),
                Field("teraflops", ValueFormat.THOUSANDTHS, _compute.c.giga, "10¹² operations per second."),
            ),
        ),
        Thing(
            "source",
            "Source",
            "A document or another source of numbers.",
            _source,
            {},
            (
                Field("slug", ValueFormat.TEXT, _source.c.slug, "Short name."),
                Field("title", ValueFormat.TEXT, _source.c.title, "Title as published."),
                Field("publisher", ValueFormat.TEXT, _source.c.publisher, "Who published it."),
                Field(
                    "date",
                    ValueFormat.TEXT,
                    _source.c.date,
                    "Publication date, as precisely as it is known.",
                    nullable=True,
                ),
                _enum(
                    "kind",
                    SOURCE_KIND,
                    _source.c.kind,
                    "Kind of document, which decides the default selection of facts.",
                ),
                Field("note", ValueFormat.TEXT, _source.c.note, "Further remarks.", nullable=True),
            ),
        ),
        Thing(
            "fact",
            "Fact",
            "One number as one source states it.",
            _fact,
            {_source: (_source.c.id == _fact.c.source_id, False)},
            (
                Field(
                    "subject",
                    ValueFormat.TEXT,
                    _fact.c.subject,
                    "Its subject: a chip, system, link model, …",
                    choices=_allowed_slugs("subject"),
                ),
                Field(
                    "attribute",
                    ValueFormat.TEXT,
                    _fact.c.attribute,
                    "The attribute of the subject.",
                    choices=_allowed_slugs("attribute"),
                ),
                Field(
                    "value",
                    ValueFormat.TEXT,
                    _fact.c.shown,
                    "The value formatted for people; bandwidths are one direction.",
                ),
                Field(
                    "exact",
                    ValueFormat.BIGINT,
                    _fact.c.value,
                    "The exact value in base units: bytes, bytes per second, 10⁹ operations per second.",
                    nullable=True,
                ),
                Field(
                    "as_written",
                    ValueFormat.TEXT,
                    func.rtrim(_fact.c.as_written + literal_column("' '") + _fact.c.unit),
                    "Value and unit as written; for a derived fact (see formula), its result.",
                ),
                Field("unit", ValueFormat.TEXT, _fact.c.unit, "The unit as written."),
                Field("quote", ValueFormat.TEXT, _fact.c.quote, "Quote from the document."),
                Field(
                    "reading_unit",
                    ValueFormat.TEXT,
                    _fact.c.reading_unit,
                    "Unit in which it is read, if that differs from the written one.",
                    nullable=True,
                ),
                Field(
                    "reading_direction",
                    ValueFormat.TEXT,
                    _fact.c.reading_direction,
                    "Whether the written value is one direction or the sum of both.",
                    nullable=True,
                ),
                Field(
                    "reading_reason",
                    ValueFormat.TEXT,
                    _fact.c.reading_reason,
                    "Why it is read this way.",
                    nullable=True,
                ),
                Field(
                    "formula",
                    ValueFormat.TEXT,
                    _fact.c.formula,
                    "Formula of a derived fact.",
                    nullable=True,
                ),
                Field(
                    "picked",
                    ValueFormat.BOOLEAN,
                    _fact.c.preference == literal_column("0"),
                    "Whether it is the selected fact for its subject and attribute.",
                ),
                Field(
                    "disputed",
                    ValueFormat.BOOLEAN,
                    _fact.c.disputed,
                    "Whether sources disagree on it, or on a fact it is derived from.",
                ),
                Field(
                    "differs_in",
                    ValueFormat.ENUM,
                    _fact.c.differs_in,
                    "How the facts for its subject and attribute disagree; null: they agree.",
                    nullable=True,
                    enumeration=DIFFERENCE,
                    is_filterable=False,
                ),
                Field("note", ValueFormat.TEXT, _fact.c.note, "How to read the disagreement.", nullable=True),
                Field(
                    "assumed",
                    ValueFormat.BOOLEAN,
                    _source.c.kind == literal_column("'assumed'"),
                    "Whether it is assumed: no document states it.",
                ),
            ),
            (Relation("source", ("source",), _source.c.id, "The source that states it."),),
            (
                RelatedList(
                    "others",
                    "fact",
                    (_fact.c.subject + literal_column("' '") + _fact.c.attribute,),
                    _fact.c.subject + literal_column("' '") + _fact.c.attribute,
                    "Facts from other sources about the same subject and attribute.",
                    paged=False,
                    exclude=_fact.c.id,
                ),
            ),
        ),
    )
}
