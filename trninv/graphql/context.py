"""What one request shares: the fleet, and loaders that turn many small look-ups into one statement each.

Every statement and every routing question runs in a worker thread, so that the event loop stays free.
"""

from collections.abc import Callable, Hashable, Sequence, Sized
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from sqlalchemy import Connection, Table, select
from strawberry.dataloader import DataLoader

from trninv.errors import CostLimitError
from trninv.inventory import listing
from trninv.inventory.database import reading
from trninv.inventory.schema import TABLES
from trninv.routing.fleet import Fleet

T = TypeVar("T")
Row = listing.Row

MAX_THREADS = 8
"""Threads of one process that read the inventory; each holds a connection, as each that routes, of a pool of 15."""

MAX_ROUTING_THREADS = 4

MAX_OBJECTS = 20_000
"""Items of lists that one request may ask for, however nested."""

MAX_QUESTIONS = 20
"""Routing questions of one request."""


class Threads:
    """Where a process runs what blocks: a slow question leaves room for look-ups."""

    def __init__(self) -> None:
        self.reading = CapacityLimiter(MAX_THREADS)
        self.routing = CapacityLimiter(MAX_ROUTING_THREADS)


class Context:
    """One request's view; loaders live as long as the request."""

    def __init__(self, fleet: Fleet, threads: Threads) -> None:
        self.fleet = fleet
        self._threads = threads
        self._loaders: dict[Hashable, DataLoader[Any, Any]] = {}
        self._objects, self._questions = MAX_OBJECTS, MAX_QUESTIONS

    async def ask(self, question: Callable[..., T], *args: Any) -> T:  # noqa: ANN401 # passed on
        """Run a routing question in a thread."""
        self._questions -= 1
        if self._questions < 0:
            raise CostLimitError(f"one request may ask {MAX_QUESTIONS} routing questions: ask the others in another")
        return await to_thread.run_sync(question, *args, limiter=self._threads.routing)

    async def read(self, query: Callable[..., T], *args: Any) -> T:  # noqa: ANN401 # passed on
        """Run what reads through a connection in a thread."""

        def run() -> T:
            with reading(self.fleet.engine) as connection:
                return query(connection, *args)

        return await to_thread.run_sync(run, limiter=self._threads.reading)

    def spend(self, items: Sized) -> None:
        """Count the items of a list; refuses the request that asks for more than MAX_OBJECTS."""
        self._objects -= len(items)
        if self._objects < 0:
            raise CostLimitError(f"more than {MAX_OBJECTS:,} objects in one answer: nest less, or page with first")

    async def row(self, kind: str, key: int) -> Row:
        """A row of the inventory by its kind and id."""
        found: Row = await self._loader((kind,), lambda keys: self._in_order(listing.by_ids, keys, kind)).load(key)
        return found

    async def model(self, table: str, key: int) -> Row:
        """A row of a plain table by its id: a model, a fact, a source, a tray."""
        found: Row = await self._loader((table, "row"), lambda keys: self._in_order(_rows, keys, TABLES[table])).load(
            key
        )
        return found

    async def end(self, node: int) -> tuple[str, Row]:
        """A node by its id: its kind, and its row of that kind."""
        kind = (await self.model("node", node))["kind"]
        return kind, await self.row(kind, node)

    async def children(self, kind: str, parent: str, key: int, first: int, after: int) -> list[Row]:
        """A page of what is below a parent."""

        async def load(keys: Sequence[int]) -> list[list[Row]]:
            pages = await self.read(listing.pages_of, kind, parent, list(keys), first, after)
            return [pages[key] for key in keys]

        found: list[Row] = await self._loader((kind, parent, first, after), load).load(key)
        self.spend(found)
        return found

    async def size(self, kind: str, parent: str, key: int) -> int:
        """How many of a kind are below a parent."""

        async def load(keys: Sequence[int]) -> list[int]:
            sizes = await self.read(listing.counts_of, kind, parent, list(keys))
            return [sizes[key] for key in keys]

        found: int = await self._loader((kind, parent, "size"), load).load(key)
        return found

    async def facts_about(self, key: tuple[str, str | None]) -> list[Row]:
        """Facts of a subject, or of one attribute of it, the picked one first."""
        found: list[Row] = await self._loader(("facts",), self._facts).load(key)
        self.spend(found)
        return found

    async def _facts(self, keys: Sequence[tuple[str, str | None]]) -> list[list[Row]]:
        subjects = sorted({subject for subject, _ in keys})
        rows = await self.read(_facts_of, subjects)
        return [
            [row for row in rows if row["subject"] == subject and attribute in (None, row["attribute"])]
            for subject, attribute in keys
        ]

    async def _in_order(self, query: Callable[..., dict[int, T]], keys: Sequence[int], *args: Any) -> list[T]:  # noqa: ANN401
        found = await self.read(lambda connection: query(connection, *args, list(keys)))
        return [found[key] for key in keys]

    def _loader(self, key: Hashable, load: Callable[[Sequence[Any]], Any]) -> DataLoader[Any, Any]:
        if key not in self._loaders:
            self._loaders[key] = DataLoader(load_fn=load)
        return self._loaders[key]


def _rows(connection: Connection, table: Table, keys: Sequence[int]) -> dict[int, Row]:
    return {row["id"]: row for row in connection.execute(select(table).where(table.c.id.in_(keys))).mappings()}


def _facts_of(connection: Connection, subjects: Sequence[str]) -> list[Row]:
    fact = TABLES["fact"]
    query = select(fact).where(fact.c.subject.in_(subjects))
    return list(connection.execute(query.order_by(fact.c.subject, fact.c.attribute, fact.c.preference)).mappings())
