"""Failures outside of a GraphQL document, as answers."""

from collections.abc import Mapping
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from trninv.errors import (
    BusyError,
    DatabaseError,
    ForbiddenError,
    InternalError,
    MethodError,
    NotFoundError,
    NotReachableError,
    QuotaError,
    ReadOnlyError,
    RequestError,
    TimeLimitError,
    TrninvError,
    UnauthenticatedError,
    UsageError,
)
from trninv.service import wire
from trninv.service.shared import shared

_STATUS: Final[Mapping[type[TrninvError], int]] = {
    UnauthenticatedError: 401,
    ForbiddenError: 403,
    NotFoundError: 404,
    ReadOnlyError: 409,
    UsageError: 400,
    TimeLimitError: 503,
    NotReachableError: 503,
    BusyError: 503,
    QuotaError: 429,
}
_NOT_SERVED: Final[Mapping[int, type[TrninvError]]] = {404: NotFoundError, 405: MethodError}


async def refused(request: Request, error: Exception) -> Response:
    """An expected failure."""
    assert isinstance(error, TrninvError)
    if isinstance(error, NotReachableError):
        shared(request).failed(request, error)
        error = NotReachableError(f"the database did not answer: see the server's log for request {_id(request)}")
    elif isinstance(error, DatabaseError) and not isinstance(error, ReadOnlyError):  # its words are for the operator
        return await broken(request, error)
    request.state.code = error.code
    status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)
    answer = wire.refusal(error, status, graphql=wire.accepts_graphql(request.headers))
    if isinstance(error, UnauthenticatedError):
        answer.headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, QuotaError):
        answer.headers["Retry-After"] = str(error.retry_after)
    return answer


async def broken(request: Request, error: Exception) -> Response:
    """Any other failure: the client is told its id, the log has the rest."""
    shared(request).failed(request, error)
    request.state.code = InternalError.code
    told = InternalError(f"internal error: see the server's log for request {_id(request)}")
    return wire.refusal(told, 500)


def _id(request: Request) -> str:
    return str(request.state.request_id)


async def not_served(request: Request, error: Exception) -> Response:
    """A path, or a method of it, that the service does not have."""
    assert isinstance(error, HTTPException)
    known = _NOT_SERVED.get(error.status_code, RequestError)(f"{request.url.path[:60]}: {error.detail}: see /")
    request.state.code = known.code
    answer = wire.refusal(known, error.status_code, graphql=wire.accepts_graphql(request.headers))
    answer.headers.update(error.headers or {})
    return answer
