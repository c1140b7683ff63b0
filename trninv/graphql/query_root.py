"""Define the Query type: look-ups, lists, search, and the questions of `QuestionFields`.

Resolvers read the request's snapshot through `info.context`; the modules of the individual fields do the work.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Final

import strawberry
from strawberry.types.arguments import StrawberryArgument
from strawberry.types.field import StrawberryField

from trninv.catalog.instance_types import UnclaimedType
from trninv.catalog.models import default_systems
from trninv.checks.check_report import CheckStatus, read_report
from trninv.database.tables import TOKEN_SCOPES, TOKEN_SCOPES_ALLOWED
from trninv.errors import InvalidArgumentError, UnknownAddressError
from trninv.graphql import health_fields
from trninv.graphql.answer_types import answer_type
from trninv.graphql.catalog_fields import SystemType
from trninv.graphql.compiler.operation import compile_listed_root, compile_lookup_root, compile_paged_root
from trninv.graphql.enums import Severity, TokenScope
from trninv.graphql.inventory_types import LocatedInterface, NodeInterface, connection_field
from trninv.graphql.layout_types import LayoutType, NarrowArgument, PlaceArgument
from trninv.graphql.list_arguments import MAX_NUMBER, AddressTest
from trninv.graphql.pagination import OptionalArgument, declare_argument, paged_field
from trninv.graphql.question_fields import AssumedAllocationInput, DeratingInput, QuestionFields, ScenarioType
from trninv.graphql.report_fields import ReportNameArgument, ReportRowsType, ReportType, ValuesArgument, parse_values
from trninv.graphql.request_context import AppInfo
from trninv.graphql.scalars import Address, RowReference, lazy_list, lazy_type, list_type
from trninv.graphql.search_field import MAX_HITS, FirstArgument, HitType, NearArgument, TextArgument, search_inventory
from trninv.graphql.sweep_fields import SweepIdArgument, SweepJobType
from trninv.graphql.sweep_runner import find_sweep
from trninv.incidents.incident_thing import CLOSED_INCIDENT, INCIDENT
from trninv.incidents.model import RelatedFinding
from trninv.incidents.unapplied_findings import list_unapplied_findings
from trninv.inventory.address.syntax import level_of
from trninv.inventory.schema.things import THINGS
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


ScopeArgument = Annotated[Address | None, strawberry.argument(description="Only those at or below this place.")]
TimeArgument = Annotated[
    str, strawberry.argument(description="An ISO time with its zone (2026-11-22T02:00:00Z), or the number of an event.")
]

QUERY_LISTS: Final = {kind.list_name: kind.name for kind in THINGS.values() if kind.list_name}
"""The kind of the rows of each list field of Query."""
_FACT_ARGUMENTS: Final[Sequence[OptionalArgument]] = (
    ("subject", str, "Only facts about this part, model or system."),
    ("attribute", str, "Only facts about this attribute."),
)
_EXTRA_ARGUMENTS: Final[Mapping[str, Sequence[OptionalArgument]]] = {
    "conflicts": _FACT_ARGUMENTS,
    "facts": (*_FACT_ARGUMENTS, ("disputed", bool, "Whether sources disagree on it; null: all facts.")),
    "events": (
        ("scope", Address, "Only events in this place and on links that end there."),
        ("since", str, "Only events at or after this time: an ISO time with its zone."),
        ("until", str, "Only events at or before this time."),
    ),
    "drift": (("min_severity", Severity, "Only findings of this severity or worse."),),
    "links": (("between", EndpointsInput, "Only links that join these two places, in either direction."),),
}
"""Arguments of single list fields, besides those that all list fields have."""
MAX_IDS = 1_000
"""Maximum number of ids in one look-up."""


def _list_field(name: str) -> StrawberryField:
    kind = THINGS[QUERY_LISTS[name]]
    description = kind.list_description or f"Every {kind.title}, page by page."
    arguments: list[OptionalArgument] = []
    if kind.has_scope and kind.name != "event":
        arguments.append(("scope", Address, "Only those in this place."))
    if kind.lifetime:
        arguments.append((kind.lifetime.argument, bool, kind.lifetime.description))
    extra_arguments = (*arguments, *_EXTRA_ARGUMENTS.get(name, ()))
    return connection_field(kind, description, extra_arguments, compile=compile_paged_root(kind), scope=kind.permission)


def _lookup_field(
    description: str,
    graphql_type: object,
    argument: StrawberryArgument,
    look_up: Callable[[Mapping[str, Any]], tuple[str, str, Any]],
) -> StrawberryField:
    """Create a field that returns one row; `look_up` maps the argument to the kind, column and value that select it."""
    field: StrawberryField = strawberry.field(
        description=description, graphql_type=graphql_type, metadata={"compile": compile_lookup_root(look_up)}
    )
    field.arguments = [argument]
    return field


def _parse_node(opaque: str) -> tuple[str, str, int]:
    kind, key = _parse_id(opaque)
    return kind, "id", key


def _parse_address(address: str) -> tuple[str, str, AddressTest]:
    level = level_of(address)
    return level, "id", AddressTest(address, level)


def _parse_id(opaque: str) -> tuple[str, int]:
    """Split an id into kind and number.

    Raises
    ------
    UnknownAddressError
        The text is not an id of this API.

    """
    kind, _, key = opaque.partition(":")
    is_number = key.isdecimal() and key.isascii() and len(key) <= len(str(MAX_NUMBER))
    if kind in THINGS and THINGS[kind].is_node and is_number and int(key) <= MAX_NUMBER:
        return kind, int(key)
    raise UnknownAddressError(f"{opaque[:40]!r} is not an id of this API; use an id that it returned")


_ThingLists: Final[Any] = strawberry.type(type("ThingLists", (), {name: _list_field(name) for name in QUERY_LISTS}))
"""A base class of Query, with a list field for each declared kind."""


@strawberry.type(description="Query the hardware, its wiring and what it carries.")
class Query(QuestionFields, _ThingLists):  # type: ignore[misc] # the generated base class has its fields
    cluster = _lookup_field(
        "A cluster by name; null if it does not exist.",
        lazy_type("Cluster") | None,
        declare_argument("slug", str, "The cluster's name."),
        lambda arguments: ("cluster", "slug", arguments["slug"]),
    )
    resolve = _lookup_field(
        "The thing at an address.",
        LocatedInterface,
        declare_argument("address", Address, "Any address; a link's is A--B."),
        lambda arguments: _parse_address(arguments["address"]),
    )

    @strawberry.field(
        description="Search by a few letters for addresses, instances, hosts, jobs and reports; likeliest first, "
        "places near `near` before others. An empty text finds nothing.",
        metadata={"price": SCAN_COST},
    )
    async def search(
        self, info: AppInfo, text: TextArgument, near: NearArgument = None, first: FirstArgument = MAX_HITS
    ) -> list[HitType]:
        return await search_inventory(info.context, text, near, first)

    @strawberry.field(description="Where the parts of a domain or a server are drawn.", metadata={"price": SCAN_COST})
    async def layout(self, info: AppInfo, place: PlaceArgument, narrow: NarrowArgument = False) -> LayoutType:
        return await info.context.read(LayoutType.from_place, place, narrow)

    node = _lookup_field(
        "A thing by its id; null if it no longer exists.",
        NodeInterface | None,
        declare_argument("id", strawberry.ID, "An id from this API."),
        lambda arguments: _parse_node(arguments["id"]),
    )

    @strawberry.field(
        description="Several things by their ids, in the same order; null for each that no longer exists.",
        graphql_type=list_type(NodeInterface | None),
    )
    async def nodes(
        self,
        ids: Annotated[
            list[strawberry.ID], strawberry.argument(description=f"Ids from this API, {MAX_IDS:,} at most.")
        ],
    ) -> Any:
        if len(ids) > MAX_IDS:
            raise InvalidArgumentError(f"nodes: {len(ids):,} ids are too many; ask for at most {MAX_IDS:,} at once")
        return [RowReference(*_parse_id(text)) for text in ids]

    @strawberry.field(description="The client of the request and its scopes.")
    async def viewer(self, info: AppInfo) -> ViewerType:
        scope = info.context.scope
        scopes = [TokenScope(token_scope) for token_scope in TOKEN_SCOPES if token_scope in TOKEN_SCOPES_ALLOWED[scope]]
        return ViewerType(name=info.context.who or None, scope=TokenScope(scope), scopes=scopes)

    @strawberry.field(
        description="The fleet at an earlier time: its states, and answers for them.",
        graphql_type=Annotated["Query", strawberry.lazy("trninv.graphql.query_root")] | None,
    )
    async def as_of(self, time: TimeArgument) -> Any:  # noqa: ARG002 # Api runs asOf at the root itself
        raise InvalidArgumentError("asOf is nested or repeated; use it at the root of a document, once for each time")

    @strawberry.field(description="Progress of a sweep that startSweep started; null if it does not exist.")
    async def sweep_job(self, info: AppInfo, id: SweepIdArgument) -> SweepJobType | None:  # noqa: A002
        row = await info.context.read(find_sweep, str(id))
        return SweepJobType.from_row(row) if row else None

    @strawberry.field(description="The same questions in a scenario; nothing is written.")
    async def what_if(
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
    async def systems(self) -> list[SystemType]:
        return [SystemType.from_catalog(system) for system in default_systems().systems]

    unclaimed_types = paged_field(
        answer_type(UnclaimedType),
        "EC2 instance types that no model in the catalog claims, of instances without a slot that were "
        "observed in the hour before driftComparedAt, or since. They are never bound and never adopted.",
        health_fields.find_unclaimed_types,
        lambda unclaimed_type: unclaimed_type.type,
    )

    @strawberry.field(description="When trninv drift last compared observations with the design (UTC); null: never.")
    async def drift_compared_at(self, info: AppInfo) -> str | None:
        return await info.context.read(last_comparison_time)

    @strawberry.field(
        description="Number of open high findings of drift on parts that are up, of a place or of all, which no "
        "incident shows."
    )
    async def unapplied_finding_count(self, info: AppInfo, scope: ScopeArgument = None) -> int:
        return len(await info.context.read(list_unapplied_findings, None if scope is None else str(scope)))

    unapplied_findings = paged_field(
        answer_type(RelatedFinding),
        "Open high findings of drift on parts that are up, of a place or of all, which no incident shows, "
        "oldest first.",
        health_fields.find_unapplied_findings,
        lambda finding: str(finding.id),
        (("scope", Address, "Only findings at or below this place."),),
    )

    incidents = paged_field(
        health_fields.IncidentType,
        INCIDENT.list_description,
        health_fields.find_incidents,
        lambda incident: incident.id,
        health_fields.incident_arguments(INCIDENT),
    )

    closed_incidents = paged_field(
        health_fields.ClosedIncidentType,
        CLOSED_INCIDENT.list_description,
        health_fields.find_closed_incidents,
        lambda incident: incident.id,
        health_fields.incident_arguments(CLOSED_INCIDENT),
    )

    @strawberry.field(
        description="Every check of the service's file (TRNINV_CHECKS) with its latest result on the latest state, in "
        "the order of the file; empty before the first evaluation, null without such a file.",
        graphql_type=list_type(answer_type(CheckStatus)) | None,
    )
    async def checks(self, info: AppInfo) -> Any:
        file = info.context.settings.check_results
        report = read_report(file)
        return report.statuses if report else None if file is None else ()

    @strawberry.field(
        description="Every report: trninv's own and those in TRNINV_REPORTS.", graphql_type=list_type(ReportType)
    )
    async def reports(self, info: AppInfo) -> Any:
        return list(report_library.read_reports(info.context.settings.reports).values())

    @strawberry.field(description="Formats that /reports/NAME.FORMAT offers; parquet needs PyArrow.")
    async def report_formats(self) -> list[str]:
        return available_formats()

    @strawberry.field(description="Rows of a report, 10,000 at most.", metadata={"price": ROUTED_COST})
    async def report(self, info: AppInfo, name: ReportNameArgument, values: ValuesArgument = None) -> ReportRowsType:
        definition, context = report_library.find_report(name, info.context.settings.reports), info.context
        return await context.ask(partial(ReportRowsType.run_report, context, definition, parse_values(values)))

    sources = strawberry.field(
        description="Every source.",
        graphql_type=lazy_list("Source"),
        metadata={"compile": compile_listed_root(THINGS["source"])},
    )
