"""Two services with workers on one SQLite file: nothing is lost and nothing is there twice."""

import json
import sqlite3
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from printed import neuron_ls

from conftest import Databases, Run
from serving import serving

pytestmark = pytest.mark.slow

_CHIPS = 24
_SET = (
    'mutation {{ setState(input: {{addresses: ["u-trn2x64/d0/s{server}/c{chip}"], state: DOWN, who: "me", why: "t"}}) '
    "{{ __typename }} }}"
)
_STATES = '{ chips(first: 100, filter: {state: {eq: DOWN}, cluster: {eq: "u-trn2x64"}}) { nodes { address } } }'


def _report(number: int) -> bytes:
    devices = neuron_ls(f"i-{number % 7:04x}", chips=[0])
    devices[0]["memory_size"] = number
    return json.dumps({"host": "n0", "neuron_ls": devices, "sysfs": {}}).encode()


def _post(url: str, body: bytes) -> tuple[int, Any]:
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return answer.status, json.load(answer)


def _ask(url: str, document: str) -> Any:
    _, answer = _post(f"{url}/graphql", json.dumps({"query": document}).encode())
    assert "errors" not in answer, answer
    return answer["data"]


def test_two_services_on_one_file_lose_and_double_nothing(databases: Databases, run: Run, tmp_path: Path) -> None:
    database = databases.seeded("sqlite")
    with (
        serving(database, options=["--workers", "2"], TRNINV_LOG="off") as one,
        serving(database, options=["--workers", "2"], TRNINV_LOG="off") as other,
        ThreadPoolExecutor(12) as threads,
    ):
        urls = one, other

        def change(number: int) -> None:
            url = urls[number % 2]
            _ask(url, _SET.format(server=number % 4, chip=number // 4))
            states = _ask(urls[(number + 1) % 2], _STATES)["chips"]["nodes"]  # no cache of the other one is stale
            assert f"u-trn2x64/d0/s{number % 4}/c{number // 4}" in {node["address"] for node in states}

        def report(number: int) -> int:
            # each report goes to both, as one that is sent again after a time-out
            return sum(_post(f"{url}/observations", _report(number))[0] == 202 for url in urls)

        changes = [threads.submit(change, number) for number in range(_CHIPS)]
        reports = [threads.submit(report, number) for number in range(30)]
        archived = threads.submit(run, "archive", str(tmp_path / "history"), database=database)
        assert [task.result() for task in reports] == [2] * 30
        for task in changes:
            task.result()
        assert archived.result()[0] == 0
        both = [_ask(url, "{ events(first: 100) { nodes { event address } } }")["events"]["nodes"] for url in urls]
        assert both[0] == both[1]
        assert len(both[0]) == len({event["address"] for event in both[0]}) == _CHIPS
    with closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as connection:
        ((rows, contents),) = connection.execute("SELECT count(*), count(DISTINCT sha256) FROM observation")
        assert (rows, contents) == (30, 30)
        ((events, last),) = connection.execute("SELECT count(*), max(id) FROM state_event")
        assert (events, last) == (_CHIPS, _CHIPS)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert run("verify", database=database)[0] == 0
    assert run("archive", str(tmp_path / "history"), "--check", database=database)[0] == 0
