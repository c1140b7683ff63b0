"""Parse GraphQL requests in HTTP, negotiate media types, and write responses and ETags.

Follows the GraphQL over HTTP specification (draft of 2025): with application/graphql-response+json the status says
whether the document was executed; with application/json, for older clients, the status is 200 in either case. A few
error codes (`_STATUS_BY_CODE`) and internal errors have their own status with both media types.
"""

import hashlib
import json
from collections.abc import Hashable
from functools import lru_cache
from http import HTTPStatus
from typing import Any

import orjson
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from trninv.errors import RequestError, TrninvError
from trninv.graphql.document_request import Request as DocumentRequest
from trninv.graphql.responses import Response as DocumentResponse
from trninv.service.request_parsing import AcceptHeader, parse_accept, query_parameters

JSON, GRAPHQL, EVENT_STREAM = "application/json", "application/graphql-response+json", "text/event-stream"
MAX_JSON_CONTAINERS = 100_000
"""Maximum number of lists and objects in a body; parsing more would block the event loop for too long."""
_EXAMPLE = '{"query": "{ clusters { nodes { slug } } }"}'
_STATUS_BY_CODE = {
    "UNAUTHENTICATED": 401,
    "FORBIDDEN": 403,
    "UNKNOWN_DOCUMENT": 404,
    "METHOD_NOT_ALLOWED": 405,
    "READ_ONLY": 409,
    "BUSY": 503,
    "OUT_OF_MEMORY": 503,
    "DATABASE_NOT_REACHABLE": 503,
    "DISK_FULL": 503,
    "NOT_MIGRATED": 503,
}


async def parse_graphql_request(request: Request) -> DocumentRequest:
    """Parse the GraphQL request in an HTTP request.

    Raises
    ------
    RequestError
        The request is malformed.

    """
    parameters = query_parameters(request)
    if request.method == "GET":
        return DocumentRequest.from_parameters(
            {name: _parse_parameter(name, value) for name, value in parameters.items()}
        )
    body = read_json_object(request, await request.body(), _EXAMPLE)
    return DocumentRequest.from_parameters({"at": parameters["at"]} | body if "at" in parameters else body)


def read_json_object(request: Request, body: bytes, example: str) -> dict[str, Any]:
    """Parse the JSON object in a request's body; see `parse_json_object`."""
    return parse_json_object(request.headers.get("content-type", ""), body, example)


def require_json_object(request: Request, body: bytes, example: str) -> None:
    """Refuse a body as `read_json_object` does, but leave one line that begins an object to its reader."""
    if body.startswith(b"{") and b"\n" not in body.rstrip():
        _check_json(request.headers.get("content-type", ""), body)
    else:
        read_json_object(request, body, example)


def parse_json_object(content_type: str, body: bytes, example: str = _EXAMPLE) -> dict[str, Any]:
    """Parse a JSON object; only application/json is accepted, which other origins cannot send without preflight.

    Raises
    ------
    RequestError
        The body is not a JSON object, has another media type, or has more than MAX_JSON_CONTAINERS lists and objects.

    """
    _check_json(content_type, body)
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        raise RequestError(f"the body is not a JSON object; send {example}")
    return value


def _check_json(content_type: str, body: bytes) -> None:
    """Refuse another media type, and more lists and objects than a request may have."""
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type != JSON:
        raise RequestError("the body is not application/json; set Content-Type: application/json")
    if body.count(b"[") + body.count(b"{") > MAX_JSON_CONTAINERS:
        raise RequestError(f"the body has more than {MAX_JSON_CONTAINERS:,} lists and objects; send fewer in a request")


def _parse_parameter(name: str, value: str) -> Any:
    if name not in ("variables", "extensions"):
        return value
    try:
        return orjson.loads(value or "null")
    except orjson.JSONDecodeError:
        raise RequestError(f"{name} is not JSON") from None


def accepts_graphql(headers: Headers) -> bool:
    """Return whether the client accepts application/graphql-response+json at least as much as application/json."""
    return _accepts_graphql(parse_accept(headers))


@lru_cache(maxsize=128)
def response_media_type(accept: str) -> str | None:
    """Return the media type of a single response for an Accept header; None for a stream, or if JSON is excluded."""
    header = parse_accept(Headers({"accept": accept}))
    if header.prefers(EVENT_STREAM, JSON, GRAPHQL) or not any(map(header.quality, (JSON, GRAPHQL))):
        return None
    return GRAPHQL if _accepts_graphql(header) else JSON


def _accepts_graphql(accept: AcceptHeader) -> bool:
    return accept.lists(GRAPHQL) and accept.quality(GRAPHQL) >= accept.quality(JSON)


def accepts_stream(headers: Headers) -> bool:
    """Return whether the client prefers server-sent events to a single response."""
    return parse_accept(headers).prefers(EVENT_STREAM, JSON, GRAPHQL)


def accepts_no_json(headers: Headers) -> bool:
    """Return whether the client accepts no JSON at all."""
    return not any(map(parse_accept(headers).quality, (JSON, GRAPHQL)))


def http_status(response: DocumentResponse, *, graphql: bool) -> int:
    """Return a response's HTTP status; `graphql` says that its media type is GRAPHQL, not JSON."""
    if response.code in _STATUS_BY_CODE:
        return _STATUS_BY_CODE[response.code]
    if response.failures:
        return 500
    if not graphql or response.is_executed:
        return 200
    return 400


def graphql_response(response: DocumentResponse, *, graphql: bool, etag: str | None = None) -> Response:
    """Return the HTTP response that carries a GraphQL response."""
    media_type = GRAPHQL if graphql else JSON
    status = http_status(response, graphql=graphql)
    headers = cache_headers(etag, vary="Accept, Authorization") | _retry_after(status)
    return Response(response.body, status, headers, media_type=f"{media_type}; charset=utf-8")


def cache_headers(etag: str | None, *, vary: str) -> dict[str, str]:
    """Return headers that let a client revalidate its copy."""
    return {"ETag": etag, "Cache-Control": "private, no-cache", "Vary": vary} if etag else {}


def not_modified(request: Request, etag: str | None) -> Response | None:
    """Return a 304 response if the client's copy is current, else None."""
    if etag is None or etag not in request.headers.get("if-none-match", ""):
        return None
    return Response(status_code=304, headers={"ETag": etag, "Cache-Control": "private, no-cache"})


def error_response(error: TrninvError, status: int, *, graphql: bool = False) -> Response:
    """Return an HTTP response that carries a single error and no data."""
    body = orjson.dumps({"errors": [{"message": str(error), "extensions": error.extensions}]})
    media_type = GRAPHQL if graphql else JSON
    return Response(body, status, _retry_after(status), media_type=f"{media_type}; charset=utf-8")


def _retry_after(status: int) -> dict[str, str]:
    """Return a Retry-After header if the status is 503."""
    return {"Retry-After": "1"} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}


def compute_etag(
    request: DocumentRequest, revision: Hashable | None, process: str, who: str, *, graphql: bool
) -> str | None:
    """Return the ETag of a request's response at a revision; None if the revision is unknown."""
    if revision is None:
        return None
    parts = [
        request.query,
        request.variables,
        request.operation,
        request.document,
        request.as_of,
        str(revision),
        process,
        who,
        graphql,
    ]
    return f'"{hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]}"'
