"""Results of the service's checks: metrics, the GraphQL field, ETags and the permission to read them."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from conftest import Databases
from trninv.checks.check_report import CheckReport, CheckStatus, write_report
from trninv.checks.evaluation import Verdict
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.access import bearer_tokens
from trninv.service.application import create_app
from trninv.settings import Settings

HOSTILE = 'd0 "whole"\\ {x="1"}'
WHOLE = CheckStatus(
    HOSTILE, 3, "bisection", Verdict.FAILED, "2 to 3 TB/s", "at least 4 TB/s", "cut: a--b", "bytes per second",
    2 * 10**12, 3 * 10**12, 4 * 10**12, None, changed_at="2026-11-22T02:00:00.000000+00:00",
)  # fmt: skip
NEAR = CheckStatus(
    "near", 7, "hops", Verdict.PASSED, "2 hops", "at least 1 hop and at most 2 hops", "", "hops", 2, 2, 1, 2, "2026"
)
ERROR = CheckStatus("gone", 9, "pool", Verdict.ERROR, None, "at most 1 GiB", "no x", "bytes", None, None, None, 2**30)
CHECKS = "{ checks { name line verdict value bounds explanation unit lower atLeast atMost changedAt passed } }"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "results.json"


@pytest.fixture
def client(databases: Databases, file: Path) -> Iterator[TestClient]:
    url = databases.seeded("sqlite")
    settings = Settings(url, log="off", check_results=file)
    with TestClient(create_app(url, settings), base_url="http://127.0.0.1") as client:
        yield client


def show(file: Path, *statuses: CheckStatus) -> None:
    write_report(file, CheckReport(1_700_000_000.5, 0.25, statuses))


def ask(client: TestClient, document: str = CHECKS) -> Any:
    answer = client.post("/graphql", json={"query": document}).json()
    assert "errors" not in answer, answer
    return answer["data"]


def test_metrics_have_each_check_with_its_value_and_bounds(client: TestClient, file: Path) -> None:
    assert "trninv_check" not in client.get("/metrics").text
    show(file, WHOLE, NEAR, ERROR)
    families = text_string_to_metric_families(client.get("/metrics").text)
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
        if sample.name.startswith("trninv_check")
    }
    assert samples == {
        ("trninv_check_passed", HOSTILE): 0,
        ("trninv_check_passed", "near"): 1,
        ("trninv_check_passed", "gone"): 0,
        ("trninv_check_value", HOSTILE, "bytes per second"): 2e12,
        ("trninv_check_value", "near", "hops"): 2,
        ("trninv_check_bound", "at_least", HOSTILE, "bytes per second"): 4e12,
        ("trninv_check_bound", "at_least", "near", "hops"): 1,
        ("trninv_check_bound", "at_most", "near", "hops"): 2,
        ("trninv_check_bound", "at_most", "gone", "bytes"): 2**30,
        ("trninv_checks_evaluated_timestamp_seconds",): 1_700_000_000.5,
        ("trninv_checks_evaluation_seconds",): 0.25,
    }


def test_of_a_value_with_two_proven_bounds_the_one_that_decides_is_shown(client: TestClient, file: Path) -> None:
    show(file, replace(WHOLE, at_least=None, at_most=1))
    assert 'unit="bytes per second"} 3e+12' in client.get("/metrics").text


def test_the_field_has_the_results_in_the_order_of_the_file(client: TestClient, file: Path) -> None:
    assert ask(client) == {"checks": []}
    show(file, WHOLE, NEAR)
    whole, near = ask(client)["checks"]
    assert whole == {
        "name": HOSTILE,
        "line": 3,
        "verdict": "FAILED",
        "value": "2 to 3 TB/s",
        "bounds": "at least 4 TB/s",
        "explanation": "cut: a--b",
        "unit": "bytes per second",
        "lower": str(2 * 10**12),
        "atLeast": str(4 * 10**12),
        "atMost": None,
        "changedAt": "2026-11-22T02:00:00.000000+00:00",
        "passed": False,
    }
    assert (near["name"], near["passed"]) == ("near", True)


def test_an_etag_is_of_the_results_too(client: TestClient, file: Path) -> None:
    def get(headers: dict[str, str] | None = None) -> Any:
        return client.get("/graphql", params={"query": CHECKS}, headers=headers or {})

    show(file, WHOLE)
    tag = {"If-None-Match": get().headers["etag"]}
    write_report(file, CheckReport(time.time(), 9, [WHOLE]))  # evaluated again with equal results
    assert get(tag).status_code == 304
    show(file, replace(WHOLE, verdict=Verdict.UNPROVEN))
    assert get(tag).json()["data"]["checks"][0]["verdict"] == "UNPROVEN"


@pytest.mark.parametrize(("scope", "allowed"), [("observe", False), ("read", True)])
def test_results_need_the_scope_read(databases: Databases, file: Path, scope: str, allowed: bool) -> None:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        token = bearer_tokens.create_token(connection, scope, scope, None)
    show(file, NEAR)
    settings = Settings(url, log="off", auth="tokens", check_results=file)
    with TestClient(create_app(url, settings), base_url="http://127.0.0.1") as client:
        headers = {"Authorization": f"Bearer {token}"}
        requests: list[Callable[[], Any]] = [
            lambda: client.post("/graphql", json={"query": CHECKS}, headers=headers),
            lambda: client.get("/metrics", headers=headers),
        ]
        assert [request().status_code for request in requests] == [200 if allowed else 403] * 2
        assert client.post("/graphql", json={"query": CHECKS}).status_code == 401


def test_without_a_file_of_checks_there_are_none(databases: Databases) -> None:
    url = databases.seeded("sqlite")
    with TestClient(create_app(url, Settings(url, log="off")), base_url="http://127.0.0.1") as client:
        assert ask(client) == {"checks": None}
