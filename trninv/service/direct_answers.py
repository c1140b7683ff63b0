"""Answer GraphQL requests that take little, and observations, before the middleware and routes that they don't need.

`RequestBodyMiddleware` asks here first, once the body has arrived. A request that this module does not answer takes
the ordinary way through its route, which gives the same response.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Scope

from trninv.errors import RequestError, TrninvError
from trninv.graphql.document_request import Request as DocumentRequest
from trninv.graphql.responses import Response as DocumentResponse
from trninv.graphql.statement_runner import StatementCounter, statement_counter
from trninv.service import graphql_http, observations
from trninv.service.error_responses import expected_error_response
from trninv.service.request_parsing import is_host_allowed
from trninv.service.services import Services

PREPARED: Final = "prepared"
"""Key, in a request's state, of the operation that this module prepared and could not answer."""


class DirectAnswers:
    """Answers requests for GraphQL documents whose response is cached or takes a small statement, and observations.

    Parameters
    ----------
    hosts
        The hosts that requests may name.
    gzip_min_size, gzip_level
        Minimum size in bytes of a response that is compressed, and the level.

    """

    def __init__(self, services: Services, hosts: Sequence[str], *, gzip_min_size: int, gzip_level: int) -> None:
        self._services, self._hosts = services, tuple(hosts)
        self._gzip_min_size, self._gzip_level = gzip_min_size, gzip_level
        # a token is looked up in the database
        self._answers_graphql = services.settings.auth != "tokens"
        self._is_off = bool(services.settings.cors_origins)  # CORS adds headers

    async def respond(self, scope: Scope, body: bytes) -> ASGIApp | None:
        """Return the response to a request, or None if the request takes the ordinary way."""
        headers = dict(scope["headers"])
        if not self._is_eligible(scope, headers):
            return None
        if scope["path"] == observations.ROUTE.path:
            response: Response | None = await _store_observation(scope, body)
        else:
            response = await self._answer_graphql(scope, headers, body)
        if response is None or len(response.body) < self._gzip_min_size:
            return response
        if b"gzip" in headers.get(b"accept-encoding", b""):
            return GZipMiddleware(response, self._gzip_min_size, self._gzip_level)
        response.headers.add_vary_header("Accept-Encoding")
        return response

    def _is_eligible(self, scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
        """Return whether a request is a plain POST that the other middleware would let pass unchanged."""
        return (
            not self._is_off
            and (scope["path"] == observations.ROUTE.path or (self._answers_graphql and scope["path"] == "/graphql"))
            and scope["method"] == "POST"
            and b"%00" not in scope["query_string"]
            and headers.get(b"sec-fetch-site") != b"cross-site"
            and len(headers) == len(scope["headers"])  # no header is repeated
            and is_host_allowed(headers.get(b"host", b"").decode("latin-1"), self._hosts)
        )

    async def _answer_graphql(self, scope: Scope, headers: Mapping[bytes, bytes], body: bytes) -> Response | None:
        media_type = graphql_http.response_media_type(headers.get(b"accept", b"").decode("latin-1"))
        if media_type is None or scope["query_string"]:
            return None
        response = await self._run(scope["state"], headers, body)
        if response is None:
            return None
        return graphql_http.graphql_response(response, graphql=media_type == graphql_http.GRAPHQL)

    async def _run(self, state: dict[str, Any], headers: Mapping[bytes, bytes], body: bytes) -> DocumentResponse | None:
        """Run the request in a body; return None if its response takes long or is an internal error."""
        content_type, counter = headers.get(b"content-type", b"").decode("latin-1"), StatementCounter()
        token = statement_counter.set(counter)
        try:
            request = DocumentRequest.from_parameters(graphql_http.parse_json_object(content_type, body))
            response = await self._services.api.run_inline(request, reference=state["request_id"])
        except RequestError:
            return None
        finally:
            statement_counter.reset(token)
        if not isinstance(response, DocumentResponse):
            state[PREPARED] = response
            return None
        if response.failures:
            return None
        self._services.record_response(state, response, counter.count)
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
