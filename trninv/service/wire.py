"""GraphQL over HTTP: what a request asks, and how its answer is sent.

Follows the GraphQL over HTTP specification (draft of 2025): application/graphql-response+json tells by its status
whether a document was executed; application/json, for older clients, is 200 whenever a GraphQL server answered.
"""

import hashlib
import json
from collections.abc import Hashable
from http import HTTPStatus
from typing import Any

import orjson
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from trninv.errors import RequestError, TrninvError
from trninv.graphql.api import Request as DocumentRequest
from trninv.graphql.response import Response as DocumentResponse
from trninv.service.accept import accepted
from trninv.service.query import query

JSON, GRAPHQL, EVENTS = "application/json", "application/graphql-response+json", "text/event-stream"
MAX_NESTS = 100_000
"""Lists and objects in a body, which nothing else can run beside while they are read."""
_REFUSED = {
    "UNAUTHENTICATED": 401,
    "FORBIDDEN": 403,
    "UNKNOWN_DOCUMENT": 404,
    "METHOD_NOT_ALLOWED": 405,
    "READ_ONLY": 409,
    "BUSY": 503,
    "DATABASE_NOT_REACHABLE": 503,
}


async def asked(request: Request) -> DocumentRequest:
    """The GraphQL request in an HTTP request.

    Raises
    ------
    RequestError
        It is none.

    """
    address = query(request)
    if request.method == "GET":
        return DocumentRequest.of({name: _parameter(name, value) for name, value in address.items()})
    given = json_object(request, await request.body(), '{"query": "{ clusters { nodes { slug } } }"}')
    return DocumentRequest.of({"at": address["at"]} | given if "at" in address else given)


def json_object(request: Request, body: bytes, example: str) -> dict[str, Any]:
    """The body of a request; only as application/json, which a page of another origin can't send unasked.

    Raises
    ------
    RequestError
        It is none.

    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise RequestError("send the request as application/json")
    if body.count(b"[") + body.count(b"{") > MAX_NESTS:
        raise RequestError(f"the body has more than {MAX_NESTS:,} lists and objects: send fewer in a request")
    try:
        given = orjson.loads(body)
    except orjson.JSONDecodeError:
        given = None
    if not isinstance(given, dict):
        raise RequestError(f"the body is not a JSON object: send {example}")
    return given


def _parameter(name: str, value: str) -> Any:
    if name not in ("variables", "extensions"):
        return value
    try:
        return orjson.loads(value or "null")
    except orjson.JSONDecodeError:
        raise RequestError(f"{name} is not JSON") from None


def accepts_graphql(headers: Headers) -> bool:
    """Whether a client takes application/graphql-response+json, and no less than application/json."""
    accept = accepted(headers)
    return accept.names(GRAPHQL) and accept.quality(GRAPHQL) >= accept.quality(JSON)


def accepts_stream(headers: Headers) -> bool:
    """Whether a client wants server-sent events rather than an answer."""
    return accepted(headers).prefers(EVENTS, JSON, GRAPHQL)


def unacceptable(headers: Headers) -> bool:
    """Whether the client takes no JSON at all."""
    return not any(map(accepted(headers).quality, (JSON, GRAPHQL)))


def status_of(answer: DocumentResponse, *, graphql: bool) -> int:
    """The HTTP status of an answer, by the rules of GraphQL over HTTP."""
    if answer.code in _REFUSED:
        return _REFUSED[answer.code]
    if answer.failures:
        return 500
    if not graphql or answer.ran:
        return 200
    return 400


def sent(answer: DocumentResponse, *, graphql: bool, etag: str | None = None) -> Response:
    """An answer as an HTTP response."""
    media = GRAPHQL if graphql else JSON
    status = status_of(answer, graphql=graphql)
    headers = validators(etag, vary="Accept, Authorization") | _again(status)
    return Response(answer.body, status, headers, media_type=f"{media}; charset=utf-8")


def validators(etag: str | None, *, vary: str) -> dict[str, str]:
    """Headers by which a client asks again only for what has changed."""
    return {"ETag": etag, "Cache-Control": "private, no-cache", "Vary": vary} if etag else {}


def not_modified(request: Request, etag: str | None) -> Response | None:
    """The answer to a client that has the newest already."""
    if etag is None or etag not in request.headers.get("if-none-match", ""):
        return None
    return Response(status_code=304, headers={"ETag": etag, "Cache-Control": "private, no-cache"})


def refusal(error: TrninvError, status: int, *, graphql: bool = False) -> Response:
    """An error as the whole answer."""
    body = orjson.dumps({"errors": [{"message": str(error), "extensions": error.extensions}]})
    media = GRAPHQL if graphql else JSON
    return Response(body, status, _again(status), media_type=f"{media}; charset=utf-8")


def _again(status: int) -> dict[str, str]:
    """When to ask again, where the service was too busy."""
    return {"Retry-After": "1"} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}


def etag_of(
    request: DocumentRequest, revision: Hashable | None, process: str, who: str, *, graphql: bool
) -> str | None:
    """What names the answer to a request on one state of the database; None where states can't be told apart."""
    if revision is None:
        return None
    named = [
        request.query,
        request.variables,
        request.operation,
        request.document,
        request.at,
        str(revision),
        process,
        who,
        graphql,
    ]
    return f'"{hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:32]}"'
