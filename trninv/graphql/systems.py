"""What can be seeded, from the catalog; and what documents disagree on."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import strawberry
from sqlalchemy import Connection as Database
from sqlalchemy import RowMapping

from trninv.catalog.facts import catalog
from trninv.catalog.models import System as CatalogSystem
from trninv.graphql.arguments import Asked
from trninv.graphql.context import AppInfo
from trninv.graphql.enums import Disagreement
from trninv.graphql.lazy import lazy, lazy_list
from trninv.graphql.things import made
from trninv.inventory.fields import rows
from trninv.inventory.kinds import KINDS
from trninv.inventory.schema import TABLES


@strawberry.type(description="Facts of one subject and attribute that disagree.")
class Conflict:
    subject: str = strawberry.field(description="The part, model or system that they are about.")
    attribute: str = strawberry.field(description="Which of its numbers they give.")
    differs_in: Any = strawberry.field(description="What they differ in.", graphql_type=Disagreement)
    note: str | None = strawberry.field(description="How to read them.")
    facts: list[Any] = strawberry.field(
        description="All of them, the picked one first.", graphql_type=lazy_list("Fact")
    )

    @strawberry.field(description="The one that counts.", graphql_type=lazy("Fact"))
    def picked(self) -> Any:
        return self.facts[0]


@strawberry.type(description="Something that can be seeded.")
class System:
    slug: str = strawberry.field(description="Name to seed it by.")
    name: str = strawberry.field(description="What it is.")
    aliases: list[str] = strawberry.field(description="Other names it answers to.")
    chips: int = strawberry.field(description="Chips in all.")
    servers: int = strawberry.field(description="Servers in all.")
    domains: int = strawberry.field(description="Scale-up domains.")
    sources: list[Any] = strawberry.field(description="Documents that it rests on.", graphql_type=lazy_list("Source"))

    @classmethod
    def of(cls, system: CatalogSystem) -> "System":
        """A system of the catalog."""
        named = {name: getattr(system, name) for name in ("slug", "name", "chips", "servers", "domains")}
        sources: list[Any] = [made("source", asdict(source)) for source in system.sources(catalog())]
        return cls(**named, aliases=list(system.aliases), sources=sources)


async def conflicts_about(_: object, info: AppInfo, given: Mapping[str, Any]) -> list[Conflict]:
    """The conflicts about a subject, an attribute, or both.

    Raises
    ------
    FilterError
        No fact is about it.

    """
    wanted = {name: given[name] for name in ("subject", "attribute") if given.get(name) is not None}
    Asked.of(KINDS["fact"], wanted)
    found = await info.context.read(conflicts)
    return [each for each in found if all(getattr(each, name) == value for name, value in wanted.items())]


def conflicts(connection: Database) -> list[Conflict]:
    """Every subject and attribute that documents disagree on, or that must be read otherwise than it is written."""
    fact = TABLES["fact"]
    query = rows(KINDS["fact"]).where(fact.c.differs_in.is_not(None)).order_by(fact.c.id)
    groups: dict[tuple[str, str], list[RowMapping]] = {}
    for row in connection.execute(query).mappings():
        groups.setdefault((row["subject"], row["attribute"]), []).append(row)
    return [
        Conflict(
            subject=subject,
            attribute=attribute,
            differs_in=Disagreement(found[0]["differs_in"]),
            note=found[0]["note"],
            facts=[made("fact", row) for row in found],
        )
        for (subject, attribute), found in groups.items()
    ]
