"""Define the Query type."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Final

import strawberry
from sqlalchemy import Connection
from strawberry.types.field import StrawberryField

from trninv.catalog.models import default_systems
from trninv.database.tables import TOKEN_SCOPES, TOKEN_SCOPES_ALLOWED
from trninv.errors import InvalidArgumentError, UnknownAddressError
from trninv.graphql import binding_fields, health_fields, row_loaders
from trninv.graphql.answer_types import answer_type
from trninv.graphql.catalog_fields import ConflictType, SystemType, resolve_conflicts
from trninv.graphql.enums import TokenScope
from trninv.graphql.inventory_types import (
    LocatedInterface,
    NodeInterface,
    connection_field,
    resolve_addresses,
    to_object,
)
from trninv.graphql.layout_types import DomainArgument, LayoutType, NarrowArgument
from trninv.graphql.list_arguments import MAX_NUMBER
from trninv.graphql.pagination import OptionalArgument, paged_field
from trninv.graphql.question_fields import AssumedAllocationInput, DeratingInput, QuestionFields, ScenarioType
from trninv.graphql.report_fields import ReportNameArgument, ReportRowsType, ReportType, ValuesArgument, parse_values
from trninv.graphql.request_context import AppInfo, ChildList
from trninv.graphql.scalars import Address, lazy_list, lazy_type
from trninv.graphql.search_field import MAX_HITS, FirstArgument, HitType, NearArgument, TextArgument, search_inventory
from trninv.graphql.sweep_fields import SweepIdArgument, SweepJobType, sweep_store
from trninv.inventory.schema.things import THINGS
from trninv.placement.allocations import job_allocations
from trninv.reconcile.findings import last_comparison_time
from trninv.reports import report_library
from trninv.reports.row_formats import available_formats
from trninv.routing.question import ROUTED_COST, SCAN_COST


@strawberry.input(
    description="Two places joined by links: each a chip, switch, NIC or network node, or a place that contains them."
)
class EndpointsInput:
    a: Address = strawberry.field(description="The first place.")
    b: Address = strawberry.field(description="The second place; the same one for the links inside it.")


@strawberry.type(name="Viewer", description="The client of the request.")
class ViewerType:
    name: str | None = strawberry.field(description="Name of its token; null if the service requires none.")
    scope: Any = strawberry.field(description="Scope of its token.", graphql_type=TokenScope)
    scopes: list[Any] = strawberry.field(
        description="Scopes that it includes; a field that needs one of them is allowed, such as mutations, which need "
        "OPERATE.",
        graphql_type=list[TokenScope],  # type: ignore[valid-type] # an enum made of a declaration
    )


TimeArgument = Annotated[
    str, strawberry.argument(description="An ISO time with its zone (2026-11-22T02:00:00Z), or the number of an event.")
]

QUERY_LISTS = {
    "clusters": "cluster",
    "servers": "server",
    "chips": "chip",
    "cores": "core",
    "racks": "rack",
    "domains": "domain",
    "switches": "switch",
    "nics": "nic",
    "network_nodes": "network_node",
    "links": "link",
    "facts": "fact",
    "events": "event",
}
"""Kinds of the Query type's lists, by field."""
_FACT_ARGUMENTS: Final[Sequence[OptionalArgument]] = (
    ("subject", str, "Only facts about this part, model or system."),
    ("attribute", str, "Only facts about this attribute."),
)
_EXTRA_ARGUMENTS: Final[Mapping[str, Sequence[OptionalArgument]]] = {
    "facts": (*_FACT_ARGUMENTS, ("disputed", bool, "Whether sources disagree on it; null: all facts.")),
    "events": (
        ("scope", Address, "Only events in this place and on links that end there."),
        ("since", str, "Only events at or after this time: an ISO time with its zone."),
        ("until", str, "Only events at or before this time."),
    ),
    "links": (("between", EndpointsInput, "Only links that join these two places, in either direction."),),
}
_DESCRIPTIONS: Final = {
    "events": (
        "Events, oldest first. Use last for the newest, and after with an endCursor for what has happened "
        "since. Within asOf: events up to that time. A scenario has no events of its own."
    )
}
MAX_JOBS = 100_000
"""Jobs read from the database before a page is cut from them."""
MAX_IDS = 1_000
"""Ids in one look-up."""


def _list_field(name: str) -> StrawberryField:
    kind = THINGS[QUERY_LISTS[name]]
    description = _DESCRIPTIONS.get(name) or f"Every {kind.name.replace('_', ' ')}, page by page."
    return connection_field(
        kind, lambda info, _: ChildList(info.context, kind), description, _EXTRA_ARGUMENTS.get(name, ())
    )


@strawberry.type(description="Query the hardware, its wiring and what it carries.")
class Query(QuestionFields):
    @strawberry.field(
        description="A cluster by name; null if it does not exist.", graphql_type=lazy_type("Cluster") | None
    )
    async def cluster(
        self, info: AppInfo, slug: Annotated[str, strawberry.argument(description="The cluster's name.")]
    ) -> Any:
        row = await info.context.read(row_loaders.load_cluster, slug)
        return None if row is None else to_object("cluster", row)

    @strawberry.field(description="The thing at an address.")
    async def resolve(
        self,
        info: AppInfo,
        address: Annotated[Address, strawberry.argument(description="Any address; a link's is A--B.")],
    ) -> LocatedInterface:
        (target,) = await info.context.read(resolve_addresses, [address])
        return target  # type: ignore[no-any-return]

    @strawberry.field(
        description="Search by a few letters for addresses, instances, hosts, jobs and reports; likeliest first, "
        "places near the given one before others. An empty text finds nothing.",
        metadata={"price": SCAN_COST},
    )
    async def search(
        self, info: AppInfo, text: TextArgument, near: NearArgument = None, first: FirstArgument = MAX_HITS
    ) -> list[HitType]:
        return await search_inventory(info.context, text, near, first)

    @strawberry.field(description="Where the parts of a domain are drawn.", metadata={"price": SCAN_COST})
    async def layout(self, info: AppInfo, place: DomainArgument, narrow: NarrowArgument = False) -> LayoutType:
        return await info.context.read(LayoutType.from_domain, place, narrow)

    @strawberry.field(description="A thing by its id; null if it no longer exists.")
    async def node(
        self,
        info: AppInfo,
        id: Annotated[strawberry.ID, strawberry.argument(description="An id from this API.")],  # noqa: A002
    ) -> NodeInterface | None:
        nodes: list[NodeInterface | None] = await info.context.read(_resolve_ids, [id])
        return nodes[0]

    @strawberry.field(
        description="Several things by their ids, in the same order; null for each that no longer exists."
    )
    async def nodes(
        self,
        info: AppInfo,
        ids: Annotated[
            list[strawberry.ID], strawberry.argument(description=f"Ids from this API, {MAX_IDS:,} at most.")
        ],
    ) -> list[NodeInterface | None]:
        if len(ids) > MAX_IDS:
            raise InvalidArgumentError(f"nodes: {len(ids):,} ids are too many; ask for at most {MAX_IDS:,} at once")
        return await info.context.read(_resolve_ids, ids)

    @strawberry.field(description="The client of the request and its scopes.")
    def viewer(self, info: AppInfo) -> ViewerType:
        scope = info.context.scope
        scopes = [TokenScope(token_scope) for token_scope in TOKEN_SCOPES if token_scope in TOKEN_SCOPES_ALLOWED[scope]]
        return ViewerType(name=info.context.who or None, scope=TokenScope(scope), scopes=scopes)

    clusters, servers, chips, cores, racks, domains = map(
        _list_field, ("clusters", "servers", "chips", "cores", "racks", "domains")
    )
    switches, nics, network_nodes, links = map(_list_field, ("switches", "nics", "network_nodes", "links"))
    facts, events = map(_list_field, ("facts", "events"))

    @strawberry.field(
        description="The fleet at an earlier time: its states, and answers for them.",
        graphql_type=Annotated["Query", strawberry.lazy("trninv.graphql.query_root")] | None,
    )
    def as_of(self, time: TimeArgument) -> Any:  # noqa: ARG002 # Api runs asOf at the root itself
        raise InvalidArgumentError("asOf is nested or repeated; use it at the root of a document, once for each time")

    @strawberry.field(description="Progress of a sweep that startSweep started; null if it does not exist.")
    async def sweep_job(self, info: AppInfo, id: SweepIdArgument) -> SweepJobType | None:  # noqa: A002
        record = await info.context.ask(sweep_store(info).find, str(id))
        return SweepJobType.from_record(record) if record else None

    @strawberry.field(description="The same questions in a scenario; nothing is written.")
    def what_if(
        self,
        info: AppInfo,
        down: Annotated[
            list[Address] | None, strawberry.argument(description="Places and links that carry nothing.")
        ] = None,
        derate: Annotated[
            list[DeratingInput] | None,
            strawberry.argument(description="Places and links that carry a fraction of their bandwidth."),
        ] = None,
        with_: Annotated[
            list[AssumedAllocationInput] | None,
            strawberry.argument(
                name="with", description="Jobs with the places allocated to them, for placement questions."
            ),
        ] = None,
        without: Annotated[
            list[str] | None, strawberry.argument(description="Jobs that have ended, for placement questions.")
        ] = None,
    ) -> ScenarioType:
        factors: dict[str, float] = {}
        for derating in derate or ():
            factors[str(derating.address)] = min(derating.factor, factors.get(str(derating.address), 1.0))
        allocations: dict[str, list[str]] = {}
        for assumed in with_ or ():
            allocations.setdefault(assumed.job, []).extend(map(str, assumed.places))
        places = [str(address) for address in down or ()]
        return ScenarioType(fleet=info.context.fleet.what_if(places, factors, with_=allocations, without=without or ()))

    @strawberry.field(description="Every system that can be seeded.")
    def systems(self) -> list[SystemType]:
        return [SystemType.from_catalog(system) for system in default_systems().systems]

    conflicts = paged_field(
        ConflictType,
        "Every subject and attribute on which sources disagree.",
        resolve_conflicts,
        lambda conflict: f"{conflict.subject} {conflict.attribute}",
        _FACT_ARGUMENTS,
    )

    unclaimed_types = paged_field(
        health_fields.UnclaimedType,
        "EC2 instance types that no model in the catalog claims, of instances without a slot that were "
        "observed in the hour before driftComparedAt, or since. They are never bound and never adopted.",
        health_fields.unclaimed,
        lambda unclaimed_type: unclaimed_type.type,
    )

    drift = paged_field(
        health_fields.FindingType,
        "Differences between observations and the design, worst first, as of driftComparedAt: this query "
        "compares nothing. Run trninv drift after imports.",
        health_fields.resolve_drift,
        lambda finding: str(finding.id),
        health_fields.DRIFT_ARGUMENTS,
    )

    @strawberry.field(description="When trninv drift last compared observations with the design (UTC); null: never.")
    async def drift_compared_at(self, info: AppInfo) -> str | None:
        return await info.context.read(last_comparison_time)

    bindings = paged_field(
        binding_fields.BindingType,
        "Bindings of instances to slots, ordered by slot.",
        binding_fields.resolve_bindings,
        binding_fields.binding_cursor,
        binding_fields.BINDING_ARGUMENTS,
    )
    incidents = paged_field(
        health_fields.IncidentType,
        "Unhealthy parts grouped by root cause: worst first, then latest first.",
        health_fields.resolve_incidents,
        lambda incident: incident.id,
        health_fields.INCIDENT_ARGUMENTS,
    )
    jobs = paged_field(
        answer_type(job_allocations.Job),
        "Jobs with allocated chips, oldest first.",
        lambda _self, info, arguments: info.context.read(
            _read_jobs, arguments.get("scope"), arguments.get("includeEnded")
        ),
        lambda job: str(job.key),
        (
            ("scope", Address, "Only jobs with chips in this place."),
            ("include_ended", bool, "Whether to include jobs that have ended."),
        ),
    )

    @strawberry.field(description="Every report: trninv's own and those in TRNINV_REPORTS.")
    def reports(self, info: AppInfo) -> list[ReportType]:
        return [
            ReportType.from_definition(report)
            for report in report_library.read_reports(info.context.settings.reports).values()
        ]

    @strawberry.field(description="Formats that /reports/NAME.FORMAT offers; parquet needs PyArrow.")
    def report_formats(self) -> list[str]:
        return available_formats()

    @strawberry.field(description="Rows of a report, 10,000 at most.", metadata={"price": ROUTED_COST})
    async def report(self, info: AppInfo, name: ReportNameArgument, values: ValuesArgument = None) -> ReportRowsType:
        definition, context = report_library.find_report(name, info.context.settings.reports), info.context
        return await context.ask(partial(ReportRowsType.run_report, context, definition, parse_values(values)))

    @strawberry.field(description="Every source.", graphql_type=lazy_list("Source"))
    async def sources(self, info: AppInfo) -> list[Any]:
        return await _resolve_all(info, "source")


def _read_jobs(connection: Connection, scope: str | None, include_ended: bool | None) -> list[job_allocations.Job]:
    return job_allocations.list_jobs(connection, scope, MAX_JOBS, include_ended=bool(include_ended))


async def _resolve_all(info: AppInfo, kind: str) -> list[Any]:
    return [to_object(kind, row) for row in await info.context.read(row_loaders.load_all, THINGS[kind])]


def _resolve_ids(connection: Connection, ids: Sequence[str]) -> list[Any]:
    """Return the objects with these ids, None for missing ones, with one statement per kind."""
    keys_wanted = [parse_id(text) for text in ids]
    keys = defaultdict(set)
    for kind, key in keys_wanted:
        keys[kind].add(key)
    rows_by_kind = {kind: row_loaders.load_by_ids(connection, THINGS[kind], sorted(keys[kind])) for kind in keys}
    return [
        to_object(kind, rows_by_kind[kind][key]) if key in rows_by_kind[kind] else None for kind, key in keys_wanted
    ]


def parse_id(opaque: str) -> tuple[str, int]:
    """Split an id into kind and number.

    Raises
    ------
    UnknownAddressError
        The text is not an id of this API.

    """
    kind, _, key = opaque.partition(":")
    if kind in THINGS and THINGS[kind].is_node and key.isdecimal() and key.isascii() and int(key[:20]) <= MAX_NUMBER:
        return kind, int(key)
    raise UnknownAddressError(f"{opaque[:40]!r} is not an id of this API; use an id that it returned")
