"""What one request shares: the fleet, and loaders that turn many small look-ups into one statement each.

Every statement and every routing question runs in a worker thread, so that the event loop stays free.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, TypeVar

from sqlalchemy import Connection, Engine, select
from strawberry.dataloader import DataLoader
from strawberry.types import Info

from trninv.graphql import rows
from trninv.graphql.arguments import Asked
from trninv.graphql.jobs import Jobs
from trninv.graphql.rows import Row
from trninv.graphql.workers import PREPARING, READING, ROUTING, STATES, WRITING, Loops, Places, Workers
from trninv.inventory.fields import Kind, Many
from trninv.inventory.fields import rows as rows_of
from trninv.inventory.kinds import KINDS
from trninv.inventory.schema import TABLES
from trninv.routing.fleet import Fleet
from trninv.settings import Settings

T = TypeVar("T")


class Threads:
    """The threads of a process: a slow question leaves room for look-ups, and both for what is yet to be checked."""

    def __init__(self) -> None:
        self.reading, self.routing, self.preparing = Workers(READING), Workers(ROUTING), Workers(PREPARING)
        self.writing = Workers(WRITING)
        self.states, self.loops = Places(STATES), Loops()


class Context:
    """One request's view: a fleet in one state; loaders live as long as the request."""

    made: ClassVar[Callable[[str, Row], Any]]
    """Makes an object of a row; trninv.graphql.things has the types."""

    login: Engine | None = None
    """On PostgreSQL, what reports are read with, if not a connection of the fleet's."""

    jobs: Jobs | None = None
    """The sweeps of a service."""

    def __init__(self, fleet: Fleet, settings: Settings, threads: Threads, who: str = "", scope: str = "admin") -> None:
        self.fleet, self.settings, self.who, self.scope = fleet, settings, who, scope
        self._threads = threads
        self._loaders: dict[Hashable, DataLoader[Any, Any]] = {}

    async def ask(self, question: Callable[..., T], *args: Any, **named: Any) -> T:
        """Run a routing question in a thread; it stops at its next look at the clock when nobody waits any more."""
        asked = partial(question, *args, **named)
        return await self._threads.routing.run(asked)

    async def write(self, change: Callable[[], T]) -> T:
        """Run what writes in a thread, to its end; what is read afterwards has it."""

        def run() -> T:
            self.fleet.renew()
            made = change()
            self.fleet.revision()  # what is read from now on
            return made

        self._loaders.clear()
        return await self._threads.writing.run(run, to_end=True)

    async def read(self, query: Callable[..., T], *args: Any) -> T:
        """Run what reads through a connection in a thread."""

        def run() -> T:
            with self.fleet.reading() as connection:
                return query(connection, *args)

        return await self._threads.reading.run(run)

    async def row(self, kind: str, key: int) -> Row:
        """A thing by its kind and id."""

        def query(connection: Connection, keys: Sequence[int]) -> list[Row]:
            found = rows.by_ids(connection, KINDS[kind], keys)
            return [found[key] for key in keys]

        found: Row = await self.load((kind,), query, key)
        return found

    async def kind_of(self, node: int) -> str:
        """What kind of thing a node is."""

        def query(connection: Connection, keys: Sequence[int]) -> list[str]:
            table = TABLES["node"]
            found = {row.id: row.kind for row in connection.execute(select(table).where(table.c.id.in_(keys)))}
            return [found[key] for key in keys]

        found: str = await self.load(("kind of node",), query, node)
        return found

    async def fact(self, subject: str, attribute: str) -> Row | None:
        """The fact that counts, if there is one."""

        def query(connection: Connection, keys: Sequence[tuple[str, str]]) -> list[Row | None]:
            table = TABLES["fact"]
            about = table.c.subject.in_({subject for subject, _ in keys})
            query = rows_of(KINDS["fact"]).where(about, table.c.preference == 0)
            found = {(row["subject"], row["attribute"]): row for row in connection.execute(query).mappings()}
            return [found.get(key) for key in keys]

        found: Row | None = await self.load(("fact",), query, (subject, attribute))
        return found

    async def load(self, loader: Hashable, query: Callable[[Connection, Sequence[Any]], list[Any]], key: Any) -> Any:
        """What a query finds for a key, asked for together with the other keys of its loader."""
        if loader not in self._loaders:

            async def load(keys: list[Any]) -> list[Any]:
                return await self.read(query, keys)

            self._loaders[loader] = DataLoader(load_fn=load)
        return await self._loaders[loader].load(key)


AppInfo = Info[Context, None]


@dataclass(frozen=True, slots=True)
class Below:
    """A list: of a kind, below a parent, of some ids, or of all.

    Attributes
    ----------
    size
        How many there are in all, where that is known.

    """

    context: Context
    kind: Kind
    among: rows.Among = None
    parent: Any = 0
    size: int | None = None

    async def page(self, asked: Asked) -> list[Row]:
        """Its rows in the direction in which the page is read, with one more where there is another page."""
        found: list[Row] = await self._load("page", asked, partial(rows.pages, asked=asked))
        return found

    async def count(self, asked: Asked) -> int:
        """How many there are on all pages."""
        if self.size is not None and not asked.tests:
            return self.size
        number: int = await self._load("count", asked, partial(rows.counts, asked=asked))
        return number

    async def sums(self, asked: Asked, by: tuple[str, ...]) -> list[Row]:
        """Counts and sums, group by group."""
        found: list[Row] = await self._load(f"sums {by}", asked, partial(rows.sums, asked=asked, by=by))
        return found

    async def all(self) -> list[Row]:
        """All its rows, of lists without pages."""
        found: list[Row] = await self._load("all", None, rows.all_below)
        return found

    async def _load(self, what: str, asked: Asked | None, query: Callable[..., dict[Any, Any]]) -> Any:
        def run(connection: Connection, keys: Sequence[Any]) -> list[Any]:
            found = query(connection, self.kind, self.among, list(keys))
            return [found[key] for key in keys]

        among = id(self.among) if isinstance(self.among, Many) else self.among
        return await self.context.load((what, self.kind.name, among, repr(asked)), run, self.parent)
