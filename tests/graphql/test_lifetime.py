"""Nothing of a document goes on once its answer is sent: no task, no coroutine, no thread's work."""

import asyncio
import gc
import random
import threading
import time
import warnings

import pytest

from trninv import deadline
from trninv.errors import InvalidArgumentError
from trninv.graphql.api import Api
from trninv.graphql.document_request import Request
from trninv.routing.fleet import BaseFleet
from trninv.routing.question import Question
from trninv.settings import Settings

FAILING = [
    "{ a: chips(first: 1) { totalCount nodes { id } } b: chips(first: 100000) { totalCount } }",
    '{ a: bisection(scope: "trn1.32xlarge") { exact } b: chips(first: 100000) { totalCount } }',
    '{ a: path(from: "trn1.32xlarge/d0", to: "nowhere/d0") { reachable } b: chips { nodes { links { totalCount } } } }',
    "{ racks { nodes { servers { nodes { chips(first: 100000) { totalCount } nics { nodes { id } } } } } } }",
    "{ domains { nodes { address servers { nodes { chips { nodes { id links(first: 1001) { totalCount } } } } } } } }",
    '{ a: facts(first: 3) { nodes { value } } nodes(ids: ["x"]) { id } b: chips { nodes { id } } }',
    '{ a: sources { slug } whatIf { bisection(scope: "trn1.32xlarge") { exact } } b: chips { nodes { id } } }',
    (
        '{ a: bandwidth(from: "u-trn2x64/d0/s0/c0", to: "u-trn2x64/d0/s0/c0") { widest { hops } } '
        "b: facts(first: 3) { nodes { source { title } others { value } } } }"
    ),
]


@pytest.mark.parametrize("count", [60, pytest.param(300, marks=pytest.mark.slow)])
def test_failing_documents_in_one_loop_leave_nothing(lite_fleet: BaseFleet, count: int) -> None:
    """Each warning of a coroutine that was never awaited, or of a task that was dropped, is an error here."""
    api = Api(lite_fleet, Settings(database_url=str(lite_fleet.engine.url)))
    chance = random.Random(0)
    reported: list[object] = []

    async def ask() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
        for number in range(count):
            answer = await api.run(Request(FAILING[number % len(FAILING)]))
            assert b'"errors"' in answer.body
            assert asyncio.all_tasks() == {asyncio.current_task()}
            if chance.random() < 0.05:
                gc.collect()

    gc.freeze()  # what is there already need not be looked through each time
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asyncio.run(ask())
        gc.collect()
    assert [str(each.message) for each in caught] == []
    assert reported == []


def test_work_of_siblings_ends_with_the_answer(lite_fleet: BaseFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question that runs in a thread stops at its next look at the clock once its sibling has failed."""
    begun, ended = threading.Event(), threading.Event()

    def ask(_fleet: BaseFleet, question: Question, **_: object) -> None:
        if question.name == "path":
            assert begun.wait(60)
            raise InvalidArgumentError("the sibling's question has begun")
        begun.set()
        try:
            while True:
                deadline.raise_if_expired()
                time.sleep(0.001)
        finally:
            ended.set()

    monkeypatch.setattr(BaseFleet, "ask", ask)
    api = Api(lite_fleet, Settings(database_url=str(lite_fleet.engine.url)))
    asked = '{ a: bisection(scope: "x") { exact } b: path(from: "x", to: "y") { reachable } }'
    assert b"has begun" in asyncio.run(api.run(Request(asked))).body
    assert ended.wait(60)
