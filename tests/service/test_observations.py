"""A machine reports what it says of itself to the service, and may speak for no other."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hearing import served
from printed import neuron_ls, neuron_ls_object
from sqlalchemy import func, select
from starlette.testclient import TestClient

from conftest import Databases, Run
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.inventory.access import bearer_tokens
from trninv.service.application import create_app
from trninv.settings import Settings

pytestmark = pytest.mark.slow_on_postgresql

Post = Callable[..., tuple[int, dict[str, Any]]]


def collected(instance: str | None = "i-0a", host: str = "n0") -> dict[str, Any]:
    return {"host": host, "neuron_ls": neuron_ls(instance), "sysfs": {}}


def made_token(url: str, name: str, scope: str = "observe") -> str:
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        return bearer_tokens.create_token(connection, name, scope, None)


def kept(url: str) -> int:
    with temporary_engine(url) as engine, read_transaction(engine) as connection:
        return connection.scalar(select(func.count()).select_from(TABLES["observed_server"])) or 0


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, databases: Databases) -> str:
    return databases.migrated(request.param)


@pytest.fixture
def post(url: str) -> Iterator[Post]:
    """Send an observation with a token; the status, and the answer or its error."""
    settings = Settings(database_url=url, log="off", auth="tokens", allowed_hosts=("127.0.0.1",))
    with TestClient(create_app(url, settings), base_url="http://127.0.0.1") as client:

        def call(
            token: str, observation: Any, kind: str | None = None, path: str = "/observations"
        ) -> tuple[int, dict[str, Any]]:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            if kind is None:
                answer = client.post(path, json=observation, headers=headers)
            else:
                headers["Content-Type"] = kind
                answer = client.post(path, content=observation, headers=headers)
            found = answer.json()
            return answer.status_code, found["errors"][0]["extensions"] if "errors" in found else found

        yield call


def test_a_machine_speaks_for_itself(url: str, post: Post) -> None:
    token = made_token(url, "i-0a")
    kept_ = {"servers": 1, "chips": 16, "missingFields": [], "unknownKeys": [], "unread": []}
    for is_known in (False, True):
        assert post(token, collected()) == (202, kept_ | {"isKnown": is_known})
    assert kept(url) == 1


def test_the_answer_names_what_a_machine_does_not_report(url: str, post: Post) -> None:
    sysfs = {f"/sys/devices/virtual/neuron_device/neuron{chip}/core_count": "8" for chip in range(16)}
    observation = collected() | {"sysfs": sysfs}
    observation["neuron_ls"][0]["\x1b[31m"] = "fine"
    _, answer = post(made_token(url, "i-0a"), json.dumps(observation), "application/json")
    assert answer["missingFields"] == [
        {"field": "ecc_uncorrected", "sourceField": "stats/hardware/*_ecc_uncorrected", "servers": 1},
        {"field": "serial", "sourceField": "info/serial_number", "servers": 1},
        {"field": "ultraserver", "sourceField": "server_id_4, server_id_2 or reservation_id", "servers": 1},
    ]
    assert answer["unknownKeys"] == ["\\u001b[31m"]


def test_what_neuron_ls_of_later_versions_prints_is_taken(url: str, post: Post) -> None:
    token = made_token(url, "i-0a")
    status, answer = post(token, neuron_ls_object())
    assert (status, answer["chips"], answer["unknownKeys"]) == (202, 16, ["ultraserver"])
    status, error = post(token, neuron_ls_object("i-0b"))
    assert (status, error["code"], kept(url)) == (403, "FORBIDDEN", 1)


def test_a_host_whose_instance_is_not_known_speaks_for_itself(url: str, post: Post) -> None:
    assert post(made_token(url, "n0"), collected(None))[0] == 202


@pytest.mark.parametrize(
    ("name", "observation"),
    [
        ("i-0a", collected("i-0b")),
        ("i-0a", collected(None, "n0")),
        ("n0", collected("i-0a")),
        ("i-0a", {**collected(), "sysfs": {"/sys/class/neuron_device/instance_id": "i-0b"}}),
    ],
)
def test_nobody_speaks_for_another(url: str, post: Post, name: str, observation: dict[str, Any]) -> None:
    status, error = post(made_token(url, name), observation)
    if status == 202:  # what it says besides is not taken for a name
        with temporary_engine(url) as engine, read_transaction(engine) as connection:
            assert set(connection.scalars(select(TABLES["observed_server"].c.instance))) == {name}
        return
    assert (status, error["code"], kept(url)) == (403, "FORBIDDEN", 0)


@pytest.mark.parametrize(("scope", "status"), [("read", 403), ("sql", 403), ("operate", 403), ("admin", 202)])
def test_other_scopes(url: str, post: Post, scope: str, status: int) -> None:
    assert post(made_token(url, "somebody", scope), collected())[0] == status
    assert post("", collected())[1]["code"] == "UNAUTHENTICATED"


def test_its_token_is_for_nothing_else(url: str) -> None:
    headers = {"Authorization": f"Bearer {made_token(url, 'i-0a')}"}
    settings = Settings(database_url=url, log="off", auth="tokens")
    with TestClient(create_app(url, settings), base_url="http://127.0.0.1") as client:
        statuses = {
            client.post("/graphql", json={"query": "{ viewer { name } }"}, headers=headers).status_code,
            client.get("/reports", headers=headers).status_code,
            client.get("/export/v_chip.csv", headers=headers).status_code,
        }
    assert statuses == {403}


@pytest.mark.parametrize(
    ("body", "kind", "status", "code"),
    [
        (b'{"host": "n0", "neuron_ls": [], "sysfs": {}}', "application/json", 400, "BAD_FILE"),
        (b'{"host": "n0", "neuron_ls": [{"neuron_device": 1e400}]}', "application/json", 400, "BAD_FILE"),
        (b'{"host": "n0", "neuron_ls": [', "application/json", 400, "BAD_FILE"),
        (b'{"host": "n0",\n"neuron_ls": [', "application/json", 400, "BAD_REQUEST"),
        (b'{"host": "n0", "neuron_ls": []}\n{"host": "n0"}', "application/json", 400, "BAD_REQUEST"),
        (b'{"host": "n0"} {"host": "n0"}\n', "application/json", 400, "BAD_FILE"),
        (b'{"host": "n0", "neuron_ls": []}\r{"host": "n1"}', "application/json", 400, "BAD_FILE"),
        (b'{"host": ' * 20_000, "application/json", 400, "BAD_FILE"),
        (b'{"host": "\xff"}', "application/json", 400, "BAD_FILE"),
        (b'{"host": "n0", "host": "n1", "neuron_ls": []}', "application/json", 400, "BAD_FILE"),
        (b"[]", "application/json", 400, "BAD_REQUEST"),
        (json.dumps(collected()).encode(), "text/plain", 400, "BAD_REQUEST"),
        (b"[" * 200_000, "application/json", 400, "BAD_REQUEST"),
        (b" " * (2 << 20), "application/json", 413, "BAD_REQUEST"),
    ],
)
def test_what_is_malformed_is_refused(url: str, post: Post, body: bytes, kind: str, status: int, code: str) -> None:
    found, error = post(made_token(url, "n0"), body, kind)
    assert (found, error["code"], kept(url)) == (status, code, 0)


@pytest.mark.parametrize("age", ["-1", "-0.001", "86400.001", "nan", "inf", "1e9", "x", "", "1,5", "0x1"])
def test_an_age_that_cannot_be_is_refused(url: str, post: Post, age: str) -> None:
    status, error = post(made_token(url, "i-0a"), collected(), path=f"/observations?age={age}")
    assert (status, error["code"], kept(url)) == (400, "BAD_REQUEST", 0)


def test_an_observation_is_as_old_as_its_machine_says(url: str, post: Post) -> None:
    token, before = made_token(url, "i-0a"), datetime.now(UTC)
    assert post(token, collected(), path="/observations?age=86400")[0] == 202
    assert post(token, collected(host="n1"), path="/observations?age=0.5")[0] == 202
    assert post(token, collected(), path="/observations?age=60&age=60")[0] == 400
    with temporary_engine(url) as engine, read_transaction(engine) as connection:
        times = connection.scalars(select(TABLES["observation"].c.taken_at).order_by(TABLES["observation"].c.id))
        ages = [(before - datetime.fromisoformat(time)).total_seconds() for time in times]
    assert 86_340 < ages[0] <= 86_400
    assert -60 < ages[1] <= 0.5


def test_every_fault_is_told(url: str, post: Post) -> None:
    wrong = [{"neuron_device": "x", "bdf": "y"}, {"neuron_device": 1, "memory_size": -1, "bdf": "z"}]
    _, error = post(made_token(url, "n0"), {"host": "n0", "neuron_ls": wrong})
    assert len(error["faults"]) == 4
    assert all(fault.startswith("observation:1.neuron_ls[") for fault in error["faults"])


def test_on_a_database_that_can_only_be_read_it_says_so(databases: Databases) -> None:
    file = databases.migrated("sqlite").removeprefix("sqlite:///")
    url = f"sqlite:///file:{file}?mode=ro&uri=true"
    with TestClient(create_app(url, Settings(database_url=url, log="off")), base_url="http://127.0.0.1") as client:
        answer = client.post("/observations", json=collected())
    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (409, "READ_ONLY")


def test_collect_sends_to_a_service(
    run: Run, databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = databases.migrated("sqlite")
    monkeypatch.setattr("trninv.importers.collector.collect", lambda **_: collected())
    with served(url, auth="tokens") as service:
        monkeypatch.setenv("TRNINV_TOKEN", made_token(url, "i-0a"))
        assert run("collect", "--to", f"{service}/")[:2] == (
            0,
            '{"servers":1,"chips":16,"isKnown":false,"missingFields":[],"unknownKeys":[],"unread":[]}\n',
        )
        monkeypatch.setenv("TRNINV_TOKEN", made_token(url, "i-0b"))
        status, out, err = run("collect", "--to", service)
        assert (status, out) == (2, "")
        assert "responded with 403: this token is for i-0b and may not report i-0a" in err
        monkeypatch.delenv("TRNINV_TOKEN")
        assert "responded with 401: no valid Authorization header" in run("collect", "--to", service)[2]
    assert "does not answer" in run("collect", "--to", service, "--retry-for", "0s")[2]
    assert "write the service's URL" in run("collect", "--to", f"file://{tmp_path}")[2]


def test_a_token_goes_nowhere_else(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.send_response(307)
            self.send_header("Location", "/stolen")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    monkeypatch.setattr("trninv.importers.collector.collect", lambda **_: collected())
    monkeypatch.setenv("TRNINV_TOKEN", "trninv_x")
    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as service:
        Thread(target=service.serve_forever, daemon=True).start()
        err = run("collect", "--to", f"http://127.0.0.1:{service.server_port}")[2]
        service.shutdown()
    assert "responded with 307: it is not a trninv service" in err
    assert [path.partition("?")[0] for path in asked] == ["/observations"]
