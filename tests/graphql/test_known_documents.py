"""What is known of a document holds for other values of its variables too, and needs no thread."""

import asyncio
import json
from typing import Any

import pytest

from trninv.graphql.api import Api
from trninv.graphql.document_request import Request
from trninv.routing.fleet import BaseFleet
from trninv.settings import Settings

NODES = "query ($i: [ID!]!) { nodes(ids: $i) { id } }"
PAGE = "query ($n: Int, $deep: Boolean = false) { chips(first: $n) { nodes { id server @include(if: $deep) { id } } } }"
PATH = 'query ($a: Address!, $k: Int! = 1) { path(from: $a, to: "u-trn2x64/d0/s0/c1", k: $k) { paths { hops } } }'
ASKED: list[tuple[str, list[dict[str, Any]]]] = [
    (NODES, [{"i": ["chip:1"]}, {"i": [f"chip:{at}" for at in range(1, 40)]}, {"i": []}]),
    (PAGE, [{"n": 2}, {"n": 50}, {}, {"n": None}, {"n": 2, "deep": True}, {"deep": True, "n": 50}]),
    (PATH, [{"a": "u-trn2x64/d0/s0/c0"}, {"a": "u-trn2x64/d0/s1/c0", "k": 30}, {"a": "u-trn2x64/d0/s1/c0", "k": 2}]),
]


def _told(api: Api, document: str, given: dict[str, Any]) -> Any:
    found = json.loads(asyncio.run(api.run(Request(document, given))).body)
    found["extensions"].pop("asOf", None)  # no ids: nothing is read
    return found


@pytest.mark.parametrize(("document", "variables"), ASKED)
def test_a_known_document_costs_and_answers_as_a_new_one(
    lite_fleet: BaseFleet, document: str, variables: list[dict[str, Any]]
) -> None:
    known = Api(lite_fleet, Settings(database_url=""))
    for given in [*variables, *variables]:
        assert _told(known, document, given) == _told(Api(lite_fleet, Settings(database_url="")), document, given)


@pytest.mark.parametrize(
    ("document", "given", "threads"),
    [
        (PATH, {"a": "u-trn2x64/d0/s2/c0"}, 0),
        (PATH, {"a": "u-trn2x64/d0/s2/c0", "k": 3}, 1),
        (PATH + " ", {"a": "u-trn2x64/d0/s2/c0"}, 1),
        (NODES, {"i": ["chip:1"]}, 1),
    ],
    ids=["known", "another size", "another document", "a list"],
)
def test_what_is_known_is_checked_without_a_thread(
    lite_fleet: BaseFleet, monkeypatch: pytest.MonkeyPatch, document: str, given: dict[str, Any], threads: int
) -> None:
    api = Api(lite_fleet, Settings(database_url=""))
    _told(api, PATH, {"a": "u-trn2x64/d0/s0/c0"})
    _told(api, NODES, {"i": ["chip:1"]})
    prepared: list[Any] = []
    run = api.threads.preparing.run

    async def noted(*work: Any, **how: Any) -> Any:
        prepared.append(work)
        return await run(*work, **how)

    monkeypatch.setattr(api.threads.preparing, "run", noted)
    _told(api, document, given)
    assert len(prepared) == threads
