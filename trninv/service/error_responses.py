"""Turn exceptions of the routes into HTTP error responses; `application` registers these handlers."""

from collections.abc import Mapping
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from trninv.errors import (
    AdoptionError,
    BusyError,
    ConflictError,
    CostLimitError,
    DatabaseError,
    DiskFullError,
    ForbiddenError,
    IllegalSizeError,
    InternalError,
    MethodError,
    NotFoundError,
    OutOfMemoryError,
    QuotaError,
    ReadOnlyError,
    RequestError,
    SchemaOutdatedError,
    ScopeTooLargeError,
    StalePlanError,
    TimeLimitError,
    TrninvError,
    UnauthenticatedError,
    UnreachableError,
    UsageError,
    explain_memory_error,
)
from trninv.graphql.responses import public_database_error
from trninv.service import graphql_http
from trninv.service.services import get_services

_STATUS_BY_ERROR: Final[Mapping[type[TrninvError], int]] = {
    UnauthenticatedError: 401,
    ForbiddenError: 403,
    NotFoundError: 404,
    ReadOnlyError: 409,
    ConflictError: 409,
    StalePlanError: 409,
    UsageError: 400,
    AdoptionError: 400,
    IllegalSizeError: 400,
    ScopeTooLargeError: 400,
    CostLimitError: 400,
    TimeLimitError: 503,
    UnreachableError: 503,
    DiskFullError: 503,
    SchemaOutdatedError: 503,
    BusyError: 503,
    OutOfMemoryError: 503,
    QuotaError: 429,
}
_ERROR_BY_STATUS: Final[Mapping[int, type[TrninvError]]] = {404: NotFoundError, 405: MethodError}


async def expected_error_response(request: Request, error: Exception) -> Response:
    """Return the response to an expected error; a database failure is logged, and the client gets the request's id."""
    assert isinstance(error, TrninvError)
    if isinstance(error, UnreachableError | DiskFullError | SchemaOutdatedError):
        get_services(request).log_failure(request.state.request_id, error)
        error = public_database_error(error, _request_id(request))
    elif isinstance(error, DatabaseError) and not isinstance(error, ReadOnlyError):  # its message is for the operator
        return await internal_error_response(request, error)
    request.state.code = error.code
    statuses = (status for error_class, status in _STATUS_BY_ERROR.items() if isinstance(error, error_class))
    status = next(statuses, 500)
    response = graphql_http.error_response(error, status, graphql=graphql_http.accepts_graphql(request.headers))
    if isinstance(error, UnauthenticatedError):
        response.headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, QuotaError):
        response.headers["Retry-After"] = str(error.retry_after)
    return response


async def internal_error_response(request: Request, error: Exception) -> Response:
    """Log an unexpected error, and return a response with the request's id only."""
    get_services(request).log_failure(request.state.request_id, error)
    if isinstance(explained := explain_memory_error(error), OutOfMemoryError):
        return await expected_error_response(request, explained)
    request.state.code = InternalError.code
    internal_error = InternalError(f"internal error: see the server's log for request {_request_id(request)}")
    return graphql_http.error_response(internal_error, 500)


def _request_id(request: Request) -> str:
    return str(request.state.request_id)


async def not_found_response(request: Request, error: Exception) -> Response:
    """Return the response to an error that Starlette raises, such as for an unknown path or method."""
    assert isinstance(error, HTTPException)
    error_class = _ERROR_BY_STATUS.get(error.status_code, RequestError)
    request_error = error_class(f"{request.url.path[:60]}: {error.detail}; see /")
    request.state.code = request_error.code
    response = graphql_http.error_response(
        request_error, error.status_code, graphql=graphql_http.accepts_graphql(request.headers)
    )
    response.headers.update(error.headers or {})
    return response
