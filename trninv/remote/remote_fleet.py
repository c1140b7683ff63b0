"""Define `RemoteFleet`, which `trninv.connect` returns: the methods of `Fleet`, answered by a service."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final, Self

from trninv.database.query_result import QueryResult
from trninv.database.snapshot import AsOf
from trninv.database.stored_changes import STORED
from trninv.errors import UsageError
from trninv.history.point_in_time import Time
from trninv.inventory.change import Change
from trninv.placement.placement_fleet import Fleet
from trninv.remote.call_builder import CallBuilder
from trninv.remote.exchange import Call, Result, RowsCall
from trninv.remote.http_clients import HttpClient
from trninv.reports.row_formats import arrow_table
from trninv.routing.answer_display import with_origin
from trninv.routing.question import Question
from trninv.routing.scenario import Scenario

_OF_A_DATABASE: Final = frozenset({"engine", "_source", "_earlier", "_is_derived"})
"""Attributes of fleets that have a database, without which a method of theirs can't run."""


class RemoteFleet(Fleet):
    """A fleet of a service; thread-safe.

    Questions, changes and lists are one HTTP request each, and answers have the same classes as those of a database.
    What needs the database itself raises `UsageError`.
    """

    def __init__(self, calls: CallBuilder, client: HttpClient, *, is_derived: bool = False) -> None:
        """Ask a service; only derived fleets pass ``is_derived``."""
        self._calls, self._client, self._is_part = calls, client, is_derived
        self._as_of: AsOf | None = None

    def __getattr__(self, name: str) -> Any:
        if name in _OF_A_DATABASE:
            raise UsageError(f"this needs the database itself, and {self._calls.service} is a service")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def ask(self, question: Question, *arguments: Any, **keywords: Any) -> Any:
        """Have the service answer a declared question."""
        result = self._send(self._calls.question(question, *arguments, **keywords))
        return with_origin(result.value, self, result.as_of.revision if result.as_of else None)

    def make_change(self, change: Change[..., Any], *arguments: Any, dry_run: bool = False, **keywords: Any) -> Any:
        """Have the service make a declared change; a call that fails is not sent again."""
        call = self._calls.change(change, *arguments, dry_run=dry_run, **keywords)
        with nullcontext() if dry_run else STORED.storing():
            return self._run(call)

    def call_reading(self, method: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """Have the service run a reading."""
        return self._run(self._calls.reading(method, *arguments, **keywords))

    def sql(
        self,
        query: str,
        *,
        seconds: float = 60.0,  # noqa: ARG002 # the service has its own
        max_rows: int = 10_000,
    ) -> Any:
        """Have the service run one read-only SELECT, within its own limits too; return a table of pyarrow."""
        return arrow_table(self.sql_rows(query, max_rows=max_rows))

    def sql_rows(self, query: str, *, max_rows: int = 10_000) -> QueryResult:
        """Have the service run one read-only SELECT, within its own limits too; return its rows."""
        return self._rows(self._calls.rows("sql", query), max_rows)

    def cypher(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        seconds: float = 60.0,  # noqa: ARG002 # the service has its own
        limit: int = 10_000,
    ) -> QueryResult:
        """Have the service run one read-only Cypher query, within its own limits too."""
        return self._rows(self._calls.rows("cypher", query, parameters), limit)

    def list_things(self, kind: str, **options: Any) -> QueryResult:
        """Have the service list things of a kind, such as chip, with the options of ``POST /list/{kind}``."""
        result: QueryResult = self._run(self._calls.listing(kind, options))
        return result

    def report(self, name: str, parameters: Mapping[str, str], *, limit: int = 10_000) -> QueryResult:
        """Have the service run a report, with its parameters as texts."""
        return self._rows(self._calls.report(name, parameters), limit)

    def reports(self) -> list[dict[str, Any]]:
        """Return the service's reports, as ``GET /reports`` lists them."""
        reports: list[dict[str, Any]] = self._run(self._calls.report_list())
        return reports

    def graphql(self, document: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        """Have the service run a GraphQL document; return its response, with data and maybe errors."""
        response: dict[str, Any] = self._run(self._calls.graphql(document, variables))
        return response

    def _rows(self, call: RowsCall, limit: int) -> QueryResult:
        result: QueryResult = self._run(call)
        is_cut = result.truncated or len(result.rows) > limit
        return replace(result, rows=result.rows[:limit], truncated=is_cut)

    def _run(self, call: Call) -> Any:
        return self._send(call).value

    def _send(self, call: Call) -> Result:
        result = self._client.run(call)
        self._as_of = result.as_of
        return result

    def what_if(
        self,
        down: Sequence[str] | str = (),
        derate: Mapping[str, float | Fraction] | None = None,
        *,
        with_: Mapping[str, Sequence[str] | str] | None = None,
        without: Sequence[str] | str = (),
    ) -> Self:
        """Return a fleet whose answers are for a scenario; see `BaseFleet.what_if`."""
        return self._derived(self._calls.in_scenario(Scenario.parse(down, derate, with_, without)))

    def at(self, time: Time) -> Self:
        """Return the fleet as it was at an earlier time; the service checks the time with the first call."""
        return self._derived(self._calls.at(time))

    def snapshot(self) -> Self:
        """Return a fleet whose `as_of` tells what its last call read; a service keeps no snapshot between calls."""
        return self._derived(self._calls)

    def _derived(self, calls: CallBuilder) -> Self:
        return type(self)(calls, self._client, is_derived=True)

    def as_of(self) -> AsOf | None:
        """Return the time and revision that the last call read; None before the first."""
        return self._as_of

    def refresh(self) -> None:
        """Do nothing, as each call reads the latest state."""

    def revision(self) -> Hashable | None:
        """Return the revision, which is equal for equal states of the database; None if the service can't tell."""
        self.drift_compared_at()
        return self._as_of and self._as_of.revision

    def close(self) -> None:
        """Close the connections to the service; a derived fleet closes nothing."""
        if not self._is_part:
            self._client.close()
