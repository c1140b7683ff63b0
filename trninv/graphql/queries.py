"""The Query type: look-ups, lists, facts, and the routing questions."""

from functools import partial
from typing import Annotated, Any

import strawberry

from trninv.catalog.models import systems
from trninv.errors import UnknownAddressError
from trninv.graphql import rows
from trninv.graphql.arguments import MAX_NUMBER
from trninv.graphql.context import AppInfo, Below
from trninv.graphql.layout import Layout, OfDomain
from trninv.graphql.lazy import lazy, lazy_list
from trninv.graphql.questions import Derating, Questions, Scenario
from trninv.graphql.reports import Report, ReportName, ReportRows, Values, given
from trninv.graphql.scalars import Address
from trninv.graphql.systems import Conflict, System, conflicts
from trninv.graphql.types import Located, Node, listed, made
from trninv.inventory.address import resolve, resolve_link
from trninv.inventory.kinds import KINDS
from trninv.reports import library
from trninv.reports.reader import find

LISTS = {
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
}
"""Lists of the Query type, and their kinds."""


def _list(name: str) -> Any:  # noqa: ANN401 # a field of strawberry
    kind = KINDS[LISTS[name]]
    return listed(kind, lambda info, _: Below(info.context, kind), f"Every {kind.name.replace('_', ' ')}.")


@strawberry.type(description="Ask what the hardware is, how it is wired, and what flows.")
class Query(Questions):
    @strawberry.field(description="A cluster by its name; null if there is none.", graphql_type=lazy("Cluster") | None)
    async def cluster(self, info: AppInfo, slug: str) -> Any:  # noqa: ANN401
        return next((found for found in await _all(info, "cluster") if found.row["slug"] == slug), None)

    @strawberry.field(description="Every cluster.", graphql_type=lazy_list("Cluster"))
    async def clusters(self, info: AppInfo) -> list[Any]:
        return await _all(info, "cluster")

    @strawberry.field(description="Whatever an address names; a link as A--B.")
    async def resolve(self, info: AppInfo, address: Address) -> Located:
        place = await info.context.read(resolve_link if "--" in address else resolve, address)
        return made(place.level, await info.context.row(place.level, place.id))  # type: ignore[no-any-return]

    @strawberry.field(description="Where the parts of a domain are drawn.")
    async def layout(self, info: AppInfo, of: OfDomain) -> Layout:
        return await info.context.read(Layout.of, of)

    @strawberry.field(description="Anything by its id; null if it is not there any more.")
    async def node(self, info: AppInfo, id: strawberry.ID) -> Node | None:  # noqa: A002 # Relay's name
        kind, key = opened(id)
        row = (await info.context.read(rows.by_ids, KINDS[kind], [key])).get(key)
        return None if row is None else made(kind, row)

    servers, chips, cores, racks, domains = map(_list, ("servers", "chips", "cores", "racks", "domains"))
    switches, nics, network_nodes, links = map(_list, ("switches", "nics", "network_nodes", "links"))
    facts = _list("facts")

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
    ) -> Scenario:
        factors: dict[str, float] = {}
        for each in derate or ():
            factors[str(each.address)] = min(each.factor, factors.get(str(each.address), 1.0))
        return Scenario(fleet=info.context.fleet.what_if([str(address) for address in down or ()], factors))

    @strawberry.field(description="Every system that can be seeded.")
    def systems(self) -> list[System]:
        return [System.of(system) for system in systems().systems]

    @strawberry.field(description="Every subject and attribute that documents disagree on.")
    async def conflicts(self, info: AppInfo) -> list[Conflict]:
        return await info.context.read(conflicts)

    @strawberry.field(description="Every report: trninv's own, and those of TRNINV_REPORTS.")
    def reports(self, info: AppInfo) -> list[Report]:
        return [Report.of(report) for report in library.reports(info.context.settings.reports).values()]

    @strawberry.field(description="The rows of a report, 10,000 at most.")
    async def report(self, info: AppInfo, name: ReportName, values: Values = None) -> ReportRows:
        context = info.context
        sql = library.report(name, context.settings.reports).sql(context.fleet.engine.dialect.name, given(values))
        seconds = context.settings.request_seconds
        return ReportRows.of(await context.ask(partial(find, context.fleet.engine, sql, seconds=seconds)))

    @strawberry.field(description="Every source.", graphql_type=lazy_list("Source"))
    async def sources(self, info: AppInfo) -> list[Any]:
        return await _all(info, "source")


async def _all(info: AppInfo, kind: str) -> list[Any]:
    return [made(kind, row) for row in await info.context.read(rows.everything, KINDS[kind])]


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
