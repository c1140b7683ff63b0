"""The Query type: look-ups, lists, facts, and the routing questions."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Final

import strawberry
from sqlalchemy import Connection
from strawberry.types.field import StrawberryField

from trninv.catalog.models import systems
from trninv.errors import LimitError, UnknownAddressError
from trninv.graphql import bindings, drift, incidents, rows
from trninv.graphql.answers import object_type
from trninv.graphql.arguments import MAX_NUMBER
from trninv.graphql.context import AppInfo, Below
from trninv.graphql.enums import TokenScope
from trninv.graphql.layout import Layout, Narrow, OfDomain
from trninv.graphql.lazy import lazy, lazy_list
from trninv.graphql.pages import Offered, paged
from trninv.graphql.questions import Derating, Holding, Questions, Scenario
from trninv.graphql.reports import Report, ReportName, ReportRows, Values, given
from trninv.graphql.scalars import Address
from trninv.graphql.search import MOST, First, Here, Hit, Text, hits
from trninv.graphql.sweeps import Key, SweepJob, jobs_of
from trninv.graphql.systems import Conflict, System, conflicts_about
from trninv.graphql.things import Located, Node, at_addresses, listed, made
from trninv.inventory.kinds import KINDS
from trninv.inventory.schema import TOKEN_SCOPES, TOKEN_SCOPES_ALLOWED
from trninv.jobs import holding
from trninv.live.findings import compared_at
from trninv.reports import library
from trninv.reports.output import formats
from trninv.routing.question import ROUTED, SCAN


@strawberry.input(description="Two places that links join: each a chip, switch, NIC, network node, or what holds them.")
class Between:
    a: Address = strawberry.field(description="The one place.")
    b: Address = strawberry.field(description="The other place; the same one, for the links inside of it.")


@strawberry.type(description="Who is asking.")
class Viewer:
    name: str | None = strawberry.field(description="Name of the token; null where the service asks for none.")
    scope: Any = strawberry.field(description="What they may do.", graphql_type=TokenScope)
    allows: list[Any] = strawberry.field(
        description="What it includes: whatever wants one of these scopes is allowed, as mutations want OPERATE.",
        graphql_type=list[TokenScope],  # type: ignore[valid-type] # an enum made of a declaration
    )


Time = Annotated[
    str, strawberry.argument(description="An ISO time with its zone (2026-11-22T02:00:00Z), or the number of an event.")
]

LISTS = {
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
"""Lists of the Query type, and their kinds."""


_ABOUT: Final[Sequence[Offered]] = (
    ("subject", str, "Only what is about this part, model or system."),
    ("attribute", str, "Only what gives this number."),
)
_MORE: Final[Mapping[str, Sequence[Offered]]] = {
    "facts": (*_ABOUT, ("disputed", bool, "Whether sources disagree on it; null: either.")),
    "events": (
        ("of", Address, "Only those of this place, of all that it holds and of the links that end there."),
        ("since", str, "None before this time: an ISO time with its zone."),
        ("until", str, "None after this time."),
    ),
    "links": (("between", Between, "Only links that join these two places, in either direction."),),
}
_SAYS: Final = {
    "events": (
        "Every change of a part's state, page by page, the oldest first; last asks for the newest, and after an "
        "endCursor for what has happened since. Within asOf: those that had happened; a whatIf makes none."
    )
}
MAX_JOBS = 100_000
"""Of which a page is taken."""
MAX_IDS = 1_000
"""Of one look-up by ids."""


def _list(name: str) -> StrawberryField:
    kind = KINDS[LISTS[name]]
    says = _SAYS.get(name) or f"Every {kind.name.replace('_', ' ')}, page by page."
    return listed(kind, lambda info, _: Below(info.context, kind), says, _MORE.get(name, ()))


@strawberry.type(description="Ask what the hardware is, how it is wired, and what flows.")
class Query(Questions):
    @strawberry.field(description="A cluster by its name; null if there is none.", graphql_type=lazy("Cluster") | None)
    async def cluster(
        self, info: AppInfo, slug: Annotated[str, strawberry.argument(description="The cluster's name.")]
    ) -> Any:
        row = await info.context.read(rows.cluster, slug)
        return None if row is None else made("cluster", row)

    @strawberry.field(description="Whatever an address names.")
    async def resolve(
        self,
        info: AppInfo,
        address: Annotated[Address, strawberry.argument(description="Of anything; a link's is A--B.")],
    ) -> Located:
        (thing,) = await info.context.read(at_addresses, [address])
        return thing  # type: ignore[no-any-return]

    @strawberry.field(
        description="What a few letters may mean, the likeliest first: an address, here before elsewhere, or the name "
        "of an instance, host, job or report. Nothing is found of no letters.",
        metadata={"price": SCAN},
    )
    async def search(self, info: AppInfo, text: Text, here: Here = None, first: First = MOST) -> list[Hit]:
        return await hits(info.context, text, here, first)

    @strawberry.field(description="Where the parts of a domain are drawn.", metadata={"price": SCAN})
    async def layout(self, info: AppInfo, of: OfDomain, narrow: Narrow = False) -> Layout:
        return await info.context.read(Layout.of, of, narrow)

    @strawberry.field(description="Anything by its id; null if it is not there any more.")
    async def node(
        self,
        info: AppInfo,
        id: Annotated[strawberry.ID, strawberry.argument(description="An id that this API gave out.")],  # noqa: A002
    ) -> Node | None:
        found: list[Node | None] = await info.context.read(_by_ids, [id])
        return found[0]

    @strawberry.field(
        description="Several things by their ids, in the order of the ids; null for each that is not there any more."
    )
    async def nodes(
        self,
        info: AppInfo,
        ids: Annotated[
            list[strawberry.ID], strawberry.argument(description=f"Ids that this API gave out, {MAX_IDS:,} at most.")
        ],
    ) -> list[Node | None]:
        if len(ids) > MAX_IDS:
            raise LimitError(f"nodes: {len(ids):,} ids: ask for at most {MAX_IDS:,} at once")
        return await info.context.read(_by_ids, ids)

    @strawberry.field(description="Who is asking, and what they may do.")
    def viewer(self, info: AppInfo) -> Viewer:
        scope = info.context.scope
        allows = [TokenScope(each) for each in TOKEN_SCOPES if each in TOKEN_SCOPES_ALLOWED[scope]]
        return Viewer(name=info.context.who or None, scope=TokenScope(scope), allows=allows)

    clusters, servers, chips, cores, racks, domains = map(
        _list, ("clusters", "servers", "chips", "cores", "racks", "domains")
    )
    switches, nics, network_nodes, links = map(_list, ("switches", "nics", "network_nodes", "links"))
    facts, events = map(_list, ("facts", "events"))

    @strawberry.field(
        description="Everything as it was at a time: states of parts and links, and what follows from them.",
        graphql_type=Annotated["Query", strawberry.lazy("trninv.graphql.queries")] | None,
    )
    def as_of(self, time: Time) -> Any:  # noqa: ARG002 # the field of a document's root is answered by the API
        raise LimitError("asOf stands at the root of a document: name each time once")

    @strawberry.field(description="How far a sweep is that startSweep began; null if there is none (any more).")
    async def sweep_job(self, info: AppInfo, id: Key) -> SweepJob | None:  # noqa: A002
        found = await info.context.ask(jobs_of(info).find, str(id))
        return SweepJob.of(found) if found else None

    @strawberry.field(description="The same questions on a changed wiring; nothing is written.")
    def what_if(
        self,
        info: AppInfo,
        down: Annotated[
            list[Address] | None, strawberry.argument(description="Places and links that carry nothing.")
        ] = None,
        derate: Annotated[
            list[Derating] | None, strawberry.argument(description="Places and links that carry a part.")
        ] = None,
        with_: Annotated[
            list[Holding] | None,
            strawberry.argument(name="with", description="Jobs that hold places, to questions about placement."),
        ] = None,
        without: Annotated[
            list[str] | None, strawberry.argument(description="Jobs that have ended, to questions about placement.")
        ] = None,
    ) -> Scenario:
        factors: dict[str, float] = {}
        for part in derate or ():
            factors[str(part.address)] = min(part.factor, factors.get(str(part.address), 1.0))
        holds: dict[str, list[str]] = {}
        for each in with_ or ():
            holds.setdefault(each.job, []).extend(map(str, each.places))
        places = [str(address) for address in down or ()]
        return Scenario(fleet=info.context.fleet.what_if(places, factors, with_=holds, without=without or ()))

    @strawberry.field(description="Every system that can be seeded.")
    def systems(self) -> list[System]:
        return [System.of(system) for system in systems().systems]

    conflicts = paged(
        Conflict,
        "Every subject and attribute that documents disagree on.",
        conflicts_about,
        lambda conflict: f"{conflict.subject} {conflict.attribute}",
        _ABOUT,
    )

    unclaimed_types = paged(
        drift.UnclaimedType,
        "The EC2 instance types that no model in the catalog claims, of machines that stand in no slot and were seen "
        "lately: in the hour before comparedAt, or since. They are never bound and never adopted.",
        drift.unclaimed,
        lambda each: each.type,
    )

    drift = paged(
        drift.Finding,
        "Where what machines reported differs from the design, the worst first: as it did at comparedAt, since nothing "
        "is compared here. Run trninv drift after imports.",
        drift.found,
        lambda finding: str(finding.id),
        drift.OFFERED,
    )

    @strawberry.field(
        description="When trninv drift last compared what machines reported with the design (UTC); null: never."
    )
    async def compared_at(self, info: AppInfo) -> str | None:
        return await info.context.read(compared_at)

    bindings = paged(
        bindings.Binding,
        "Which instances stand in which slots, in the order of the slots.",
        bindings.found,
        bindings.cursor,
        bindings.OFFERED,
    )
    incidents = paged(
        incidents.Incident,
        "What is not up, grouped by what brought it about: the worst first, of those the latest.",
        incidents.found,
        lambda incident: incident.id,
        incidents.OFFERED,
    )
    jobs = paged(
        object_type(holding.Job),
        "Jobs that hold chips, the oldest first.",
        lambda _self, info, asked: info.context.read(_jobs, asked.get("of"), asked.get("ended")),
        lambda job: str(job.key),
        (
            ("of", Address, "Only those that hold chips of this place."),
            ("ended", bool, "Whether those that have ended are listed as well."),
        ),
    )

    @strawberry.field(description="Every report: trninv's own, and those of TRNINV_REPORTS.")
    def reports(self, info: AppInfo) -> list[Report]:
        return [Report.of(report) for report in library.reports(info.context.settings.reports).values()]

    @strawberry.field(description="Formats that /reports/NAME.FORMAT has here; parquet needs PyArrow.")
    def report_formats(self) -> list[str]:
        return formats()

    @strawberry.field(description="The rows of a report, 10,000 at most.", metadata={"price": ROUTED})
    async def report(self, info: AppInfo, name: ReportName, values: Values = None) -> ReportRows:
        wanted, context = library.report(name, info.context.settings.reports), info.context
        return await context.ask(partial(ReportRows.read, context, wanted, given(values)))

    @strawberry.field(description="Every source.", graphql_type=lazy_list("Source"))
    async def sources(self, info: AppInfo) -> list[Any]:
        return await _all(info, "source")


def _jobs(connection: Connection, of: str | None, ended: bool | None) -> list[holding.Job]:
    return holding.jobs(connection, of, MAX_JOBS, ended=bool(ended))


async def _all(info: AppInfo, kind: str) -> list[Any]:
    return [made(kind, row) for row in await info.context.read(rows.everything, KINDS[kind])]


def _by_ids(connection: Connection, ids: Sequence[str]) -> list[Any]:
    """Things by their ids, None for what is not there: a statement a kind."""
    wanted = [opened(each) for each in ids]
    keys = defaultdict(set)
    for kind, key in wanted:
        keys[kind].add(key)
    found = {kind: rows.by_ids(connection, KINDS[kind], sorted(keys[kind])) for kind in keys}
    return [made(kind, found[kind][key]) if key in found[kind] else None for kind, key in wanted]


def opened(opaque: str) -> tuple[str, int]:
    """Kind and number of an id.

    Raises
    ------
    UnknownAddressError
        It is no id of this API.

    """
    kind, _, key = opaque.partition(":")
    if kind in KINDS and KINDS[kind].is_node and key.isdecimal() and key.isascii() and int(key[:20]) <= MAX_NUMBER:
        return kind, int(key)
    raise UnknownAddressError(f"{opaque[:40]!r} is not an id of this API")
