"""Describe one place for `trninv show`: its parts, links, state and facts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, or_, select

from trninv.catalog.facts import EFA_FABRIC, Catalog, Fact, render_value
from trninv.catalog.models import COMPUTE
from trninv.database.as_of import is_open_then
from trninv.database.finding_rules import SEVERITIES
from trninv.database.tables import CARRYING_STATES, NODE_KINDS, TABLES, is_unhealthy
from trninv.inventory.address.completion import children
from trninv.inventory.address.expressions import node_addresses
from trninv.inventory.address.lookup import Place
from trninv.inventory.address.rows_in import SERVER_CONTAINERS, rows_in
from trninv.inventory.schema.listing import select_things
from trninv.inventory.schema.things import THINGS
from trninv.inventory.seeding.catalog_rows import compute_column
from trninv.inventory.seeding.totals import cluster_totals
from trninv.inventory.state.bindings import Binding, list_bindings
from trninv.inventory.state.condition import condition_from_row
from trninv.inventory.state.state_change import is_cascaded
from trninv.topology.registry import get_pattern
from trninv.units import Bandwidth, Capacity, Compute, pluralize

MAX_UNHEALTHY = 20
"""The maximum number of unhealthy parts that a description lists."""


@dataclass(frozen=True, slots=True)
class LinkSummary:
    """A link of a described node, with its bandwidth in one direction."""

    to: str
    bandwidth: Bandwidth
    technology: str
    lanes: int | None
    state: str


@dataclass(frozen=True, slots=True)
class Description:
    """The description of a place.

    Attributes
    ----------
    attributes
        Names and values, formatted for people; totals cover everything installed.
    unhealthy
        The first MAX_UNHEALTHY unhealthy servers, nodes and links of the place, with their states. The nodes of a
        server that are unhealthy only with it are counted beside it.
    has_more_unhealthy
        Whether the place has further unhealthy parts.
    """

    address: str
    level: str
    attributes: dict[str, str]
    parts: tuple[str, ...]
    links: tuple[LinkSummary, ...]
    unhealthy: tuple[str, ...]
    has_more_unhealthy: bool
    facts: tuple[Fact, ...]


def describe(connection: Connection, catalog: Catalog, place: Place) -> Description:
    """Describe a place from the tables and the catalog."""
    attributes, subjects = _DESCRIBERS[place.level](connection, catalog, place)
    event = TABLES["state_event"]
    is_own_change = event.c.address == place.address, event.c.action.is_(None), ~is_cascaded()
    if last := connection.execute(select(event).where(*is_own_change).order_by(event.c.id.desc()).limit(1)).first():
        condition = condition_from_row(last, "own_" if last.own_state else "")
        attributes["last set"] = f"{condition} at {last.at} by {last.who}: {last.why}"
    attributes |= _describe_use(connection, place) | _describe_findings(connection, place)
    unhealthy = tuple(islice(_unhealthy_parts(connection, place), MAX_UNHEALTHY + 1))
    fact_keys = dict.fromkeys(fact.key for fact in catalog.facts if fact.subject in subjects)
    return Description(
        place.address,
        place.level,
        {name: str(value) for name, value in attributes.items() if value is not None},
        tuple(children(connection, place)),
        tuple(_link_summaries(connection, place)) if place.level in NODE_KINDS else (),
        unhealthy[:MAX_UNHEALTHY],
        len(unhealthy) > MAX_UNHEALTHY,
        tuple(catalog.facts_about(*key)[0] for key in fact_keys),  # the first fact is the selected one
    )


def _describe_use(connection: Connection, place: Place) -> dict[str, str]:
    """Return the jobs, the reservations and the cordon of a server or chip, as far as there are any."""
    if place.level not in ("server", "chip"):
        return {}
    jobs = connection.execute(select_things(THINGS["job"], place)).all()
    reservations = connection.execute(select_things(THINGS["reservation"], place)).all()
    cordons = connection.execute(select_things(THINGS["cordon"], place)).all() if place.level == "server" else ()
    uses = {
        "jobs": [f"{row.name} by {row.who}" for row in jobs],
        "reserved": [f"for {row.name} from {row.from_at} until {row.until_at} by {row.who}" for row in reservations],
        "cordoned": [f"since {row.started_at} by {row.who}: {row.why}" for row in cordons],
    }
    return {name: "; ".join(texts) for name, texts in uses.items() if texts}


def _describe_findings(connection: Connection, place: Place) -> dict[str, str]:
    """Return the number of open findings at and below a place by severity and rule, the worst first, if any."""
    finding, columns = TABLES["finding"], ("severity", "rule")
    query = (
        select(*(finding.c[name] for name in columns), func.count().label("count"))
        .where(is_open_then(connection, finding.c.first_seen, finding.c.cleared_at), rows_in(place, "finding"))
        .group_by(*(finding.c[name] for name in columns))
    )
    rows = sorted(connection.execute(query), key=lambda row: (-SEVERITIES.index(row.severity), row.rule))
    counts = ", ".join(f"{row.count:,} {row.severity} ({row.rule})" for row in rows)
    return {"open findings": f"{counts}: trninv drift {place.address}"} if rows else {}


_AttributesAndSubjects = tuple[dict[str, Any], Sequence[str]]
"""The attributes of a place, and the subjects of the catalog's facts about it."""


def _load_row(connection: Connection, table_name: str, key: int | None) -> Any:
    table = TABLES[table_name]
    return connection.execute(select(table).where(table.c.id == key)).one()


def _describe_cluster(connection: Connection, catalog: Catalog, place: Place) -> _AttributesAndSubjects:
    cluster = _load_row(connection, "cluster", place.id)
    totals = {
        name.replace("_", " "): render_value(value, catalog.attributes[name].dimension)
        for name, value in cluster_totals(connection, place.id).items()
    }
    models = _domain_models(connection, place.id)
    if len(models) == 1:
        model_names = {"domain model": models[0].name}
    else:
        model_names = {"domain models": ", ".join(f"{row.domains:,} {row.name}" for row in models)}
    subjects = [cluster.system, *(row.slug for row in models), *(row.chip for row in models)]
    return {"system": cluster.system, "domains": cluster.domains, **model_names, **totals}, subjects


def _domain_models(connection: Connection, cluster: int) -> Sequence[Any]:
    """Return the models of a cluster's domains, with the number of domains of each."""
    domain, model, server, chip = (TABLES[name] for name in ("domain", "domain_model", "server_model", "chip_model"))
    query = (
        select(model.c.slug, model.c.name, chip.c.slug.label("chip"), func.count().label("domains"))
        .select_from(domain)
        .join(model, model.c.id == domain.c.domain_model_id)
        .join(server, server.c.id == model.c.server_model_id)
        .join(chip, chip.c.id == server.c.chip_model_id)
        .where(domain.c.cluster_id == cluster)
        .group_by(model.c.slug, model.c.name, chip.c.slug)
        .order_by(func.min(domain.c.ordinal))
    )
    return connection.execute(query).all()


def _describe_domain(connection: Connection, _catalog: Catalog, place: Place) -> _AttributesAndSubjects:
    domain = _load_row(connection, "domain", place.id)
    model = _load_row(connection, "domain_model", domain.domain_model_id)
    wiring = f"{get_pattern(model.wiring).name} {model.sides.replace('x', '×')}".strip()
    return {"model": model.name, "wiring": wiring, "servers": model.servers, "chips": model.chips}, [model.slug]


def _describe_server(connection: Connection, _catalog: Catalog, place: Place) -> _AttributesAndSubjects:
    server = _load_row(connection, "server", place.id)
    model = _load_row(connection, "server_model", server.server_model_id)
    cluster = place.address.split("/", 1)[0]
    bound = next(list_bindings(connection, place), None)
    return {
        "model": model.slug,
        **_machine_names(bound),
        "bound": bound and f"since {bound.started_at} by {bound.who}, {bound.method}, {bound.confidence}",
        "rack": f"{cluster}/r{_load_row(connection, 'rack', server.rack_id).ordinal}",
        "state": condition_from_row(server),
        "chips": model.chips,
        "vCPUs": model.vcpus,
        "host memory": Capacity(model.host_memory_bytes),
    }, [model.slug]


def _machine_names(bound: Binding | None) -> dict[str, str | None]:
    return {"instance": bound.instance if bound else None, "host": bound.host if bound else None}


def _describe_chip(connection: Connection, _catalog: Catalog, place: Place) -> _AttributesAndSubjects:
    chip, node = _load_row(connection, "chip", place.id), _load_row(connection, "node", place.id)
    model = _load_row(connection, "chip_model", chip.chip_model_id)
    compute = {
        name.replace("_", " "): Compute(value)
        for name in COMPUTE
        if (value := getattr(model, compute_column(name))) is not None
    }
    server = Place(place.address.rsplit("/", 1)[0], "server", chip.server_id, place.cluster_id)
    return {
        "model": model.name,
        **_machine_names(next(list_bindings(connection, server), None)),
        "state": condition_from_row(node),
        "tray": f"tray {_load_row(connection, 'tray', chip.tray_id).ordinal} of its server" if chip.tray_id else None,
        "cores": f"{model.cores} × {model.core_model}",
        "memory": Capacity(model.device_memory_bytes),
        "memory bandwidth": Bandwidth(model.device_memory_bandwidth_bytes_per_s),
        **compute,
    }, [model.slug]


def _describe_core(connection: Connection, catalog: Catalog, place: Place) -> _AttributesAndSubjects:
    core = _load_row(connection, "core", place.id)
    chip = Place(place.address.rsplit("/", 1)[0], "chip", core.chip_id, place.cluster_id)
    attributes, subjects = _describe_chip(connection, catalog, chip)
    return {"chip": chip.address, "model": attributes["cores"].split(" × ")[1]}, subjects


def _describe_switch(connection: Connection, _catalog: Catalog, place: Place) -> _AttributesAndSubjects:
    switch, node = _load_row(connection, "switch", place.id), _load_row(connection, "node", place.id)
    cluster, domain, _ = place.address.split("/")
    rack = f"rack {cluster}/r{_load_row(connection, 'rack', switch.rack_id).ordinal}"
    joined = rack
    if switch.server_id is not None:
        joined = f"server {cluster}/{domain}/s{_load_row(connection, 'server', switch.server_id).ordinal} in {rack}"
    model = (
        _load_row(connection, "switch_model", switch.switch_model_id) if switch.switch_model_id is not None else None
    )
    model_name = {"model": model.name} if model else {}
    return {**model_name, "joins the chips of": joined, "state": condition_from_row(node)}, [
        model.slug
    ] if model else []


def _describe_nic(connection: Connection, catalog: Catalog, place: Place) -> _AttributesAndSubjects:
    nic, node = _load_row(connection, "nic", place.id), _load_row(connection, "node", place.id)
    server = _load_row(connection, "server", nic.server_id)
    nic_facts = catalog.facts_about(_load_row(connection, "server_model", server.server_model_id).slug, "nics")[:1]
    assumed = next((fact.quote for fact in nic_facts if fact.source.kind == "assumed"), None)
    return {
        "line rate": Bandwidth(nic.bandwidth_bytes_per_s),
        "assumed": assumed,
        "state": condition_from_row(node),
    }, []


def _describe_network_node(connection: Connection, _catalog: Catalog, place: Place) -> _AttributesAndSubjects:
    network_node, node = _load_row(connection, "network_node", place.id), _load_row(connection, "node", place.id)
    tiers, nodes = TABLES["network_node"], TABLES["node"]
    deepest = select(func.max(tiers.c.tier)).join(nodes, nodes.c.id == tiers.c.id)
    deepest = deepest.where(nodes.c.cluster_id == place.cluster_id)
    return {
        "vendor's id": network_node.vendor_id,
        "tier": f"{network_node.tier} of {connection.scalar(deepest)}, 1 on top",
        "state": condition_from_row(node),
    }, [EFA_FABRIC]


def _describe_rack(connection: Connection, _catalog: Catalog, place: Place) -> _AttributesAndSubjects:
    rack = _load_row(connection, "rack", place.id)
    return {"height": f"{rack.rack_units} U"}, ["rack"]


def _describe_link(connection: Connection, _catalog: Catalog, place: Place) -> _AttributesAndSubjects:
    link = _load_row(connection, "link", place.id)
    ends = [
        f"{end} is {state}"
        for end, state in _addresses_and_states(connection, TABLES["node"].c.id.in_([link.a_id, link.b_id])).values()
        if state not in CARRYING_STATES
    ]
    model = _load_row(connection, "link_model", link.link_model_id)
    return {
        "technology": link.technology,
        "bandwidth, one direction": Bandwidth(link.bandwidth_bytes_per_s),
        "bandwidth, both directions": Bandwidth(2 * link.bandwidth_bytes_per_s),
        "lanes": link.lanes,
        "cables": link.cables if link.cables > 1 else None,
        "joins within": link.scope,
        "state": ", ".join([str(condition_from_row(link)), *ends]),
    }, [model.slug]


_DESCRIBERS = {
    "cluster": _describe_cluster,
    "domain": _describe_domain,
    "server": _describe_server,
    "chip": _describe_chip,
    "core": _describe_core,
    "switch": _describe_switch,
    "nic": _describe_nic,
    "rack": _describe_rack,
    "network_node": _describe_network_node,
    "link": _describe_link,
}


def _link_summaries(connection: Connection, place: Place) -> Iterator[LinkSummary]:
    link = TABLES["link"]
    links = connection.execute(
        select(link).where(or_(link.c.a_id == place.id, link.c.b_id == place.id)).order_by(link.c.id)
    ).all()
    others = [row.b_id if row.a_id == place.id else row.a_id for row in links]
    nodes = _addresses_and_states(connection, TABLES["node"].c.id.in_(others))
    for row, other in zip(links, others, strict=True):
        address, state = nodes[other]
        state_text = str(condition_from_row(row)) + ("" if state in CARRYING_STATES else f", its end is {state}")
        yield LinkSummary(address, Bandwidth(row.bandwidth_bytes_per_s), row.technology, row.lanes, state_text)


def _unhealthy_parts(connection: Connection, place: Place) -> Iterator[str]:
    """Yield the unhealthy servers, nodes and links in a cluster, rack, domain or server; nothing for other places.

    A link counts if its first end is in the place. At most MAX_UNHEALTHY + 1 of each kind are yielded, which tells the
    caller whether there are more than MAX_UNHEALTHY.
    """
    node, link, server = TABLES["node"], TABLES["link"], TABLES["server"]
    if place.level not in SERVER_CONTAINERS:
        return
    # "+ 0", also on what rows are ordered by, leaves the database no index but that of unhealthy nodes or links
    is_in_place = node.c.cluster_id + 0 == place.id if place.level == "cluster" else rows_in(place, "node")
    servers = select_things(THINGS["server"], place).add_columns(server.c.factor_ppm).where(is_unhealthy(server))
    for row in connection.execute(servers.limit(MAX_UNHEALTHY + 1)).all():
        yield f"{row.address} ({condition_from_row(row)}{_count_with_server(connection, row, place.cluster_id)})"
    failed_itself = is_unhealthy(node), func.coalesce(node.c.own_state, node.c.state) != "up"
    unhealthy_nodes = _addresses_and_states(connection, is_in_place, *failed_itself, limit=MAX_UNHEALTHY + 1)
    yield from (f"{address} ({state})" for address, state in unhealthy_nodes.values())
    links = select(link).join(node, node.c.id == link.c.a_id).where(is_unhealthy(link), is_in_place)
    links = links.order_by(link.c.id + 0).limit(MAX_UNHEALTHY + 1)
    rows = connection.execute(links).all()
    nodes = _addresses_and_states(connection, node.c.id.in_([end for row in rows for end in (row.a_id, row.b_id)]))
    yield from (f"{nodes[row.a_id][0]}--{nodes[row.b_id][0]} ({row.state})" for row in rows)


def _count_with_server(connection: Connection, server: Any, cluster: int) -> str:
    """Return how many nodes of a server are unhealthy only because it is, as the end of its state."""
    node = TABLES["node"]
    with_it = rows_in(Place(server.address, "server", server.id, cluster), "node"), node.c.own_state == "up"
    query = select(node.c.kind, func.count()).where(*with_it).group_by(node.c.kind).order_by(func.min(node.c.id))
    names = {"nic": "NIC"}
    counts = [pluralize(count, names.get(kind, kind)) for kind, count in connection.execute(query)]
    return f", with {', '.join(counts)}" if counts else ""


def _addresses_and_states(
    connection: Connection, *conditions: ColumnElement[bool], limit: int | None = None
) -> dict[int, tuple[str, str]]:
    """Return the addresses and states of nodes, by id."""
    query = node_addresses().add_columns(TABLES["node"].c.state).where(*conditions)
    rows = connection.execute(query.order_by(TABLES["node"].c.id + 0).limit(limit))
    return {row.id: (row.address, row.state) for row in rows}
