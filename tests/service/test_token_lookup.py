"""Streams share the look-ups of their tokens; requests do not; uses are stored together."""

import asyncio
from collections.abc import Callable, Hashable
from typing import Any

import pytest
from sqlalchemy import Engine

from trninv.database.engine import read_transaction, write_transaction
from trninv.errors import ReadOnlyError, UnauthenticatedError
from trninv.inventory.access import bearer_tokens
from trninv.inventory.schema.listing import select_things
from trninv.inventory.schema.things import THINGS
from trninv.service import token_lookup
from trninv.service.token_lookup import TokenLookup

pytestmark = pytest.mark.slow_on_postgresql(cases="all")


async def unknown_revision() -> None:
    """No principal is cached."""


def itself(revision: Hashable | None) -> Hashable | None:
    """Return the revision: each has a key of its own."""
    return revision


class Reads:
    """Runs reads in threads, and counts them."""

    def __init__(self) -> None:
        self.count = 0

    async def __call__(self, work: Callable[..., Any], *arguments: Any) -> Any:
        self.count += 1
        return await asyncio.to_thread(work, *arguments)


@pytest.fixture
def tokens(engine: Engine) -> list[str]:
    with write_transaction(engine) as connection:
        return [bearer_tokens.create_token(connection, name, "read", None) for name in ("a", "b")]


def test_one_look_up_serves_all_streams_of_a_token_and_a_heartbeat(engine: Engine, tokens: list[str]) -> None:
    reads, now = Reads(), [100.0]

    async def run() -> None:
        lookup = TokenLookup(engine, reads, 15.0, unknown_revision, itself, lambda: now[0])

        async def heartbeat() -> set[str]:
            checks = (lookup.find_shared(token) for _ in range(50) for token in tokens)
            return {principal.name for principal in await asyncio.gather(*checks)}

        assert await heartbeat() == {"a", "b"}
        assert reads.count == 2
        now[0] += 14.999
        await heartbeat()
        assert reads.count == 2
        with write_transaction(engine) as connection:
            bearer_tokens.revoke_token(connection, "a")
        with pytest.raises(UnauthenticatedError):
            await lookup.find(tokens[0])
        assert reads.count == 3, "a request is always checked"
        now[0] += 0.001
        for _ in range(3):
            with pytest.raises(UnauthenticatedError):
                await lookup.find_shared(tokens[0])
        assert reads.count == 4, "a refusal is shared too"

    asyncio.run(run())


def test_a_principal_is_cached_until_the_revision_changes(
    engine: Engine, tokens: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reads, revisions = Reads(), [1]
    monkeypatch.setattr(token_lookup, "MAX_CACHED", 1)

    async def current_revision() -> int:
        return revisions[0]

    async def run() -> None:
        lookup = TokenLookup(engine, reads, 15.0, current_revision, itself)
        for _ in range(2):
            assert (await lookup.find(tokens[0])).name == "a"
        assert reads.count == 1
        cached = lookup.find_cached(tokens[0], 1)
        assert cached is not None
        assert cached.name == "a"
        assert lookup.find_cached(tokens[0], 2) is None
        assert lookup.find_cached(tokens[0], None) is None
        await lookup.find(tokens[1])
        assert lookup.find_cached(tokens[0], 1) is None, "only the newest one is kept"
        revisions[0] = 2
        with write_transaction(engine) as connection:
            bearer_tokens.revoke_token(connection, "b")
        with pytest.raises(UnauthenticatedError):
            await lookup.find(tokens[1])
        assert reads.count == 3

    asyncio.run(run())


def test_one_who_leaves_does_not_take_the_look_up_along(engine: Engine, tokens: list[str]) -> None:
    reads = Reads()

    async def run() -> None:
        lookup = TokenLookup(engine, reads, 15.0, unknown_revision, itself)
        leaves, stays = (asyncio.create_task(lookup.find_shared(tokens[0])) for _ in range(2))
        await asyncio.sleep(0)
        leaves.cancel()
        assert (await stays).name == "a"
        assert reads.count == 1

    asyncio.run(run())


def uses(engine: Engine) -> list[tuple[str, bool, int]]:
    """Each token's name, whether its use is stored, and how many events of its use there are."""
    with read_transaction(engine) as connection:
        events = connection.execute(select_things(THINGS["token_event"])).all()
        return [
            (row.name, row.last_used is not None, sum((e.token, e.action) == (row.number, "use") for e in events))
            for row in connection.execute(select_things(THINGS["token"]))
        ]


def test_uses_are_stored_together_and_once_an_hour(
    engine: Engine, tokens: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    writes = [0]

    def count_writes(*arguments: Any) -> Any:
        writes[0] += 1
        return write_transaction(*arguments)

    monkeypatch.setattr(token_lookup, "write_transaction", count_writes)

    async def run() -> None:
        lookup = TokenLookup(engine, Reads(), 15.0, unknown_revision, itself)
        for _ in range(3):
            await lookup.find(tokens[0])
        assert uses(engine) == [("a", False, 0), ("b", False, 0)]
        lookup.store_uses()
        assert uses(engine) == [("a", True, 1), ("b", False, 0)]
        await lookup.find(tokens[0])
        lookup.store_uses()
        assert writes == [1], "less than an hour later nothing is written"
        monkeypatch.setattr(bearer_tokens, "USE_PRECISION", -bearer_tokens.USE_PRECISION)
        await lookup.find(tokens[0])
        lookup.store_uses()
        assert (writes, uses(engine)) == ([2], [("a", True, 1), ("b", False, 0)])

    asyncio.run(run())


def test_uses_that_cannot_be_stored_are_kept(
    engine: Engine, tokens: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise ReadOnlyError("it can only be read")

    async def run() -> None:
        lookup = TokenLookup(engine, Reads(), 15.0, unknown_revision, itself)
        await lookup.find(tokens[1])
        with monkeypatch.context() as patch:
            patch.setattr(token_lookup, "write_transaction", refuse)
            with pytest.raises(ReadOnlyError):
                lookup.store_uses()
        lookup.store_uses()
        assert uses(engine) == [("a", False, 0), ("b", True, 1)]

    asyncio.run(run())
