"""Authenticate requests by bearer token."""

from starlette.requests import Request

from trninv.database.engine import read_transaction
from trninv.errors import ForbiddenError, UnauthenticatedError
from trninv.graphql import worker_pools
from trninv.inventory.access import bearer_tokens
from trninv.service.services import get_services

_ANONYMOUS = bearer_tokens.Principal("", "admin")
"""Principal of every request if tokens are off."""


async def authenticate(request: Request, scope: str) -> bearer_tokens.Principal:
    """Return the principal of a request's token, and refuse a request without the scope.

    Raises
    ------
    UnauthenticatedError
        Tokens are on, and the request has no valid one.
    ForbiddenError
        The token's scope does not allow this.

    """
    services = get_services(request)
    if services.settings.auth != "tokens":
        return _ANONYMOUS
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not token:
        raise UnauthenticatedError("no valid Authorization header; send Authorization: Bearer trninv_…")

    def find_principal() -> bearer_tokens.Principal:
        with read_transaction(services.fleet.engine) as connection:
            return bearer_tokens.find_principal(connection, token.strip())

    principal = await services.read(find_principal)
    if not principal.allows(scope):
        raise ForbiddenError(f"{request.url.path} needs a token of scope {scope}")
    request.state.who = principal.name
    worker_pools.current_client.set(f"token {principal.name}")
    return principal
