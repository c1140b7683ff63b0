"""/graphql: the API, and GraphiQL for a browser."""

from typing import Final

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from trninv.errors import RequestError
from trninv.graphql.response import Response as DocumentResponse
from trninv.graphql.statements import counted
from trninv.service import wire
from trninv.service.accept import accepted
from trninv.service.access import holder
from trninv.service.changes import listening
from trninv.service.explorer import WEB
from trninv.service.shared import Shared, shared

_NEXT: Final = b"id: %d\nevent: next\ndata: %b\n\n"


async def graphql(request: Request) -> Response:
    """A document by GET or POST, as GraphQL over HTTP says."""
    at, speaks = shared(request), wire.accepts_graphql(request.headers)
    if request.method == "GET" and _wants_page(at, request):
        return FileResponse(WEB / "graphiql.html")
    if request.method == "POST" and wire.accepts_stream(request.headers):
        return await _subscribed(request)
    if wire.unacceptable(request.headers):
        return wire.refusal(RequestError(f"take application/json or {wire.GRAPHQL}"), 406, graphql=speaks)
    who = await holder(request, "read")
    asked = await wire.asked(request)
    etag = None
    if request.method == "GET":
        etag = wire.etag_of(
            asked, await at.read(at.fleet.revision), f"{at.process}{at.jobs.stamp()}", who.name, graphql=speaks
        )
        if not_modified := wire.not_modified(request, etag):
            return not_modified
    seen = counted.set([0])
    try:
        answer = await at.api.run(
            asked,
            reads_only=request.method == "GET",
            who=who.name,
            scope=who.scope,
            reference=request.state.request_id,
        )
        request.state.cost, request.state.statements = answer.cost, (counted.get() or [0])[0]
    finally:
        counted.reset(seen)
    at.metrics.cost.observe(answer.cost)
    at.metrics.statements.observe(request.state.statements)
    if answer.code:
        request.state.code = answer.code
        at.metrics.errors.labels(answer.code).inc()
    for failure in answer.failures:
        at.failed(request, failure)
    return wire.sent(answer, graphql=speaks, etag=None if answer.code else etag)


async def _subscribed(request: Request) -> Response:
    """A stream of changes (GraphQL over SSE, distinct connections); it ends without complete, for it has no end."""
    await holder(request, "read")
    found = await shared(request).api.subscribed(await wire.asked(request))
    if isinstance(found, DocumentResponse):
        request.state.code = found.code
        return wire.sent(found, graphql=True)
    told, scope = found
    return await listening(request, scope, lambda each: _NEXT % (each.number, told.of(each.event)))


def _wants_page(at: Shared, request: Request) -> bool:
    asks = "query" in request.query_params or "documentId" in request.query_params
    return at.settings.graphiql and not asks and accepted(request.headers).names("text/html")


ROUTES = [Route("/graphql", graphql, methods=["GET", "POST"])]
