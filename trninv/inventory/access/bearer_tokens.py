"""Create, rotate, authenticate and revoke bearer tokens.

A token belongs to a principal: a person, a program or a machine, known by its name. A principal may have several
tokens, so that one can replace another without an interruption. The `trninv token` commands manage tokens; the service
authenticates requests with them. A token is printed once, when it is created; the database stores its SHA-256, not the
token itself. Its scope says what it allows.
"""

import hashlib
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, and_, insert, or_, select, update

from trninv.database.bulk_read import batches
from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES, TOKEN_SCOPES_ALLOWED
from trninv.errors import ConflictError, InvalidArgumentError, UnauthenticatedError, UnknownTokenError, suggestion
from trninv.inventory.access.quota import Usage
from trninv.inventory.access.token_events import record_token_events
from trninv.inventory.state.author import check_author
from trninv.units import current_timestamp, format_timestamp, pluralize

PREFIX = "trninv_"
"""The prefix of every token; secret scanners recognize leaked tokens by it."""
MAX_NAMES = 100_000
"""The maximum number of tokens that one change creates."""
USE_PRECISION = timedelta(hours=1)
"""The time of a token's last use is stored again only if the stored one is older than this."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
LIFETIME: Final = re.compile(r"([0-9]{1,4})([dh])")
_PRINCIPAL, _TOKEN, _DIGEST = (TABLES[name] for name in ("principal", "token", "_token_digest"))


@dataclass(frozen=True, slots=True)
class Principal:
    """Whom a request comes from, and the scope that it has.

    Attributes
    ----------
    usage
        What the principal has reported in the current hour; None for a client without a token.
    token_id
        The id of its token; None for a client without one.
    last_used
        The stored time of the token's last use; None: it was never used.
    expires
        When its token expires; None: never.
    """

    name: str
    scope: str
    usage: Usage | None = field(default=None, compare=False)
    token_id: int | None = field(default=None, compare=False)
    last_used: str | None = field(default=None, compare=False)
    expires: str | None = field(default=None, compare=False)

    def allows(self, scope: str) -> bool:
        """Return whether this principal may do things that require `scope`."""
        return scope in TOKEN_SCOPES_ALLOWED[self.scope]

    @property
    def identity(self) -> str:
        """What tells this client's responses from those of others: a name may have several scopes."""
        return f"{self.scope} {self.name}"


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new token.

    Attributes
    ----------
    name
        The name of the principal.
    token
        The token itself, which is not stored.
    """

    name: str
    token: str


def issue_tokens(
    connection: Connection,
    names: Sequence[str],
    scope: str,
    expires: str | None,
    *,
    who: str,
    action: str = "create",
    detail: str | None = None,
) -> list[IssuedToken]:
    """Create one token for each principal and return them; principals that do not exist are created.

    Parameters
    ----------
    expires
        The lifetime in days or hours, such as "90d" or "12h"; None: the tokens never expire.
    action, detail
        What the tokens' events say.
    """
    check_author(who)
    if not 0 < len(names) <= MAX_NAMES:
        raise InvalidArgumentError(f"{pluralize(len(names), 'name')}: name 1 to {MAX_NAMES:,} principals")
    now = datetime.now(UTC)
    created = format_timestamp(now)
    expiry = None if expires is None else format_timestamp(now + parse_lifetime(expires))
    ids = _principal_ids(connection, names)
    issued = [IssuedToken(name, f"{PREFIX}{secrets.token_urlsafe(32)}") for name in names]
    first_id = next_id(connection, _TOKEN)
    row = {"scope": scope, "created": created, "issued_by": who, "expires": expiry}
    connection.execute(
        insert(_TOKEN),
        [{"id": first_id + n, "principal_id": ids[token.name], **row} for n, token in enumerate(issued)],
    )
    connection.execute(
        insert(_DIGEST), [{"id": first_id + n, "sha256": _sha256(token.token)} for n, token in enumerate(issued)]
    )
    token_ids = range(first_id, first_id + len(issued))
    record_token_events(connection, token_ids, action, who=who, time=created, detail=detail)
    return issued


def create_token(connection: Connection, name: str, scope: str, expires: str | None, *, who: str = "trninv") -> str:
    """Create one token and return its text; see `issue_tokens`."""
    return issue_tokens(connection, [name], scope, expires, who=who)[0].token


def _principal_ids(connection: Connection, names: Sequence[str]) -> dict[str, int]:
    """Return the ids of the principals with these names; create those that do not exist."""
    for name, count in Counter(names).items():
        if not _NAME.fullmatch(name):
            raise InvalidArgumentError(f"{name[:80]!r} can't name a token: write 1 to 64 letters, digits or ._@-")
        if count > 1:
            raise InvalidArgumentError(f"{name!r} is named {count} times: name each principal once")
    ids = dict[str, int]()
    for batch in batches(names):
        query = select(_PRINCIPAL.c.name, _PRINCIPAL.c.id).where(_PRINCIPAL.c.name.in_(batch))
        ids |= {row.name: row.id for row in connection.execute(query)}
    missing = [name for name in names if name not in ids]
    if missing:
        created = dict(zip(missing, range(first := next_id(connection, _PRINCIPAL), first + len(missing)), strict=True))
        connection.execute(insert(_PRINCIPAL), [{"id": key, "name": name} for name, key in created.items()])
        ids |= created
    return ids


def parse_lifetime(text: str, option: str = "--expires") -> timedelta:
    """Return a span that is written in days or hours."""
    match = LIFETIME.fullmatch(text)
    if not match or not int(match[1]):
        raise InvalidArgumentError(f"{option} {text}: write days or hours, such as 90d or 12h")
    return timedelta(**{{"d": "days", "h": "hours"}[match[2]]: int(match[1])})


def rotate_token(
    connection: Connection, name: str, scope: str | None, expires: str | None, overlap: str, *, who: str
) -> str:
    """Create another token of a principal and let its valid tokens of the same scope expire after an overlap.

    Parameters
    ----------
    scope
        The scope of the tokens to replace; None: that of all valid tokens.

    Raises
    ------
    UnknownTokenError
        There is no principal of that name.
    ConflictError
        It has no valid token, or valid tokens of several scopes.
    """
    now = datetime.now(UTC)
    old = connection.execute(
        select(_TOKEN).where(_TOKEN.c.principal_id == _find_principal_id(connection, name), is_valid(now))
    ).all()
    scopes = sorted({row.scope for row in old})
    if scope is None and len(scopes) > 1:
        raise ConflictError(f"{name} has tokens of the scopes {', '.join(scopes)}: say which to replace with --scope")
    replaced = [row for row in old if scope in (None, row.scope)]
    if not replaced:
        kind = "token" if scope is None else f"token of scope {scope}"
        raise ConflictError(f"{name} has no valid {kind} to replace: create one with trninv token create {name}")
    end = format_timestamp(now + parse_lifetime(overlap, "--overlap"))
    ids = [row.id for row in replaced]
    ends_later = or_(_TOKEN.c.expires.is_(None), _TOKEN.c.expires > end)
    token = issue_tokens(connection, [name], replaced[0].scope, expires, who=who)[0].token
    connection.execute(update(_TOKEN).where(_TOKEN.c.id.in_(ids), ends_later).values(expires=end))
    record_token_events(
        connection, ids, "rotate", who=who, time=format_timestamp(now), detail=f"replaced; valid until {end[:19]}Z"
    )
    return token


def revoke_token(connection: Connection, name: str, number: int | None = None, *, who: str = "trninv") -> list[int]:
    """Revoke all tokens of a principal, or one by its number; return the numbers of those that were not revoked yet.

    Raises
    ------
    UnknownTokenError
        There is no principal of that name, or it has no token of that number.
    """
    check_author(who)
    is_theirs = _TOKEN.c.principal_id == _find_principal_id(connection, name)
    numbers = {row.id: row.revoked for row in connection.execute(select(_TOKEN).where(is_theirs))}
    if number is not None and number not in numbers:
        raise UnknownTokenError(f"{name} has no token {number}: {suggestion(str(number), map(str, numbers))}")
    chosen = [key for key, revoked in numbers.items() if revoked is None and number in (None, key)]
    now = current_timestamp()
    connection.execute(update(_TOKEN).where(_TOKEN.c.id.in_(chosen)).values(revoked=now, revoked_by=who))
    record_token_events(connection, chosen, "revoke", who=who, time=now)
    return chosen


def _find_principal_id(connection: Connection, name: str) -> int:
    key = connection.scalar(select(_PRINCIPAL.c.id).where(_PRINCIPAL.c.name == name))
    if key is None:
        names = connection.scalars(select(_PRINCIPAL.c.name).order_by(_PRINCIPAL.c.name).limit(1_000))
        raise UnknownTokenError(f"no token {name[:80]!r}: {suggestion(name, names)}")
    return int(key)


def is_valid(now: datetime) -> ColumnElement[bool]:
    """Return the condition that a row of ``token`` is neither revoked nor expired."""
    return and_(_TOKEN.c.revoked.is_(None), or_(_TOKEN.c.expires.is_(None), _TOKEN.c.expires > format_timestamp(now)))


def find_principal(connection: Connection, token: str) -> Principal:
    """Return the principal that a valid token identifies.

    Raises
    ------
    UnauthenticatedError
        The token is unknown, revoked or expired; the message does not say which, so that it helps no attacker.
    """
    principal = find_principals(connection, [token]).get(token)
    if principal is None:
        raise invalid_token_error()
    return principal


def invalid_token_error() -> UnauthenticatedError:
    """Return the error for an invalid token."""
    return UnauthenticatedError("the token is unknown, revoked or expired: create another with trninv token create")


def find_principals(connection: Connection, tokens: Iterable[str]) -> dict[str, Principal]:
    """Return the principals of those tokens that are valid, in one statement."""
    tokens_by_digest, time = {_sha256(token): token for token in tokens}, current_timestamp()
    now = datetime.fromisoformat(time)
    columns = _PRINCIPAL.c.name, *(_PRINCIPAL.c[f"quota_{unit}"] for unit in ("hour", "rows", "bytes"))
    query = (
        select(_TOKEN, *columns, _DIGEST.c.sha256)
        .join(_DIGEST, _DIGEST.c.id == _TOKEN.c.id)
        .join(_PRINCIPAL, _PRINCIPAL.c.id == _TOKEN.c.principal_id)
        .where(_DIGEST.c.sha256.in_(tokens_by_digest))
    )
    return {
        tokens_by_digest[row.sha256]: Principal(
            row.name, row.scope, Usage.from_row(row, now), row.id, row.last_used, row.expires
        )
        for row in connection.execute(query)
        if not row.revoked and not (row.expires and row.expires <= time)
    }


def newest_token(connection: Connection, name: str) -> Row[Any] | None:
    """Return the row of ``token`` of a principal's newest token, or None if it has none."""
    query = select(_TOKEN).join(_PRINCIPAL, _PRINCIPAL.c.id == _TOKEN.c.principal_id)
    return connection.execute(query.where(_PRINCIPAL.c.name == name).order_by(_TOKEN.c.id.desc()).limit(1)).first()


def _sha256(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
