"""Define `AsyncFleet`, which `trninv.connect_async` returns: the methods of `Fleet` as coroutines."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from trninv.database.query_result import QueryResult
from trninv.database.snapshot import AsOf
from trninv.history.point_in_time import Time
from trninv.inventory.change import Change
from trninv.remote.async_methods import AsyncMethods
from trninv.remote.call_builder import CallBuilder
from trninv.remote.exchange import Call
from trninv.remote.http_clients import AsyncHttpClient
from trninv.reports.row_formats import arrow_table
from trninv.routing.graph_comparison import GraphComparison, common_place, compare_graphs
from trninv.routing.question import Question
from trninv.routing.scenario import Scenario

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph


class AsyncFleet(AsyncMethods):
    """A fleet of a service whose questions, changes and lists are awaited; several calls may be in progress."""

    def __init__(self, calls: CallBuilder, client: AsyncHttpClient) -> None:
        self._calls, self._client = calls, client
        self._as_of: AsOf | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def ask(self, question: Question, *arguments: Any, **keywords: Any) -> Any:
        """Have the service answer a declared question."""
        return await self._run(self._calls.question(question, *arguments, **keywords))

    async def make_change(
        self, change: Change[..., Any], *arguments: Any, dry_run: bool = False, **keywords: Any
    ) -> Any:
        """Have the service make a declared change; a call that fails is not sent again."""
        return await self._run(self._calls.change(change, *arguments, dry_run=dry_run, **keywords))

    async def call_reading(self, method: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """Have the service run a reading."""
        return await self._run(self._calls.reading(method, *arguments, **keywords))

    async def sql(self, query: str) -> Any:
        """Have the service run one read-only SELECT, within its own limits; return a table of pyarrow."""
        return arrow_table(await self._run(self._calls.rows("sql", query)))

    async def cypher(self, query: str, parameters: Mapping[str, Any] | None = None) -> QueryResult:
        """Have the service run one read-only Cypher query, within its own limits."""
        result: QueryResult = await self._run(self._calls.rows("cypher", query, parameters))
        return result

    async def check_against(
        self, graph: "Graph", scope: str | None = None, *, bandwidth: str = "bandwidth", tolerance: float = 0.0
    ) -> GraphComparison:
        """Compare a networkx graph with the wiring of a scope; see `NotebookMethods.check_against`."""
        scope = scope or common_place(graph)
        return compare_graphs(scope, await self.graph(scope), graph, bandwidth, tolerance)

    async def _run(self, call: Call) -> Any:
        result = await self._client.run(call)
        self._as_of = result.as_of
        return result.value

    def what_if(
        self,
        down: Sequence[str] | str = (),
        derate: Mapping[str, float | Fraction] | None = None,
        *,
        with_: Mapping[str, Sequence[str] | str] | None = None,
        without: Sequence[str] | str = (),
    ) -> "AsyncFleet":
        """Return a fleet whose answers are for a scenario; see `BaseFleet.what_if`."""
        return AsyncFleet(self._calls.in_scenario(Scenario.parse(down, derate, with_, without)), self._client)

    def at(self, time: Time) -> "AsyncFleet":
        """Return the fleet as it was at an earlier time; the service checks the time with the first call."""
        return AsyncFleet(self._calls.at(time), self._client)

    def as_of(self) -> AsOf | None:
        """Return the time and revision that the last call read; None before the first."""
        return self._as_of

    async def close(self) -> None:
        """Close the connections to the service."""
        await self._client.close()
