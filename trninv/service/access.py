"""Who asks: the holder of a bearer token, where tokens are asked for."""

from starlette.requests import Request

from trninv.errors import ForbiddenError, UnauthenticatedError
from trninv.graphql import workers
from trninv.inventory import access
from trninv.inventory.database import reading
from trninv.service.shared import shared

_ANYBODY = access.Holder("", "admin")
"""Who asks where no tokens are asked for."""


async def holder(request: Request, scope: str) -> access.Holder:
    """The holder of a request's token.

    Raises
    ------
    UnauthenticatedError
        Tokens are asked for, and the request has none that is valid.
    ForbiddenError
        The token's scope does not allow this.

    """
    at = shared(request)
    if at.settings.auth != "tokens":
        return _ANYBODY
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not given:
        raise UnauthenticatedError("send a token: Authorization: Bearer trninv_…")

    def find() -> access.Holder:
        with reading(at.fleet.engine) as connection:
            return access.holder(connection, given.strip())

    found = await at.read(find)
    if not found.may(scope):
        raise ForbiddenError(f"{request.url.path} wants a token of scope {scope}")
    request.state.who = found.name
    workers.client.set(f"token {found.name}")
    return found
