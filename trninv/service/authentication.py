"""Authenticate requests; only probes, enrollment and static pages (explorer, GraphiQL) need no identity.

A request has its identity from a bearer token of trninv, from an OpenID token of a person, or from a trusted proxy.
"""

from collections.abc import Hashable
from typing import Final

from starlette.requests import Request

from trninv.errors import ForbiddenError, UnauthenticatedError
from trninv.graphql import worker_pools
from trninv.inventory.access.bearer_tokens import PREFIX, Principal
from trninv.service.people import find_proxied_person
from trninv.service.services import Services, get_services

ANONYMOUS: Final = Principal("", "admin")
"""Principal of every request if tokens are off."""
REVISION: Final = "revision"
"""Key, in a request's state, of the database's revision, if it was read since the request arrived."""


async def authenticate(request: Request, scope: str, *, is_recheck: bool = False) -> Principal:
    """Return the principal (name and scope) of a request, and refuse one without the scope.

    If tokens are off, return an anonymous principal that may do anything.

    Parameters
    ----------
    is_recheck
        Whether a stream checks its token again; one look-up then serves all streams with the same token.

    Raises
    ------
    UnauthenticatedError
        Tokens are on, and the request has no valid identity.
    ForbiddenError
        The principal's scope does not allow this.

    """
    services = get_services(request)
    if services.settings.auth != "tokens":
        return ANONYMOUS
    principal = find_proxied_person(request, services.settings) or await _find_bearer(request, services, is_recheck)
    if not principal.allows(scope):
        raise ForbiddenError(f"{request.url.path} needs a token of scope {scope}")
    _record_principal(request, principal)
    return principal


def find_cached_principal(request: Request, scope: str, revision: Hashable | None) -> Principal | None:
    """Return the principal of a request's token if it is cached at the database's revision and has the scope."""
    token = deferred_token(request)
    principal = get_services(request).tokens.find_cached(token, revision) if token else None
    if principal is None or not principal.allows(scope):
        return None
    _record_principal(request, principal)
    return principal


def _record_principal(request: Request, principal: Principal) -> None:
    """Note a request's principal for the log and for the queues of the worker pools."""
    request.state.who = principal.name
    worker_pools.current_client.set(f"{'person' if principal.token_id is None else 'token'} {principal.name}")


async def _find_bearer(request: Request, services: Services, is_recheck: bool) -> Principal:
    token = _bearer_token(request)
    if not token:
        raise UnauthenticatedError("no valid Authorization header; send Authorization: Bearer trninv_…")
    if services.openid and not token.startswith(PREFIX):
        return await services.openid.find_person(token)
    if is_recheck:
        return await services.tokens.find_shared(token)
    return await services.tokens.find(token, request.scope["state"].get(REVISION))


def deferred_token(request: Request) -> str:
    """Return the token of a request, which the caller must look up; "" if `authenticate` has to find the principal."""
    settings = get_services(request).settings
    is_proxied = bool(settings.proxy_header and request.headers.get(settings.proxy_header))
    token = "" if is_proxied or settings.auth != "tokens" else _bearer_token(request)
    return token if token.startswith(PREFIX) else ""


def _bearer_token(request: Request) -> str:
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""
