"""Answer GraphQL requests that take little, and observations, before the middleware and routes that they don't need.

`RequestBodyMiddleware` asks here first, once the body has arrived. A request that this module does not answer takes
the ordinary way through its route, which gives the same response.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Scope

from trninv.errors import RequestError, TrninvError
from trninv.graphql.document_request import Request as DocumentRequest
from trninv.graphql.responses import Response as DocumentResponse
from trninv.graphql.statement_runner import StatementCounter, statement_counter
from trninv.service import graphql_http, observations
from trninv.service.authentication import ANONYMOUS, REVISION, find_cached_principal
from trninv.service.error_responses import expected_error_response
from trninv.service.request_parsing import is_cross_site_refused, is_host_allowed
from trninv.service.services import Services

PREPARED: Final = "prepared for "
"""Before a scope: key, in a request's state, of the operation that was prepared here for it and not answered."""


class DirectAnswers:
    """Answers requests for GraphQL documents whose response is cached or takes a small statement, and observations.

    If tokens are on, the request's token must have been looked up at the present revision.

    Parameters
    ----------
    hosts
        The hosts that requests may name.
    cors
        The middleware for requests of other origins, if there are any.
    gzip_min_size, gzip_level
        Minimum size in bytes of a response that is compressed, and the level.

    """

    def __init__(
        self,
        services: Services,
        hosts: Sequence[str],
        cors: Sequence[Middleware],
        *,
        gzip_min_size: int,
        gzip_level: int,
    ) -> None:
        self._services, self._hosts, self._cors = services, tuple(hosts), cors
        self._origins = services.settings.cors_origins
        self._gzip_min_size, self._gzip_level = gzip_min_size, gzip_level

    async def respond(self, scope: Scope, body: bytes) -> ASGIApp | None:
        """Return the response to a request, or None if the request takes the ordinary way."""
        headers = dict(scope["headers"])
        if not self._is_eligible(scope, headers):
            return None
        if scope["path"] == observations.ROUTE.path:
            response: Response | None = await _store_observation(scope, body)
        else:
            response = await self._answer_graphql(scope, headers, body)
        if response is None:
            return None
        app = self._compress(response, headers)
        for middleware in self._cors:
            app = middleware.cls(app, *middleware.args, **middleware.kwargs)
        return app

    def _is_eligible(self, scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
        """Return whether a request is a plain POST that the other middleware would let pass unchanged."""
        return (
            scope["path"] in ("/graphql", observations.ROUTE.path)
            and scope["method"] == "POST"
            and b"%00" not in scope["query_string"]
            and not (b"sec-fetch-site" in headers and is_cross_site_refused(scope, self._origins))
            and len(headers) == len(scope["headers"])  # no header is repeated
            and is_host_allowed(headers.get(b"host", b"").decode("latin-1"), self._hosts)
        )

    async def _answer_graphql(self, scope: Scope, headers: Mapping[bytes, bytes], body: bytes) -> Response | None:
        media_type = graphql_http.response_media_type(headers.get(b"accept", b"").decode("latin-1"))
        if media_type is None or scope["query_string"]:
            return None
        response = await self._run(scope, headers, body)
        if response is None:
            return None
        return graphql_http.graphql_response(response, graphql=media_type == graphql_http.GRAPHQL)

    async def _run(self, scope: Scope, headers: Mapping[bytes, bytes], body: bytes) -> DocumentResponse | None:
        """Run the request in a body; return None if its response takes long or is an internal error."""
        state, revision, principal = scope["state"], None, ANONYMOUS
        if self._services.settings.auth == "tokens":
            revision = state[REVISION] = await self._services.api.current_revision()
            cached = find_cached_principal(Request(scope), "read", revision)
            if cached is None:
                return None
            principal = cached
        content_type, counter = headers.get(b"content-type", b"").decode("latin-1"), StatementCounter()
        token = statement_counter.set(counter)
        try:
            request = DocumentRequest.from_parameters(graphql_http.parse_json_object(content_type, body))
            response = await self._services.api.run_inline(
                request, scope=principal.scope, reference=state["request_id"], revision=revision
            )
        except RequestError:
            return None
        finally:
            statement_counter.reset(token)
        if not isinstance(response, DocumentResponse):
            state[PREPARED + principal.scope] = response
            return None
        if response.failures:
            return None
        self._services.record_response(state, response, counter.count)
        return response

    def _compress(self, response: Response, headers: Mapping[bytes, bytes]) -> ASGIApp:
        """Return a response, compressed if it is long and the client accepts that."""
        if len(response.body) < self._gzip_min_size:
            return response
        if b"gzip" in headers.get(b"accept-encoding", b""):
            return GZipMiddleware(response, self._gzip_min_size, self._gzip_level)
        response.headers.add_vary_header("Accept-Encoding")
        return response


async def _store_observation(scope: Scope, body: bytes) -> Response:
    """Store an observation as its route does; it is stored even if the client disconnects meanwhile."""

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    request = Request(scope, receive)
    try:
        response: Response = await observations.ROUTE.endpoint(request)
    except TrninvError as error:
        return await expected_error_response(request, error)
    return response
