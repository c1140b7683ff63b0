"""The Query type: look-ups, lists, facts, and the four questions."""

from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

import strawberry
from sqlalchemy import ColumnElement, Select, Text, cast, func, select
from sqlalchemy import Connection as Database

from trninv.catalog.models import systems
from trninv.errors import FilterError, UnknownAddressError
from trninv.graphql.connections import DEFAULT_PAGE, Connection, opened, window
from trninv.graphql.facts import AppInfo, Conflict, Fact, Source, System
from trninv.graphql.inventory import (
    BY_KIND,
    After,
    Chip,
    Cluster,
    Core,
    First,
    Link,
    Located,
    Nic,
    Node,
    Rack,
    Server,
    Switch,
)
from trninv.graphql.questions import Derating, Questions, Scenario
from trninv.graphql.scalars import Address
from trninv.inventory import listing
from trninv.inventory.address import resolve, resolve_link
from trninv.inventory.schema import TABLES

T = TypeVar("T", bound=Node)

MAX_VALUES = 100
"""Addresses that one filter may name."""


@strawberry.input(description="Which containing place: one address, or any of several.")
class AddressFilter:
    eq: strawberry.Maybe[Address]
    in_: strawberry.Maybe[list[Address]] = strawberry.field(name="in")

    def addresses(self) -> list[str]:
        """Every address named; both fields together must hold, so both given is refused as unclear."""
        if bool(self.eq) == bool(self.in_):
            raise FilterError("an address filter has either eq or in")
        named = [self.eq.value] if self.eq else list(self.in_.value) if self.in_ else []
        if len(named) > MAX_VALUES:
            raise FilterError(f"in: {len(named)} addresses: name at most {MAX_VALUES}")
        return [str(address) for address in named]


@strawberry.input(description="What contains the things listed; every field given must hold.")
class WithinFilter:
    cluster: strawberry.Maybe[AddressFilter]
    domain: strawberry.Maybe[AddressFilter]
    server: strawberry.Maybe[AddressFilter]
    rack: strawberry.Maybe[AddressFilter]

    def given(self) -> dict[str, list[str]]:
        pairs = {"cluster": self.cluster, "domain": self.domain, "server": self.server, "rack": self.rack}
        return {level: some.value.addresses() for level, some in pairs.items() if some and some.value is not None}


Filter = Annotated[WithinFilter | None, strawberry.argument(description="Only those within these places.")]


def _where(connection: Database, kind: str, given: dict[str, list[str]]) -> list[ColumnElement[bool]]:
    """Conditions of a filter; a level that the kind is never within, or another level's address, is refused."""
    within = listing.LISTINGS[kind].within
    conditions: list[ColumnElement[bool]] = []
    for level, addresses in given.items():
        if level not in within:
            raise FilterError(f"{kind}s are not listed by {level}: filter by {', '.join(within)}")
        places = [resolve(connection, address) for address in addresses]
        if wrong := next((place for place in places if place.level != level), None):
            raise FilterError(f"{wrong.address} is a {wrong.level}, not a {level}")
        conditions.append(within[level].in_([place.id for place in places]))
    return conditions


async def _list(
    info: AppInfo, kind: str, make: type[T], within: WithinFilter | None, first: int, after: str | None
) -> Connection[T]:
    size, start = window(first, after)
    given = within.given() if within else {}

    def page(connection: Database) -> tuple[list[listing.Row], Sequence[ColumnElement[bool]]]:
        where = _where(connection, kind, given)
        return listing.page(connection, kind, where, size, start), where

    rows, where = await info.context.read(page)
    return Connection.of(
        rows, lambda row: make(row=row), size, start, lambda: info.context.read(listing.count, kind, where)
    )


@strawberry.type(description="Ask what the hardware is, how it is wired, and what flows.")
class Query(Questions):
    @strawberry.field(description="A cluster by its name; null if there is none.")
    async def cluster(self, info: AppInfo, slug: str) -> Cluster | None:
        return next((found for found in await _clusters(info) if found.row["slug"] == slug), None)

    @strawberry.field(description="Every cluster.")
    async def clusters(self, info: AppInfo) -> list[Cluster]:
        return await _clusters(info)

    @strawberry.field(description="Whatever an address names; a link as A--B.")
    async def resolve(self, info: AppInfo, address: Address) -> Located:
        place = await info.context.read(resolve_link if "--" in address else resolve, address)
        return BY_KIND[place.level](row=await info.context.row(place.level, place.id))

    @strawberry.field(description="Anything by its id; null if it is not there any more.")
    async def node(self, info: AppInfo, id: strawberry.ID) -> Node | None:  # noqa: A002 # Relay's name
        kind, key = _node_key(id)
        row = (await info.context.read(listing.by_ids, kind, [key])).get(key)
        return None if row is None else BY_KIND[kind](row=row)

    @strawberry.field(description="Servers, by id.")
    async def servers(
        self,
        info: AppInfo,
        filter: Filter = None,  # noqa: A002
        first: First = DEFAULT_PAGE,
        after: After = None,
    ) -> Connection[Server]:
        return await _list(info, "server", Server, filter, first, after)

    @strawberry.field(description="Chips, by id.")
    async def chips(
        self,
        info: AppInfo,
        filter: Filter = None,  # noqa: A002
        first: First = DEFAULT_PAGE,
        after: After = None,
    ) -> Connection[Chip]:
        return await _list(info, "chip", Chip, filter, first, after)

    @strawberry.field(description="Physical NeuronCores, by id.")
    async def cores(
        self,
        info: AppInfo,
        filter: Filter = None,  # noqa: A002
        first: First = DEFAULT_PAGE,
        after: After = None,
    ) -> Connection[Core]:
        return await _list(info, "core", Core, filter, first, after)

    @strawberry.field(description="Racks, by id.")
    async def racks(
        self,
        info: AppInfo,
        filter: Filter = None,  # noqa: A002
        first: First = DEFAULT_PAGE,
        after: After = None,
    ) -> Connection[Rack]:
        return await _list(info, "rack", Rack, filter, first, after)

    @strawberry.field(description="Switches, by id.")
    async def switches(
        self,
        info: AppInfo,
        filter: Filter = None,  # noqa: A002
        first: First = DEFAULT_PAGE,
        after: After = None,
    ) -> Connection[Switch]:
        return await _list(info, "switch", Switch, filter, first, after)

    @strawberry.field(description="EFA devices, by id.")
    async def nics(
        self,
        info: AppInfo,
        filter: Filter = None,  # noqa: A002
        first: First = DEFAULT_PAGE,
        after: After = None,
    ) -> Connection[Nic]:
        return await _list(info, "nic", Nic, filter, first, after)

    @strawberry.field(description="Links, by id.")
    async def links(
        self,
        info: AppInfo,
        filter: Filter = None,  # noqa: A002
        first: First = DEFAULT_PAGE,
        after: After = None,
    ) -> Connection[Link]:
        return await _list(info, "link", Link, filter, first, after)

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

    @strawberry.field(description="What the documents say, by subject and attribute, the picked fact first.")
    async def facts(
        self,
        info: AppInfo,
        subject: Annotated[str | None, strawberry.argument(description="Only about this.")] = None,
        attribute: Annotated[str | None, strawberry.argument(description="Only this number.")] = None,
        disputed: Annotated[bool | None, strawberry.argument(description="Only disputed ones, or only others.")] = None,
        first: First = DEFAULT_PAGE,
        after: After = None,
    ) -> Connection[Fact]:
        size, start = window(first, after)
        fact = TABLES["fact"]
        given = {"subject": subject, "attribute": attribute, "disputed": disputed}
        for name in (subject, attribute):
            if name is not None and not name.isprintable():
                raise FilterError(f"{name[:40]!a} can't be a subject or attribute")
        query = select(fact).where(*(fact.c[name] == value for name, value in given.items() if value is not None))
        rows = await info.context.read(_rows, query.where(fact.c.id > start).order_by(fact.c.id).limit(size + 1))
        count = query.with_only_columns(func.count())
        return Connection.of(rows, lambda row: Fact(row=row), size, start, lambda: info.context.read(_count, count))

    @strawberry.field(description="Every subject and attribute that documents disagree on.")
    async def conflicts(self, info: AppInfo) -> list[Conflict]:
        fact = TABLES["fact"]
        said = func.coalesce(cast(fact.c.value, Text), fact.c.written)
        differs = (func.count(said.distinct()) > 1) | ((func.count() > 1) & (func.count(fact.c.reading_unit) > 0))
        rivals = (
            select(fact.c.subject, fact.c.attribute)
            .group_by(fact.c.subject, fact.c.attribute)
            .having(differs)
            .subquery()
        )
        query = select(fact).join(
            rivals, (rivals.c.subject == fact.c.subject) & (rivals.c.attribute == fact.c.attribute)
        )
        groups: dict[tuple[str, str], list[Fact]] = {}
        for row in await info.context.read(_rows, query.order_by(fact.c.id)):
            groups.setdefault((row["subject"], row["attribute"]), []).append(Fact(row=row))
        return [
            Conflict(subject=subject, attribute=attribute, note=facts[0].row["note"], facts=facts)
            for (subject, attribute), facts in groups.items()
        ]

    @strawberry.field(description="Every source.")
    async def sources(self, info: AppInfo) -> list[Source]:
        source = TABLES["source"]
        return [Source.of(row) for row in await info.context.read(_rows, select(source).order_by(source.c.id))]


async def _clusters(info: AppInfo) -> list[Cluster]:
    everything = listing.LISTINGS["cluster"]
    return [Cluster(row=row) for row in await info.context.read(_rows, everything.query.order_by(everything.key))]


def _rows(connection: Database, query: Select[Any]) -> list[listing.Row]:
    return list(connection.execute(query).mappings())


def _count(connection: Database, query: Select[Any]) -> int:
    return int(connection.scalar(query) or 0)


def _node_key(opaque: str) -> tuple[str, int]:
    try:
        kind, key = opened(opaque)
        if kind in BY_KIND:
            return kind, key
    except ValueError:
        pass
    raise UnknownAddressError(f"{opaque[:40]!r} is not an id of this API")
