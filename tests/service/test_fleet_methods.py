"""POST /fleet/{method}: what it refuses, whoever sends it."""

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from conftest import Databases
from trninv.remote.remote_method import find_method, remote_names
from trninv.service.application import create_app
from trninv.settings import Settings

U = "u-trn2x64"
PATH = {"source": f"{U}/d0/s0/c0", "target": f"{U}/d0/s0/c1"}


@pytest.fixture(scope="module")
def client(databases: Databases) -> Iterator[TestClient]:
    url = databases.seeded("sqlite")
    with TestClient(create_app(url, Settings(database_url=url, log="off")), base_url="http://127.0.0.1") as opened:
        yield opened
    databases.drop(url)


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("method", "body", "status", "code"),
    [
        ("path", {"arguments": PATH}, 200, None),
        ("path", {}, 400, "BAD_ARGUMENT"),
        ("path", {"arguments": []}, 400, "BAD_REQUEST"),
        ("path", {"arguments": PATH, "colour": 1}, 400, "BAD_REQUEST"),
        ("path", {"arguments": PATH | {"colour": "red"}}, 400, "BAD_ARGUMENT"),
        ("path", {"arguments": PATH | {"source": None}}, 400, "BAD_ARGUMENT"),
        ("path", {"arguments": PATH | {"source": ["x"]}}, 400, "BAD_ARGUMENT"),
        ("path", {"arguments": PATH | {"source": "\0"}}, 400, "BAD_REQUEST"),
        ("path", {"arguments": PATH | {"k": "1"}}, 400, "BAD_ARGUMENT"),
        ("path", {"arguments": PATH | {"k": True}}, 400, "BAD_ARGUMENT"),
        ("path", {"arguments": PATH | {"k": 10**30}}, 400, "BAD_ARGUMENT"),
        ("path", {"arguments": PATH | {"by": 7}}, 400, "BAD_ARGUMENT"),
        ("path", {"arguments": PATH | {"message": -1}}, 400, "BAD_ARGUMENT"),
        ("path", {"arguments": PATH | {"message": 1.5}}, 400, "BAD_ARGUMENT"),
        ("path", {"arguments": PATH | {"avoid": "x"}}, 400, "BAD_ARGUMENT"),
        ("path", {"arguments": PATH | {"avoid": _deep(500)}}, 400, "BAD_ARGUMENT"),
        ("path", {"arguments": PATH | {"avoid": [f"{U}/d{n}" for n in range(1_001)]}}, 400, "BAD_ARGUMENT"),
        ("path", {"arguments": PATH, "at": 5}, 400, "BAD_REQUEST"),
        ("path", {"arguments": PATH, "at": "yesterday"}, 400, "BAD_TIME"),
        ("path", {"arguments": PATH, "scenario": {}}, 400, "BAD_ARGUMENT"),
        ("path", {"arguments": PATH, "scenario": {"down": "x"}}, 400, "BAD_ARGUMENT"),
        ("path", {"arguments": PATH, "scenario": {"derate": [["x"]]}}, 400, "BAD_ARGUMENT"),
        ("path", {"arguments": PATH, "scenario": {"derate": [[U, "1/0"]]}}, 400, "BAD_ARGUMENT"),
        ("path", {"arguments": PATH, "scenario": {"derate": [[U, "nan"]]}}, 400, "BAD_ARGUMENT"),
        ("capacity", {"arguments": {"scope": U, "executor": 1}}, 400, "BAD_ARGUMENT"),
        ("sweep", {"arguments": {"scope": "nowhere"}}, 404, "UNKNOWN_ADDRESS"),
        ("sweep", {"arguments": {"scope": U}, "at": "yesterday"}, 400, "BAD_TIME"),
        ("sweep", {"arguments": {"scope": U}, "scenario": {"down": ["nowhere"]}}, 404, "UNKNOWN_ADDRESS"),
        ("sweep", {"arguments": {"scope": U, "limit": 2_001}}, 400, "BAD_ARGUMENT"),
        ("sweep", {"job": 1}, 400, "BAD_REQUEST"),
        ("sweep", {"job": "1", "cancel": 1}, 400, "BAD_REQUEST"),
        ("sweep", {"job": "1", "arguments": {}}, 400, "BAD_REQUEST"),
        ("sweep", {"job": "../1"}, 404, "NOT_FOUND"),
        ("sweep", {"job": "7" * 100, "cancel": True}, 404, "NOT_FOUND"),
        ("path", {"job": "1"}, 400, "BAD_REQUEST"),
        ("draw", {"arguments": {"scope": U, "color_by": "colour"}}, 400, "BAD_ARGUMENT"),
        ("draw_timeline", {"arguments": {"scope": U, "since": "x", "until": "y"}}, 400, "BAD_TIME"),
        (
            "draw_timeline",
            {"arguments": {"scope": U, "since": "2026-01-01T00:00:00Z", "until": "2026-01-01T00:00:00Z"}},
            200,
            None,
        ),
        ("topology", {"arguments": {"scope": U, "output_format": "../gexf"}}, 400, "BAD_ARGUMENT"),
        ("topology", {"arguments": {"scope": U, "output_format": "gexf", "hostname": "{x.__class__}"}}, 400, "BAD_USE"),
        ("sweep", {"arguments": {"scope": U, "journal": "/etc/passwd"}}, 400, "BAD_ARGUMENT"),
        ("jobs", {"arguments": {"limit": 0}}, 400, "BAD_ARGUMENT"),
        ("jobs", {"arguments": {"limit": 10_001}}, 400, "BAD_ARGUMENT"),
        ("jobs", {"arguments": {"limit": 10_000}}, 200, None),
        ("events", {"arguments": {"batch": 2**70}}, 400, "BAD_ARGUMENT"),
        ("events", {"arguments": {"since": 3}}, 400, "BAD_ARGUMENT"),
        ("impact", {"arguments": {"incident": {"id": 1}}}, 400, "BAD_ARGUMENT"),
        ("set_state", {"arguments": {"addresses": [U], "state": "down"}}, 400, "BAD_ARGUMENT"),
        ("set_state", {"arguments": {"addresses": [U], "state": "gone", "why": "x"}}, 400, "BAD_ARGUMENT"),
        ("move_jobs", {"arguments": {"scope": U, "moves": [{"job": 1}], "revision": ""}}, 400, "BAD_ARGUMENT"),
        ("release", {"arguments": {"name": "x"}, "at": "1"}, 400, "BAD_REQUEST"),
        ("release", {"arguments": {"name": "x", "source": "slurm"}}, 400, "BAD_ARGUMENT"),
        ("create_token", {"arguments": {"name": "x"}}, 404, "NOT_FOUND"),
        ("engine", {}, 404, "NOT_FOUND"),
        ("close", {}, 404, "NOT_FOUND"),
        ("sql", {"arguments": {"query": "SELECT 1"}}, 404, "NOT_FOUND"),
        ("__class__", {}, 404, "NOT_FOUND"),
    ],
)
def test_a_body_has_an_answer_or_one_error_in_words(
    client: TestClient, method: str, body: dict[str, Any], status: int, code: str | None
) -> None:
    response = client.post(f"/fleet/{method}", json=body)
    assert response.status_code == status, response.text
    assert response.headers["x-trninv-version"]
    if status == 200:
        assert response.json().keys() == {"result", "asOf"}
    else:
        (error,) = response.json()["errors"]
        assert error["extensions"]["code"] == code, error
        assert len(error["message"]) < 500


@pytest.mark.slow
def test_no_method_fails_in_an_unexpected_way_on_values_of_other_types(client: TestClient) -> None:
    for name in remote_names():
        method = find_method(name)
        assert method
        for value in (None, True, -1, 10**25, 0.5, "", "x", [], ["x", 1], {}, {"id": 0}):
            arguments = dict.fromkeys([*method.argument_types][:3], value)
            response = client.post(
                f"/fleet/{name}", json={"arguments": {"dry_run": True} | arguments if method.is_change else arguments}
            )
            assert response.status_code != 500, (name, value, response.text)


def test_the_settings_of_the_api_hold(databases: Databases) -> None:
    url = databases.seeded("sqlite")
    for settings, method, scenario, code in (
        ({"max_cost": 3_999}, "path", None, "COST_LIMIT"),
        ({"max_cost": 4_000}, "path", None, None),
        ({"max_cost": 7_999}, "path", {"down": [f"{U}/d0/s3"]}, "COST_LIMIT"),
        ({"max_cost": 8_000}, "path", {"down": [f"{U}/d0/s3"]}, None),
        ({"answer_bytes": 100}, "path", None, "SCOPE_TOO_LARGE"),
        ({"persisted_only": True}, "path", None, "FORBIDDEN"),
    ):
        application = create_app(url, Settings(database_url=url, log="off", **settings))
        with TestClient(application, base_url="http://127.0.0.1") as client:
            reply = client.post(f"/fleet/{method}", json={"arguments": PATH, "scenario": scenario})
            assert reply.status_code == {None: 200, "FORBIDDEN": 403}.get(code, 400)
            response = reply.json()
            assert ("errors" in response, code) == (code is not None, code)
            assert code is None or response["errors"][0]["extensions"]["code"] == code
    databases.drop(url)
