"""Failures outside of a GraphQL document, as answers."""

from collections.abc import Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from trninv.errors import (
    BusyError,
    DatabaseError,
    ForbiddenError,
    InternalError,
    NotFoundError,
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
    UsageError: 400,
    TimeLimitError: 503,
    BusyError: 503,
}
CLIENT_LEFT: Final = 499


async def refused(request: Request, error: Exception) -> Response:
    """An expected failure."""
    assert isinstance(error, TrninvError)
    if isinstance(error, DatabaseError):  # its words are for the operator
        return await broken(request, error)
    request.state.code = error.code
    status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)
    answer = wire.refusal(error, status, graphql=wire.accepts_graphql(request.headers))
    if isinstance(error, UnauthenticatedError):
        answer.headers["WWW-Authenticate"] = "Bearer"
    return answer


async def broken(request: Request, error: Exception) -> Response:
    """Any other failure: the client is told its id, the log has the rest."""
    shared(request).failed(request, error)
    request.state.code = InternalError.code
    told = InternalError(f"internal error: see the server's log for request {request.state.request_id}")
    return wire.refusal(told, 500)


async def left(_request: Request, _error: Exception) -> Response:
    """The client hung up."""
    return Response(status_code=CLIENT_LEFT)
