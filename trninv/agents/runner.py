"""Run the documents of tools on the GraphQL API, and shorten their answers."""

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from anyio import to_thread

from trninv.agents.abridge import abridge
from trninv.agents.tool import AT, PLAN, UNAPPLIED, Tool
from trninv.errors import TrninvError, UsageError
from trninv.graphql.api import Api
from trninv.graphql.document_request import Request
from trninv.units import pluralize

_UNITS: Final = "bandwidths in 10^9 bytes per second (GB/s) for one direction; memory in GiB; times in UTC"


class ToolError(Exception):
    """A call that failed, in words for the agent."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls tools: name and scope of a token, and the id of the HTTP request, if any."""

    name: str
    scope: str
    allows: Callable[[str], bool]
    reference: str = ""


RunSql = Callable[[str, str | None], Awaitable[Mapping[str, Any]]]
"""Runs a SELECT as of a time, and returns columns, rows and whether they are truncated."""


class Runner:
    """Run tools against an API; one per process.

    Attributes
    ----------
    run_sql
        None if SQL is not to be had, for example without a login for it.

    """

    def __init__(self, api: Api, run_sql: RunSql | None, log_failure: Callable[[str, BaseException], None]) -> None:
        self._api, self.run_sql, self._log_failure = api, run_sql, log_failure

    async def answer(self, tool: Tool, arguments: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
        """Return a page of the answer to a question or list, with its units, sources and revision."""
        document, variables = tool.document(arguments)
        data, as_of = await self._execute(document, variables, caller, arguments.get(AT))
        answer = tool.read_data(data)
        sources = _name_sources(answer.pop("facts", ())) if isinstance(answer, dict) else []
        content = await paged(answer, arguments) | {"asOf": as_of, "units": _UNITS}
        if count := data.get(UNAPPLIED):
            content["unappliedFindings"] = (
                f"{pluralize(count, 'high finding')} of drift on parts that are up: drift has them, and "
                "detectDrift with apply sets down those that are missing or reported unhealthy"
            )
        if tool.name == "incidents":
            # as `trninv incidents --impact`: replacement refuses a job without chips that are down
            loses_chips = {bool(incident.get("chipsLost")) for incident in answer["nodes"] if incident.get("jobs")}
            steps = [step for lost, step in _NEXT_STEPS.items() if lost in loses_chips]
            content |= {"next": "; ".join(steps)} if steps else {}
        if sources:
            content |= {"sources": sources, "explain": explain_uri(tool, arguments)}
        return content

    async def explain(self, tool: Tool, arguments: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
        """Return the evidence for an answer: the definition, and each fact with its source and quote."""
        data, as_of = await self._execute(*tool.evidence_document(arguments), caller, arguments.get(AT))
        evidence: dict[str, Any] = tool.read_data(data)
        return evidence | {"asOf": as_of}

    async def preview(self, tool: Tool, arguments: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
        """Return what a change would do, with the plan that confirms just this."""
        document, variables = tool.document(arguments, is_dry_run=True)
        data, _ = await self._execute(document, variables, caller)
        result = tool.read_data(data)
        page, cut = await to_thread.run_sync(abridge, result, 1)
        omitted = {"shortened": {"lengths": cut}} if cut else {}
        plan = _plan_of(tool, variables, result, caller)
        hint = _hint_at_state(page, arguments) if tool.name == "setState" else {}
        return {"change": tool.name, "wouldChange": page, PLAN: plan} | hint | omitted

    async def change(self, tool: Tool, arguments: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
        """Make a change."""
        document, variables = tool.document(arguments)
        data, as_of = await self._execute(document, variables, caller)
        page, cut = await to_thread.run_sync(abridge, tool.read_data(data), 1)
        hint = _hint_at_state(page, arguments) if tool.name == "setState" else {}
        return {"answer": page, "asOf": as_of} | hint | ({"shortened": {"lengths": cut}} if cut else {})

    async def run_document(
        self, document: str, variables: Mapping[str, Any], caller: Caller, as_of: str | None = None
    ) -> Mapping[str, Any]:
        """Run a query in GraphQL; mutations are refused."""
        data, read_as_of = await self._execute(document, dict(variables), caller, as_of, reads_only=True)
        return {"data": data, "asOf": read_as_of}

    async def _execute(
        self,
        document: str,
        variables: dict[str, Any],
        caller: Caller,
        as_of: str | None = None,
        *,
        reads_only: bool = False,
    ) -> tuple[Any, Any]:
        """Return the data of a document, and the time and revision read."""
        request = Request.from_parameters({"query": document, "variables": variables, "at": as_of})
        response = await self._api.run(
            request, reads_only=reads_only, who=caller.name, scope=caller.scope, reference=caller.reference
        )
        for failure in response.failures:
            self._log_failure(caller.reference, failure)
        content = await to_thread.run_sync(json.loads, response.body)
        if content.get("errors"):
            raise ToolError("; ".join(_describe(error) for error in content["errors"]))
        return content["data"], content.get("extensions", {}).get("asOf")


_NEXT_STEPS: Final = {
    True: "replacement with job says where each of these jobs with chips that are down can go",
    False: "drainImpact with scope, a cause (the server of a NIC), says where the jobs at a link, switch, NIC or "
    "degraded chip can go",
}
"""What to ask next about incidents with jobs, by whether they lose chips."""


def _hint_at_state(result: Any, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return what to ask after a state was set, or that all parts have had it before."""
    state = str(arguments.get("state"))
    if not result["changes"]:
        return {"note": f"nothing changes: already {state.lower()}"}
    if state in ("DOWN", "MAINTENANCE"):
        return {"next": "incidents names the jobs that this hits, and replacement with job says where each can go"}
    return {}


async def paged(answer: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a page of an answer, and what the other pages hold."""
    page = arguments.get("page", 1)
    if type(page) is not int or page < 1:
        raise UsageError("page is 1 or more")
    shortened, cut = await to_thread.run_sync(abridge, answer, page)
    notes = {"page": page, "lengths": cut, "next": f"the same call with page {page + 1}"} if cut else {}
    return {"answer": shortened} | ({"shortened": notes} if notes else {})


def explain_uri(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """Return the resource that explains the answer to a call."""
    sent = {name: value for name, value in arguments.items() if name != "page"}
    return f"trninv://explain/{tool.name}?{urlencode({'arguments': json.dumps(sent)})}"


def describe_failure(error: TrninvError | ToolError) -> str:
    """Return an error with its code, which a `ToolError` already has."""
    return f"{error.code}: {error}" if isinstance(error, TrninvError) else str(error)


def _describe(error: Mapping[str, Any]) -> str:
    code = error.get("extensions", {}).get("code")
    return f"{code}: {error['message']}" if code else str(error["message"])


def _name_sources(facts: Any) -> list[str]:
    """Return one line for each fact: what it says, and which source says so."""
    lines = {
        f"{fact['subject']} {fact['attribute']}: {fact['asWritten']} ({fact['source']['slug']}"
        f"{', disputed' if fact['disputed'] else ''}{', assumed' if fact['assumed'] else ''})": None
        for fact in facts
    }
    return list(lines)[:_MAX_SOURCES]


_MAX_SOURCES: Final = 6
"""An answer names at most so many facts; its explanation has all."""


def _plan_of(tool: Tool, variables: Mapping[str, Any], result: Any, caller: Caller) -> str:
    """Return a digest of a change, its author and its result, which differs once the result would differ."""
    change = [tool.name, {**variables["input"], "dryRun": None}, _without_times(result), caller.name]
    values = json.dumps(change, sort_keys=True)
    return hashlib.sha256(values.encode()).hexdigest()[:16]


def _without_times(value: Any) -> Any:
    """Return a result without the times at which its parts begin and end, which differ from call to call."""
    if isinstance(value, dict):
        items = value.items()
        return {key: _without_times(item) for key, item in items if key != "at" and not key.endswith("At")}
    return [_without_times(item) for item in value] if isinstance(value, list) else value
