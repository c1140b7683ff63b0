"""Share the fleet, threads and batching loaders among the resolvers of one request.

Every statement and every routing question runs in a worker thread, so that the event loop stays free.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, TypeVar

from sqlalchemy import Connection, Engine, select
from strawberry.dataloader import DataLoader
from strawberry.types import Info

from trninv.database.tables import TABLES
from trninv.graphql import row_loaders
from trninv.graphql.list_arguments import ListArguments
from trninv.graphql.row_loaders import Row
from trninv.graphql.sweep_store import SweepStore
from trninv.graphql.worker_pools import (
    MAX_PREPARING,
    MAX_READING,
    MAX_ROUTING,
    MAX_SNAPSHOTS,
    MAX_WRITING,
    FairLimiter,
    LoopPool,
    WorkerPool,
)
from trninv.inventory.schema.thing import RelatedList, Thing
from trninv.inventory.schema.thing import select_thing as rows_of
from trninv.inventory.schema.things import THINGS
from trninv.routing.fleet import BaseFleet
from trninv.settings import Settings

T = TypeVar("T")


class ThreadPools:
    """Thread pools of a process, separate so that slow questions block neither look-ups nor validation."""

    def __init__(self) -> None:
        self.reading, self.routing, self.preparing = (
            WorkerPool(MAX_READING),
            WorkerPool(MAX_ROUTING),
            WorkerPool(MAX_PREPARING),
        )
        self.writing = WorkerPool(MAX_WRITING)
        self.states, self.loops = FairLimiter(MAX_SNAPSHOTS), LoopPool()

    def close(self) -> None:
        """End all threads."""
        for pool in (self.reading, self.routing, self.preparing, self.writing, self.loops):
            pool.close()


class RequestContext:
    """Context of one request: a snapshot of the fleet, and loaders that batch and cache its look-ups."""

    to_object: ClassVar[Callable[[str, Row], Any]]
    """Converts a row to its GraphQL object; set by trninv.graphql.inventory_types, which imports this module."""

    login: Engine | None = None
    """Engine that reports use on PostgreSQL; None: the fleet's."""

    sweeps: SweepStore | None = None
    """The service's sweeps; None outside a service."""

    def __init__(
        self, fleet: BaseFleet, settings: Settings, threads: ThreadPools, who: str = "", scope: str = "admin"
    ) -> None:
        self.fleet, self.settings, self.who, self.scope = fleet, settings, who, scope
        self._threads = threads
        self._loaders: dict[Hashable, DataLoader[Any, Any]] = {}

    async def ask(self, question: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Run a routing question in a thread; when the request ends, it stops at its next deadline check."""
        work = partial(question, *args, **kwargs)
        return await self._threads.routing.run(work)

    async def write(self, change: Callable[[], T]) -> T:
        """Run a change to completion in a thread; later reads of this request see it."""

        def run() -> T:
            self.fleet.refresh()
            result = change()
            self.fleet.revision()  # later reads see this revision
            return result

        self._loaders.clear()
        return await self._threads.writing.run(run, to_end=True)

    async def read(self, query: Callable[..., T], *args: Any) -> T:
        """Run a query in a thread, with a connection to the snapshot."""

        def run() -> T:
            with self.fleet.connect() as connection:
                return query(connection, *args)

        return await self._threads.reading.run(run)

    async def row(self, kind: str, key: int) -> Row:
        """Return a row by kind and id."""

        def query(connection: Connection, keys: Sequence[int]) -> list[Row]:
            rows_by_id = row_loaders.load_by_ids(connection, THINGS[kind], keys)
            return [rows_by_id[key] for key in keys]

        row: Row = await self.load((kind,), query, key)
        return row

    async def node_kind(self, node: int) -> str:
        """Return the kind of a node."""

        def query(connection: Connection, keys: Sequence[int]) -> list[str]:
            table = TABLES["node"]
            kind_by_id = {row.id: row.kind for row in connection.execute(select(table).where(table.c.id.in_(keys)))}
            return [kind_by_id[key] for key in keys]

        kind: str = await self.load(("kind of node",), query, node)
        return kind

    async def fact(self, subject: str, attribute: str) -> Row | None:
        """Return the preferred fact about an attribute of a subject, or None."""

        def query(connection: Connection, keys: Sequence[tuple[str, str]]) -> list[Row | None]:
            table = TABLES["fact"]
            is_subject = table.c.subject.in_({subject for subject, _ in keys})
            query = rows_of(THINGS["fact"]).where(is_subject, table.c.preference == 0)
            facts = {(row["subject"], row["attribute"]): row for row in connection.execute(query).mappings()}
            return [facts.get(key) for key in keys]

        fact_row: Row | None = await self.load(("fact",), query, (subject, attribute))
        return fact_row

    async def load(self, loader: Hashable, query: Callable[[Connection, Sequence[Any]], list[Any]], key: Any) -> Any:
        """Return a query's result for one key, batched with the other keys of its loader."""
        if loader not in self._loaders:

            async def load(keys: list[Any]) -> list[Any]:
                return await self.read(query, keys)

            self._loaders[loader] = DataLoader(load_fn=load)
        return await self._loaders[loader].load(key)


AppInfo = Info[RequestContext, None]


@dataclass(frozen=True, slots=True)
class ChildList:
    """A list of one kind: below a parent, of some ids, or of all.

    Attributes
    ----------
    size
        Number of rows before filtering; None if not known.

    """

    context: RequestContext
    kind: Thing
    selection: row_loaders.ParentSelection = None
    parent: Any = 0
    size: int | None = None

    async def page(self, arguments: ListArguments) -> list[Row]:
        """Return the page's rows in reading direction, with one extra row if another page follows."""
        page_rows: list[Row] = await self._load("page", arguments, partial(row_loaders.load_pages, arguments=arguments))
        return page_rows

    async def count(self, arguments: ListArguments) -> int:
        """Return the number of rows on all pages."""
        if self.size is not None and not arguments.test_values:
            return self.size
        number: int = await self._load("count", arguments, partial(row_loaders.load_counts, arguments=arguments))
        return number

    async def aggregates(self, arguments: ListArguments, group_names: tuple[str, ...]) -> list[Row]:
        """Return counts and sums of each group."""
        groups: list[Row] = await self._load(
            f"sums {group_names}",
            arguments,
            partial(row_loaders.load_aggregates, arguments=arguments, group_names=group_names),
        )
        return groups

    async def all_rows(self) -> list[Row]:
        """Return all rows; for lists without pages."""
        child_rows: list[Row] = await self._load("all", None, row_loaders.load_children)
        return child_rows

    async def _load(
        self, loader_name: str, arguments: ListArguments | None, query: Callable[..., dict[Any, Any]]
    ) -> Any:
        def run(connection: Connection, keys: Sequence[Any]) -> list[Any]:
            rows_by_parent = query(connection, self.kind, self.selection, list(keys))
            return [rows_by_parent[key] for key in keys]

        selection_key = id(self.selection) if isinstance(self.selection, RelatedList) else self.selection
        return await self.context.load((loader_name, self.kind.name, selection_key, repr(arguments)), run, self.parent)
