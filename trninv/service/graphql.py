"""Serve /graphql, and GraphiQL to browsers."""

from typing import Final

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from trninv.errors import RequestError
from trninv.graphql.response import Response as DocumentResponse
from trninv.graphql.statements import statement_counter
from trninv.service import wire
from trninv.service.accept import parse_accept
from trninv.service.access import authenticate
from trninv.service.changes import event_stream_response
from trninv.service.explorer import WEB_DIRECTORY
from trninv.service.shared import Services, get_services

_NEXT_FRAME: Final = b"id: %d\nevent: next\ndata: %b\n\n"


async def serve_graphql(request: Request) -> Response:
    """Run a document sent by GET or POST, according to GraphQL over HTTP."""
    services, takes_graphql_json = get_services(request), wire.accepts_graphql(request.headers)
    if request.method == "GET" and _wants_graphiql(services, request):
        return FileResponse(WEB_DIRECTORY / "graphiql.html")
    if request.method == "POST" and wire.accepts_stream(request.headers):
        return await _subscription_response(request)
    if wire.accepts_no_json(request.headers):
        return wire.error_response(
            RequestError(f"take application/json or {wire.GRAPHQL}"), 406, graphql=takes_graphql_json
        )
    principal = await authenticate(request, "read")
    document_request = await wire.parse_graphql_request(request)
    etag = None
    if request.method == "GET":
        etag = wire.compute_etag(
            document_request,
            await services.read(services.fleet.revision),
            f"{services.process_id}{services.sweeps.version()}",
            principal.name,
            graphql=takes_graphql_json,
        )
        if not_modified := wire.not_modified(request, etag):
            return not_modified
    counter_token = statement_counter.set([0])
    try:
        answer = await services.api.run(
            document_request,
            reads_only=request.method == "GET",
            who=principal.name,
            scope=principal.scope,
            reference=request.state.request_id,
        )
        request.state.cost, request.state.statements = answer.cost, (statement_counter.get() or [0])[0]
    finally:
        statement_counter.reset(counter_token)
    services.metrics.cost.observe(answer.cost)
    services.metrics.statements.observe(request.state.statements)
    if answer.code:
        request.state.code = answer.code
        services.metrics.errors.labels(answer.code).inc()
    for failure in answer.failures:
        services.log_failure(request, failure)
    return wire.graphql_response(answer, graphql=takes_graphql_json, etag=None if answer.code else etag)


async def _subscription_response(request: Request) -> Response:
    """Stream a subscription (GraphQL over SSE, distinct connections); endless, so it never sends complete."""
    await authenticate(request, "read")
    subscription = await get_services(request).api.subscribe(await wire.parse_graphql_request(request))
    if isinstance(subscription, DocumentResponse):
        request.state.code = subscription.code
        return wire.graphql_response(subscription, graphql=True)
    serializer, scope = subscription
    return await event_stream_response(
        request, scope, lambda event: _NEXT_FRAME % (event.number, serializer.serialize(event.event))
    )


def _wants_graphiql(services: Services, request: Request) -> bool:
    has_document = "query" in request.query_params or "documentId" in request.query_params
    return services.settings.graphiql and not has_document and parse_accept(request.headers).lists("text/html")


ROUTES = [Route("/graphql", serve_graphql, methods=["GET", "POST"])]
