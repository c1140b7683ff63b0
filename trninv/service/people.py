"""Turn a person whom an identity provider or a trusted proxy vouches for into a principal with a scope.

A person has no row in the database: the name and the groups come with each request, and TRNINV_GROUP_SCOPES says which
scope a group gives. Proxies such as oauth2-proxy, or load balancers that sign people in, send both in headers.
"""

from collections.abc import Collection, Sequence
from ipaddress import ip_address
from typing import Final

from starlette.requests import Request

from trninv.characters import has_forbidden_characters
from trninv.errors import ForbiddenError, UnauthenticatedError
from trninv.inventory.access.bearer_tokens import Principal
from trninv.settings import Settings

MAX_NAME: Final = 254
"""Maximum length of a person's name, in characters; an e-mail address has no more."""
EVERYBODY: Final = "*"
"""Stands for every group, and for people without one."""


def find_person(name: object, groups: Collection[str], group_scopes: Sequence[tuple[str, str]]) -> Principal:
    """Return a person as a principal; the first entry of `group_scopes` with one of the groups gives the scope.

    Raises
    ------
    UnauthenticatedError
        The name is missing, too long, or has characters that can't be stored.
    ForbiddenError
        None of the groups gives a scope.

    """
    if not isinstance(name, str) or not 0 < len(name.strip()) <= MAX_NAME or has_forbidden_characters([name]):
        raise UnauthenticatedError("the person who signed in has no usable name; check TRNINV_OIDC_NAME")
    if not name.isprintable():
        raise UnauthenticatedError("the name of the person who signed in has unprintable characters")
    for group, scope in group_scopes:
        if group == EVERYBODY or group in groups:
            return Principal(name.strip(), scope)
    raise ForbiddenError(f"none of the groups of {name.strip()} has a scope; add one to TRNINV_GROUP_SCOPES")


def find_proxied_person(request: Request, settings: Settings) -> Principal | None:
    """Return the person that a trusted proxy names; None if the header is off or the request does not have it.

    Raises
    ------
    UnauthenticatedError
        The header does not come from a trusted proxy, or occurs twice.
    ForbiddenError
        None of the person's groups gives a scope.

    """
    names = request.headers.getlist(settings.proxy_header) if settings.proxy_header else []
    if not names:
        return None
    if not _is_trusted(request, settings):
        raise UnauthenticatedError(
            f"the header {settings.proxy_header} is accepted only from the addresses in TRNINV_PROXY_ADDRESSES"
        )
    if len(names) > 1:
        raise UnauthenticatedError(f"the header {settings.proxy_header} occurs twice; let the proxy replace it")
    # header bytes arrive as Latin-1; proxies send UTF-8
    name = names[0].encode("latin-1").decode("utf-8", errors="replace")
    headers = request.headers.getlist(settings.proxy_groups_header)
    groups = {group.strip() for header in headers for group in header.split(",")}
    return find_person(name, groups, settings.group_scopes)


def _is_trusted(request: Request, settings: Settings) -> bool:
    """Return whether the connection, not what X-Forwarded-For says of it, comes from a listed address."""
    try:
        peer = ip_address(request.scope["state"].get("peer", ""))
    except ValueError:
        return False
    return any(peer in network for network in settings.proxy_addresses)
