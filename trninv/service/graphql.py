"""Serve /graphql: queries, mutations and subscriptions, and GraphiQL (a page to try them) to browsers."""

from typing import Final

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from trninv.errors import RequestError
from trninv.graphql.responses import Response as DocumentResponse
from trninv.graphql.statement_runner import StatementCounter, statement_counter
from trninv.service import graphql_http
from trninv.service.authentication import REVISION, authenticate
from trninv.service.direct_answers import PREPARED
from trninv.service.event_stream import event_stream_response
from trninv.service.explorer import WEB_DIRECTORY
from trninv.service.request_parsing import parse_accept
from trninv.service.services import Services, get_services

_NEXT_FRAME: Final = b"id: %d\nevent: next\ndata: %b\n\n"


async def serve_graphql(request: Request) -> Response:
    """Run a document sent by GET or POST, according to GraphQL over HTTP; serve GraphiQL to a browser."""
    services, takes_graphql_json = get_services(request), graphql_http.accepts_graphql(request.headers)
    if request.method == "GET" and _wants_graphiql(services, request):
        return FileResponse(WEB_DIRECTORY / "graphiql.html")
    if request.method == "POST" and graphql_http.accepts_stream(request.headers):
        return await _subscription_response(request)
    if graphql_http.accepts_no_json(request.headers):
        return graphql_http.error_response(
            RequestError(f"the Accept header excludes JSON; accept application/json or {graphql_http.GRAPHQL}"),
            406,
            graphql=takes_graphql_json,
        )
    principal = await authenticate(request, "read")
    document_request = await graphql_http.parse_graphql_request(request)
    etag = None
    if request.method == "GET":
        etag = graphql_http.compute_etag(
            document_request,
            await services.read(services.get_version),
            services.process_id,
            principal.identity,
            graphql=takes_graphql_json,
        )
        if not_modified := graphql_http.not_modified(request, etag):
            return not_modified
    counter = StatementCounter()
    counter_token = statement_counter.set(counter)
    try:
        response = await services.api.run(
            document_request,
            reads_only=request.method == "GET",
            who=principal.name,
            scope=principal.scope,
            reference=request.state.request_id,
            revision=request.scope["state"].get(REVISION),
            prepared=request.scope["state"].get(PREPARED + principal.scope),
        )
    finally:
        statement_counter.reset(counter_token)
    services.record_response(request.scope["state"], response, counter.count)
    for failure in response.failures:
        services.log_failure(request.state.request_id, failure)
    if response.code or response.reads_clock:  # a later response may differ at the same revision
        etag = None
    return graphql_http.graphql_response(response, graphql=takes_graphql_json, etag=etag)


async def _subscription_response(request: Request) -> Response:
    """Stream a subscription (GraphQL over SSE, distinct connections); it never ends, and never sends `complete`."""
    await authenticate(request, "read")
    subscription = await get_services(request).api.subscribe(await graphql_http.parse_graphql_request(request))
    if isinstance(subscription, DocumentResponse):
        request.state.code = subscription.code
        return graphql_http.graphql_response(subscription, graphql=True)
    serializer, scope = subscription
    return await event_stream_response(
        request, scope, lambda event: _NEXT_FRAME % (event.number, serializer.serialize(event.event))
    )


def _wants_graphiql(services: Services, request: Request) -> bool:
    has_document = "query" in request.query_params or "documentId" in request.query_params
    return services.settings.graphiql and not has_document and parse_accept(request.headers).lists("text/html")


ROUTES = [Route("/graphql", serve_graphql, methods=["GET", "POST"])]
