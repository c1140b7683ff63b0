"""Serve /fleet/{method}: the questions, changes and lists of a fleet for `trninv.connect`, from the declarations.

A body is {"arguments": {…}, "at": "…", "scenario": {…}}. An answer is {"result": …, "asOf": …}, in which every field of
the answer's class is encoded by its type (`trninv.remote.json_codec`), so that the client gets an equal value. A
question that takes minutes, such as sweep, runs as a job: its answer has a `job` with its id and progress, and no
result until {"job": "ID"} is sent after its end.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

import trninv
from trninv.characters import FORBIDDEN_MESSAGE, has_forbidden_characters
from trninv.database.snapshot import AsOf
from trninv.errors import (
    CostLimitError,
    ForbiddenError,
    InvalidArgumentError,
    NotFoundError,
    RequestError,
    ScopeTooLargeError,
    suggestion,
)
from trninv.graphql.change_fields import change_author
from trninv.graphql.sweep_fields import parse_answer
from trninv.graphql.sweep_runner import MAX_KEPT, cancel_sweep, find_sweep
from trninv.inventory.access.bearer_tokens import Principal
from trninv.inventory.address.lookup import resolve_place
from trninv.placement.placement_fleet import Fleet
from trninv.remote.exchange import JobProgress
from trninv.remote.json_codec import TypeMismatchError, decode, encode
from trninv.remote.remote_method import RemoteMethod, find_method
from trninv.routing.question import Question
from trninv.routing.scenario import Scenario
from trninv.service import graphql_http
from trninv.service.api_route import TEXT, ApiRoute, HttpParameter, RouteDeclaration, get_principal, json_object
from trninv.service.services import Services, get_services
from trninv.settings import Settings

_EXAMPLE: Final = {"arguments": {"source": "u-trn2x64/d0/s0/c0", "target": "u-trn2x64/d0/s2/c10"}}
MAX_ROWS: Final = 10_000
"""The maximum `limit` of a list."""


@dataclass(frozen=True, slots=True)
class _Call:
    """What a request calls, with arguments of the declared types."""

    method: RemoteMethod
    arguments: Mapping[str, Any]
    time: str | None
    scenario: Scenario | None


async def call_method(request: Request) -> Response:
    """Call a question, change or list of Python's `Fleet`, and return its answer as trninv.connect decodes it."""
    services, principal = get_services(request), get_principal(request)
    body = graphql_http.read_json_object(request, await request.body(), json.dumps(_EXAMPLE))
    name = request.path_params["method"]
    method = await services.run_in_time(services.api.threads.preparing, find_method, name[:60])  # it imports
    if method is None:
        raise NotFoundError(f"this service, trninv {trninv.__version__}, has no question, change or list {name!r:.60}")
    _authorize(services.settings, principal, method)
    if isinstance(method.declaration, Question) and method.declaration.job_mutation:
        return await _run_job(services, method, body)
    call = _parse(method, body)
    if isinstance(method.declaration, Question):
        _check_cost(method.declaration, services.settings.max_cost, in_scenario=call.scenario is not None)
    run = (
        partial(_change, services.fleet, call, principal.name)
        if method.is_change
        else partial(_read, services.fleet, call)
    )
    work = partial(_encode, run, services.settings.answer_bytes)
    threads = services.api.threads
    if method.is_change:
        content = await threads.writing.run(work, to_end=True)
    else:
        content = await services.run_in_time(threads.routing if method.declaration else threads.reading, work)
    return Response(content, media_type="application/json")


async def _run_job(services: Services, method: RemoteMethod, body: Mapping[str, Any]) -> Response:
    """Start a job, or look at or cancel one; return its progress and, once it is done, its answer."""
    job, cancels, writing = body.get("job"), body.get("cancel", False), services.api.threads.writing
    if job is None:
        call = _parse(method, body)
        row: Any = await writing.run(partial(_start_job, services, call), to_end=True)
    elif not isinstance(job, str) or not isinstance(cancels, bool) or body.keys() - {"job", "cancel"}:
        raise RequestError('job is a text; send {"job": "ID"}, and "cancel": true to cancel it')
    elif cancels:
        row = await writing.run(partial(cancel_sweep, services.fleet.engine, job), to_end=True)
    else:
        row = await services.read(partial(_find_job, services.fleet, job))
    if row is None:
        raise NotFoundError(f"no job {job!r:.60}; a service keeps the last {MAX_KEPT}")
    progress = JobProgress(str(row.id), row.state, row.done, row.total, row.error)
    answer = parse_answer(json.loads(row.answer)) if row.answer else None
    content = _to_json(
        {"result": encode(answer), "asOf": None, "job": encode(progress)}, services.settings.answer_bytes
    )
    return Response(content, media_type="application/json")


def _start_job(services: Services, call: _Call) -> Any:
    """Start a sweep, whose place, time and scenario are checked first, so that its process does not fail on them."""
    fleet = _derive(services.fleet, call)
    with fleet.open_snapshot() as snapshot:
        resolve_place(snapshot.connection, call.arguments["scope"])
    scenario = None if call.scenario is None else encode(call.scenario)
    return services.sweeps.start(as_of=call.time, scenario=scenario, **call.arguments)


def _find_job(fleet: Fleet, job: str) -> Any:
    with fleet.connect() as connection:
        return find_sweep(connection, job)


def _parse(method: RemoteMethod, body: Mapping[str, Any]) -> _Call:
    """Return the call that a body describes, with arguments of the declared types."""
    arguments = body.get("arguments", {})
    if unknown := body.keys() - {"arguments", "at", "scenario"}:
        raise RequestError(f"no member {min(unknown)!r:.60}; send arguments, at and scenario")
    if not isinstance(arguments, dict) or not isinstance(body.get("at"), str | None):
        raise RequestError("arguments is an object, and at a text")
    if has_forbidden_characters(dict(body)):
        raise RequestError(f"the body {FORBIDDEN_MESSAGE}")
    if missing := method.required - arguments.keys():
        raise InvalidArgumentError(f"{method.name} needs the argument {min(missing)}")
    for name in arguments:
        if name not in method.argument_types:
            hint = suggestion(name[:60], method.argument_types)
            raise InvalidArgumentError(f"{method.name} takes no argument {name!r:.60}: {hint}")
    try:
        decoded = {name: decode(value, method.argument_types[name]) for name, value in arguments.items()}
        return _Call(method, decoded, body.get("at"), decode(body.get("scenario"), Scenario | None))
    except TypeMismatchError as mismatch:
        raise InvalidArgumentError(f"{method.name}: {mismatch}") from None


def _authorize(settings: Settings, principal: Principal, method: RemoteMethod) -> None:
    if not principal.allows(method.scope):
        raise ForbiddenError(f"{method.name} needs a token of scope {method.scope}")
    if settings.persisted_only:
        raise ForbiddenError("this service answers persisted GraphQL documents only")


def _check_cost(question: Question, max_cost: int, *, in_scenario: bool) -> None:
    cost = question.cost * (2 if in_scenario and question.has_baseline else 1)
    if cost > max_cost:
        raise CostLimitError(f"{question.name} costs {cost:,}, more than the limit of {max_cost:,}")


def _read(current_fleet: Fleet, call: _Call) -> tuple[Any, AsOf | None]:
    """Answer a question or read a list at the call's time and in its scenario; also return what was read."""
    with _derive(current_fleet, call).snapshot() as snapshot:
        if isinstance(call.method.declaration, Question):
            return snapshot.ask(call.method.declaration, **call.arguments), snapshot.as_of()
        if not 1 <= call.arguments.get("limit", 1) <= MAX_ROWS:
            raise InvalidArgumentError(f"limit {call.arguments['limit']:,} is out of range; use 1 to {MAX_ROWS:,}")
        return getattr(snapshot, call.method.name)(**call.arguments), snapshot.as_of()


def _derive(current_fleet: Fleet, call: _Call) -> Fleet:
    """Return the fleet at a call's time and in its scenario."""
    fleet = current_fleet if call.time is None else current_fleet.at(call.time)
    return fleet if call.scenario is None else fleet.what_if(**call.scenario.as_arguments())


def _change(fleet: Fleet, call: _Call, token_name: str) -> tuple[Any, AsOf | None]:
    """Make a change; also return the state that it leads to."""
    if call.time is not None or call.scenario is not None:
        raise RequestError("the past and a scenario cannot be changed; send the change without at and scenario")
    arguments = dict(call.arguments)
    change: Any = call.method.declaration
    arguments |= change_author(change, token_name, arguments.pop("who", None), arguments.pop("why", None))
    return fleet.make_change(change, **arguments), AsOf.latest(fleet.revision())


def _encode(run: Callable[[], tuple[Any, AsOf | None]], max_bytes: int) -> bytes:
    result, as_of = run()
    return _to_json({"result": encode(result), "asOf": encode(as_of)}, max_bytes)


def _to_json(content: Mapping[str, Any], max_bytes: int) -> bytes:
    body = json.dumps(content, separators=(",", ":")).encode()
    if len(body) > max_bytes:
        raise ScopeTooLargeError(
            f"the answer has {len(body):,} bytes, more than {max_bytes:,}; ask for a smaller scope"
        )
    return body


_BODY = json_object(
    {
        "arguments": {"type": "object"},
        "at": {"type": ["string", "null"]},
        "scenario": {"type": ["object", "null"]},
        "job": TEXT,
        "cancel": {"type": "boolean"},
    },
    optional=["arguments", "at", "scenario", "job", "cancel"],
)
_ANSWER = json_object({"result": {}, "asOf": {"type": ["object", "null"]}, "job": {"type": "object"}}, optional=["job"])
ROUTES = [
    ApiRoute(
        "/fleet/{method}",
        call_method,
        RouteDeclaration(
            "read",
            {"application/json": _ANSWER},
            [HttpParameter("method", "A method of Python's `Fleet`", place="path", example="path")],
            body=_BODY,
            example=_EXAMPLE,
        ),
        method="POST",
    )
]
