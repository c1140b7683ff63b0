"""Find the principals of bearer tokens, and store when tokens are used."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

from sqlalchemy import Engine

from trninv.database.engine import read_transaction, write_transaction
from trninv.inventory.access import bearer_tokens
from trninv.inventory.access.bearer_tokens import Principal
from trninv.inventory.access.token_events import record_uses
from trninv.units import current_timestamp, format_timestamp

MAX_CACHED: Final = 1_024
"""Maximum number of tokens whose principals are cached."""
STORE_SECONDS: Final = 60.0
"""Interval at which uses are stored, all in one transaction."""


class TokenLookup:
    """Look tokens up in the database.

    A request is checked against the database itself, or against what was read from it before if only observations were
    stored since, so that revoking a token takes effect at once. Streams check their token again at each heartbeat;
    there, all streams with the same token share one look-up.

    Parameters
    ----------
    read
        Runs a function in a reading thread, within the request's time limit.
    seconds
        Interval of the heartbeats, and the maximum age of a shared look-up.
    current_revision
        Returns the database's revision; None if it is unknown.
    key
        Returns a key that revisions have in common if they differ in observations only; see `ObservationCommits`.
    clock
        A clock in seconds; tests replace it.
    """

    def __init__(
        self,
        engine: Engine,
        read: Callable[..., Awaitable[Any]],
        seconds: float,
        current_revision: Callable[[], Awaitable[Hashable | None]],
        key: Callable[[Hashable | None], Hashable | None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine, self._read, self._seconds, self._clock = engine, read, seconds, clock
        self._shared: dict[bytes, tuple[float, asyncio.Task[Principal]]] = {}
        self._uses: dict[int, str] = {}
        self._current_revision, self._key = current_revision, key
        self._cached_key: Hashable | None = None
        self._cached = OrderedDict[bytes, Principal]()  # by digest, all read at a revision with the cached key

    async def find(self, token: str, revision: Hashable | None = None) -> Principal:
        """Return the principal of a valid token.

        Parameters
        ----------
        revision
            The database's revision, if the caller has read it since the request arrived.

        Raises
        ------
        UnauthenticatedError
            The token is unknown, revoked or expired.

        """
        revision = revision or await self._current_revision()
        if cached := self.find_cached(token, revision):
            return cached
        principal: Principal = await self._read(self._find_now, token)
        # if another commit than one of observations came between, no later look-up has this revision's key
        self._add(token, principal, self._key(revision))
        self.note_use(principal)
        return principal

    def find_cached(self, token: str, revision: Hashable | None) -> Principal | None:
        """Return the principal of a valid token if it is cached for the database's revision, else None."""
        principal = self._cached.get(_digest(token)) if revision is not None else None
        if principal is None or self._key(revision) != self._cached_key:
            return None
        if principal.expires is not None and principal.expires <= current_timestamp():
            return None
        self.note_use(principal)
        return principal

    def _add(self, token: str, principal: Principal, key: Hashable | None) -> None:
        if key != self._cached_key:
            self._cached.clear()
            self._cached_key = key
        self._cached[_digest(token)] = principal
        if len(self._cached) > MAX_CACHED:
            self._cached.popitem(last=False)

    def note_use(self, principal: Principal) -> None:
        """Note that a principal's token is used now, for `store_uses`."""
        now = datetime.now(UTC)
        if principal.token_id is not None and (principal.last_used or "") < format_timestamp(
            now - bearer_tokens.USE_PRECISION
        ):
            self._uses[principal.token_id] = format_timestamp(now)

    async def find_shared(self, token: str) -> Principal:
        """Return the principal as `find` does, or as it did for another caller less than a heartbeat ago."""
        key, now = _digest(token), self._clock()
        for other, (begun, _) in list(self._shared.items()):
            if now - begun >= self._seconds:
                del self._shared[other]
        if key not in self._shared:
            self._shared[key] = now, asyncio.create_task(self.find(token))
        _, task = self._shared[key]
        return await asyncio.shield(task)  # one caller that leaves does not cancel the look-up of the others

    def _find_now(self, token: str) -> Principal:
        with read_transaction(self._engine) as connection:
            return bearer_tokens.find_principal(connection, token)

    def store_uses(self) -> None:
        """Store the uses since the last call; if that fails, they are stored at the next call."""
        uses = dict(self._uses)
        if not uses:
            return
        with write_transaction(self._engine) as connection:
            record_uses(connection, uses)
        for token_id, used in uses.items():
            if self._uses.get(token_id) == used:
                del self._uses[token_id]


def _digest(token: str) -> bytes:
    return sha256(token.encode()).digest()
