"""A burst of observations takes several turns of the event loop, and others are served in between."""

import asyncio

import pytest
from starlette.types import Receive, Scope, Send

from trninv.service.paced_posts import POSTS_PER_TURN, PacedPostsMiddleware, Turnstile


@pytest.mark.parametrize("burst", [1, 3, 4, 10])
def test_a_turn_has_a_limit_and_keeps_the_order(burst: int) -> None:
    async def scenario() -> list[tuple[int, int]]:
        turnstile, turn, entered = Turnstile(3), 0, list[tuple[int, int]]()

        async def enter(number: int) -> None:
            await turnstile.enter()
            entered.append((number, turn))

        tasks = [asyncio.create_task(enter(number)) for number in range(burst)]
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            turn += 1
        return entered

    entered = asyncio.run(scenario())
    assert [number for number, _ in entered] == list(range(burst))
    turns = [turn for _, turn in entered]
    assert max(turns.count(turn) for turn in turns) == min(burst, 3)


def test_who_leaves_the_turnstile_lets_the_next_pass() -> None:
    async def scenario() -> list[bool]:
        turnstile = Turnstile(1)
        tasks = [asyncio.create_task(turnstile.enter()) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.wait(tasks, timeout=5)
        return [task.done() and not task.cancelled() for task in tasks]

    assert asyncio.run(scenario()) == [True, False, True]


def test_only_one_path_is_paced() -> None:
    async def scenario() -> list[str]:
        begun = list[str]()

        async def application(scope: Scope, _receive: Receive, _send: Send) -> None:
            begun.append(scope["path"])

        middleware = PacedPostsMiddleware(application, "/observations")
        paths = ["/observations"] * (POSTS_PER_TURN + 1) + ["/graphql"]
        requests = [middleware({"type": "http", "path": path}, None, None) for path in paths]  # type: ignore[arg-type]
        await asyncio.gather(*requests)
        return begun

    assert asyncio.run(scenario())[-2:] == ["/graphql", "/observations"]
