"""Share the fleet, threads and plans among the resolvers of one GraphQL request.

Resolvers get a `RequestContext` as `info.context`. Every statement and every routing question runs in a worker thread,
so that the event loop stays free.
"""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, TypeVar

from graphql import GraphQLResolveInfo
from sqlalchemy import Engine
from strawberry.types import Info

from trninv.graphql.sweep_runner import SweepRunner
from trninv.graphql.worker_pools import (
    MAX_PREPARING,
    MAX_READING,
    MAX_ROUTING,
    MAX_SNAPSHOTS,
    MAX_WRITING,
    FairLimiter,
    WorkerPool,
)
from trninv.routing.fleet import BaseFleet
from trninv.settings import Settings

T = TypeVar("T")


class ThreadPools:
    """Thread pools of a process, separate so that slow questions block neither look-ups nor validation.

    Attributes
    ----------
    snapshots
        Limits how many documents hold a snapshot at a time.
    """

    def __init__(self) -> None:
        self.reading, self.routing, self.preparing = (
            WorkerPool(MAX_READING),
            WorkerPool(MAX_ROUTING),
            WorkerPool(MAX_PREPARING),
        )
        self.writing = WorkerPool(MAX_WRITING)
        self.snapshots = FairLimiter(MAX_SNAPSHOTS)

    @property
    def are_answering(self) -> bool:
        """Whether a thread works on an answer, rather than on a change."""
        return self.reading.is_busy or self.routing.is_busy or self.preparing.is_busy

    def close(self) -> None:
        """End all threads."""
        for pool in (self.reading, self.routing, self.preparing, self.writing):
            pool.close()


class RequestContext:
    """Context of one request: a snapshot of the fleet, and the client.

    Parameters
    ----------
    fleet
        The snapshot that the request reads.
    plans
        Cache of the plans of the operation's fields.
    who, scope
        Name and scope of the client's token.
    is_large
        Whether the response is built in a worker thread, not on the event loop.

    """

    login: Engine | None = None
    """Engine with the login that reports use on PostgreSQL; None: the fleet's engine."""

    sweeps: SweepRunner | None = None
    """Starts sweeps; None outside a service."""

    def __init__(
        self,
        fleet: BaseFleet,
        settings: Settings,
        threads: ThreadPools,
        plans: dict[Hashable, Any],
        who: str,
        scope: str,
        *,
        is_large: bool,
    ) -> None:
        self.fleet, self.settings, self.who, self.scope = fleet, settings, who, scope
        self.threads, self.plans, self.is_large = threads, plans, is_large

    async def ask(self, question: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Run a routing question in a thread; when the request ends, it stops at its next deadline check."""
        work = partial(question, *args, **kwargs)
        return await self.threads.routing.run(work)

    async def write(self, change: Callable[[], T]) -> T:
        """Run a change to completion in a thread; later reads of this request see it."""

        def run() -> T:
            self.fleet.refresh()
            result = change()
            self.fleet.revision()  # opens the snapshot that later reads of this request see
            return result

        return await self.threads.writing.run(run, to_end=True)

    async def read(self, query: Callable[..., T], *args: Any) -> T:
        """Run a query in a thread, with a connection to the snapshot."""

        def run() -> T:
            with self.fleet.connect() as connection:
                return query(connection, *args)

        return await self.threads.reading.run(run)


AppInfo = Info[RequestContext, None]
"""Info of a resolver, with the request's context."""
CoreInfo = GraphQLResolveInfo[RequestContext]
"""Info of a resolver that graphql-core calls itself, with the field's selections."""
