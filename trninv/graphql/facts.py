"""Types of the catalog: sources, facts, conflicts, systems."""

import strawberry
from strawberry.types import Info

from trninv.catalog.facts import catalog, render
from trninv.catalog.models import System as CatalogSystem
from trninv.graphql.context import Context, Row
from trninv.graphql.scalars import BigInt

AppInfo = Info[Context, None]


@strawberry.type(description="A document, or what else a number comes from.")
class Source:
    slug: str = strawberry.field(description="Short name.")
    title: str = strawberry.field(description="Title.")
    publisher: str = strawberry.field(description="Who published it.")
    date: str | None = strawberry.field(description="When, as precisely as is known.")
    kind: str = strawberry.field(
        description="seed, vendor, driver, third_party or assumed: the order of the default pick."
    )
    note: str | None = strawberry.field(description="What else there is to know of it.")

    @classmethod
    def of(cls, row: Row) -> "Source":
        return cls(**{name: row[name] for name in ("slug", "title", "publisher", "date", "kind", "note")})


@strawberry.type(description="One number as one document gives it.")
class Fact:
    row: strawberry.Private[Row]

    @strawberry.field(description="What it is about: a chip, system, link model, …")
    def subject(self) -> str:
        return str(self.row["subject"])

    @strawberry.field(description="Which of its numbers.")
    def attribute(self) -> str:
        return str(self.row["attribute"])

    @strawberry.field(description="The exact value for people, bandwidths of one direction.")
    def value(self) -> str:
        exact = self.row["value"]
        return str(self.row["written"]) if exact is None else render(exact, self.row["dimension"])

    @strawberry.field(description="The exact value in base units: bytes, bytes per second, 10⁹ operations per second.")
    def exact(self) -> BigInt | None:
        return self.row["value"]  # type: ignore[no-any-return]

    @strawberry.field(description="Value and unit as written; of a derived fact (see formula) its result.")
    def written(self) -> str:
        return f"{self.row['written']} {self.row['unit']}".rstrip()

    @strawberry.field(description="The document's words.")
    def quote(self) -> str:
        return str(self.row["quote"])

    @strawberry.field(description="Unit it is read in, where that is not the one written.")
    def reading_unit(self) -> str | None:
        return self.row["reading_unit"]  # type: ignore[no-any-return]

    @strawberry.field(description="Whether one direction is written, or the sum of both.")
    def reading_direction(self) -> str | None:
        return self.row["reading_direction"]  # type: ignore[no-any-return]

    @strawberry.field(description="Why it is read so.")
    def grounds(self) -> str | None:
        return self.row["grounds"]  # type: ignore[no-any-return]

    @strawberry.field(description="How a derived fact follows from others.")
    def formula(self) -> str | None:
        return self.row["formula"]  # type: ignore[no-any-return]

    @strawberry.field(description="Whether it is the one that counts among those of its subject and attribute.")
    def picked(self) -> bool:
        return bool(self.row["preference"] == 0)

    @strawberry.field(description="Whether sources disagree on it or on what it follows from.")
    def disputed(self) -> bool:
        return bool(self.row["disputed"])

    @strawberry.field(description="How to read the disagreement.")
    def note(self) -> str | None:
        return self.row["note"]  # type: ignore[no-any-return]

    @strawberry.field(description="Whether no document says so.")
    async def assumed(self, info: AppInfo) -> bool:
        source = await info.context.model("source", self.row["source_id"])
        return bool(source["kind"] == "assumed")

    @strawberry.field(description="Who says so.")
    async def source(self, info: AppInfo) -> Source:
        return Source.of(await info.context.model("source", self.row["source_id"]))

    @strawberry.field(description="What other sources say of the same.")
    async def others(self, info: AppInfo) -> list["Fact"]:
        rows = await info.context.facts_about((self.row["subject"], self.row["attribute"]))
        return [Fact(row=row) for row in rows if row["id"] != self.row["id"]]


@strawberry.type(description="Facts of one subject and attribute that disagree.")
class Conflict:
    subject: str = strawberry.field(description="What they are about.")
    attribute: str = strawberry.field(description="Which number.")
    note: str | None = strawberry.field(description="How to read them.")
    facts: list[Fact] = strawberry.field(description="All of them, the picked one first.")

    @strawberry.field(description="The one that counts.")
    def picked(self) -> Fact:
        return self.facts[0]


@strawberry.type(description="Something that can be seeded.")
class System:
    slug: str = strawberry.field(description="Name to seed it by.")
    name: str = strawberry.field(description="What it is.")
    aliases: list[str] = strawberry.field(description="Other names it answers to.")
    chips: int = strawberry.field(description="Chips in all.")
    servers: int = strawberry.field(description="Servers in all.")
    domains: int = strawberry.field(description="Scale-up domains.")
    sources: list[Source] = strawberry.field(description="Documents that it rests on.")

    @classmethod
    def of(cls, system: CatalogSystem) -> "System":
        return cls(
            slug=system.slug,
            name=system.name,
            aliases=list(system.aliases),
            chips=system.chips,
            servers=system.servers,
            domains=system.domains,
            sources=[
                Source(slug=s.slug, title=s.title, publisher=s.publisher, date=s.date, kind=s.kind, note=s.note)
                for s in system.sources(catalog())
            ],
        )
