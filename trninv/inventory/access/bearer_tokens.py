"""Create, authenticate and revoke bearer tokens.

A token is shown once, when it is created. The database holds its SHA-256 and its one scope.
"""

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Connection, insert, select, update

from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES, TOKEN_SCOPES_ALLOWED
from trninv.errors import InvalidArgumentError, UnauthenticatedError, UnknownTokenError, suggestion
from trninv.inventory.access.quota import Usage
from trninv.units import current_timestamp, format_timestamp

PREFIX = "trninv_"
"""The prefix of every token, by which secret scanners find leaked ones."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_DAYS = re.compile(r"(\d{1,4})([dh])")
_TOKEN, _DIGEST = TABLES["token"], TABLES["_token_digest"]


@dataclass(frozen=True, slots=True)
class Principal:
    """A token's name and scope, with what it has reported in the current hour."""

    name: str
    scope: str
    usage: Usage | None = field(default=None, compare=False)

    def allows(self, scope: str) -> bool:
        """Return whether this token may do what `scope` is required for."""
        return scope in TOKEN_SCOPES_ALLOWED[self.scope]


class ListedToken(NamedTuple):
    """A token without its secret; usage in the current hour only for tokens of scope "observe"."""

    name: str
    scope: str
    created: str
    expires: str | None
    revoked: str | None
    rows_this_hour: int | None
    bytes_this_hour: int | None


def create_token(connection: Connection, name: str, scope: str, expires: str | None) -> str:
    """Create a token and return its text, which cannot be read again later.

    Parameters
    ----------
    expires
        The lifetime in days or hours, such as "90d" or "12h"; None: the token never expires.
    """
    if not _NAME.fullmatch(name):
        raise InvalidArgumentError(f"{name[:80]!r} can't name a token: 1 to 64 letters, digits, dots, dashes or @")
    if connection.scalar(select(_TOKEN.c.id).where(_TOKEN.c.name == name)) is not None:
        raise InvalidArgumentError(f"a token {name!r} exists: revoke it and take another name")
    token, now = f"{PREFIX}{secrets.token_urlsafe(32)}", datetime.now(UTC)
    until = None if expires is None else format_timestamp(now + _parse_lifetime(expires))
    key = next_id(connection, _TOKEN)
    row = {"id": key, "name": name, "scope": scope, "created": format_timestamp(now), "expires": until}
    connection.execute(insert(_TOKEN).values(**row))
    connection.execute(insert(_DIGEST).values(id=key, sha256=_digest(token)))
    return token


def _parse_lifetime(text: str) -> timedelta:
    match = _DAYS.fullmatch(text)
    if not match or not int(match[1]):
        raise InvalidArgumentError(f"--expires {text}: write days or hours, such as 90d or 12h")
    return timedelta(**{{"d": "days", "h": "hours"}[match[2]]: int(match[1])})


def list_tokens(connection: Connection) -> Sequence[ListedToken]:
    """Return all tokens, without their secrets."""
    tokens, now = list[ListedToken](), datetime.now(UTC)
    for row in connection.execute(select(_TOKEN).order_by(_TOKEN.c.id)):
        used = Usage.from_row(row, now) if row.scope == "observe" else None
        usage = (used.rows, used.bytes) if used else (None, None)
        tokens.append(ListedToken(row.name, row.scope, row.created, row.expires, row.revoked, *usage))
    return tokens


def revoke_token(connection: Connection, name: str) -> None:
    """Revoke a token; revoking it again keeps the first time.

    Raises
    ------
    UnknownTokenError
        There is no token of that name.
    """
    names = list(connection.scalars(select(_TOKEN.c.name)))
    if name not in names:
        raise UnknownTokenError(f"no token {name[:80]!r}: {suggestion(name, names)}")
    now = current_timestamp()
    connection.execute(update(_TOKEN).where(_TOKEN.c.name == name, _TOKEN.c.revoked.is_(None)).values(revoked=now))


def find_principal(connection: Connection, token: str) -> Principal:
    """Return the principal that a valid token identifies.

    Raises
    ------
    UnauthenticatedError
        The token is unknown, revoked or expired; the message does not say which, so that it helps no attacker.
    """
    query = select(_TOKEN).join(_DIGEST, _DIGEST.c.id == _TOKEN.c.id).where(_DIGEST.c.sha256 == _digest(token))
    row = connection.execute(query).first()
    if row is None or row.revoked or (row.expires and row.expires <= current_timestamp()):
        raise UnauthenticatedError("the token is unknown, revoked or expired: trninv token create makes another")
    return Principal(row.name, row.scope, Usage.from_row(row, datetime.now(UTC)))


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
