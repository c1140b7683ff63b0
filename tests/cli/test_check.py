"""``trninv up --check`` sends a request to every route of a running service, and notices any wrong answer."""

import json
from collections.abc import Callable
from http import HTTPStatus
from http.client import HTTPConnection

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.importer import import_from_string

from conftest import BACKENDS, Databases, Run
from trninv.cli import self_test, serve_commands
from trninv.cli.serve_commands import APPLICATION_PATH
from trninv.errors import InternalError
from trninv.settings import Settings

pytestmark = pytest.mark.slow_on_postgresql

FAULTS: dict[str, Callable[[Request], Response]] = {
    "status 500": lambda _: Response(status_code=500),
    "image/png instead of": lambda _: Response(media_type="image/png"),
    "a response without": lambda request: Response("{}", media_type=request.headers["accept"]),
}


class Faulty:
    """The real application, except that one path, or every path, has a fault."""

    path, fault = "", ""

    def __init__(self, url: str, settings: Settings) -> None:
        self._app: ASGIApp = import_from_string(APPLICATION_PATH)(url, settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        hit = scope["type"] == "http" and self.path in ("", scope["path"])
        await (FAULTS[self.fault](Request(scope)) if hit else self._app)(scope, receive, send)


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> type[Faulty]:
    monkeypatch.setattr(self_test, "APPLICATION_PATH", f"{__name__}:Faulty")
    return Faulty


def test_every_route_is_asked(lite: str) -> None:
    routes = import_from_string(APPLICATION_PATH)(lite).routes
    declared = {route.path for route in routes if isinstance(route, Route | Mount)}
    assert len(declared) == len(routes)
    assert {probe.route for probe in self_test.build_probes(lite)} == declared
    assert self_test.check_service(lite) == len(self_test.build_probes(lite))


@pytest.mark.parametrize("fault", FAULTS)
def test_every_probe_notices_a_wrong_answer(
    lite: str, faulty: type[Faulty], monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setattr(faulty, "fault", fault)
    with pytest.raises(InternalError) as raised:
        self_test.check_service(lite)
    told, probes = str(raised.value).split("; /"), self_test.build_probes(lite)
    assert len(told) == len(probes)
    wanted = (fault if probe.status == HTTPStatus.OK or "500" in fault else "status 200" for probe in probes)
    assert all(each in failure for each, failure in zip(wanted, told, strict=True))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_fleet_gets_no_demonstration(
    run: Run, databases: Databases, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    served = list[object]()
    monkeypatch.setattr(serve_commands.serve, "callback", lambda **options: served.append(options["port"]))
    url = databases.migrated(backend)
    assert run("seed", "trn1.2xlarge", "--name", "prod", database=url)[0] == 0
    status, out, _ = run("up", "--port", "0", database=url)
    assert (status, served) == (0, [0])
    assert "it has 1 cluster (prod), so nothing is seeded; trninv seed adds the documented systems\n" in out
    assert "four questions" not in out
    found = json.loads(run("status", "--format", "json", database=url)[1])["clusters"]
    assert [row["slug"] for row in found] == ["prod"]


@pytest.mark.slow
def test_one_broken_route_is_named_and_ends_with_1(
    run: Run, databases: Databases, faulty: type[Faulty], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faulty, "path", "/chips/trn1.2xlarge")
    monkeypatch.setattr(faulty, "fault", "status 500")
    status, out, err = run("up", "--check", database=databases.seeded("sqlite"))
    assert (status, err) == (1, "trninv: the service fails its check: /chips/{cluster}: status 500\n")
    assert "bisection: u-trn2x64" in out
    assert "service:" not in out


@pytest.mark.slow
def test_the_service_is_checked_with_settings_of_its_own(seeded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"AUTH": "tokens", "PERSISTED_ONLY": "1", "GRAPHIQL": "0", "ALLOWED_HOSTS": "a.example"}.items():
        monkeypatch.setenv(f"TRNINV_{name}", value)
    assert self_test.check_service(seeded) == len(self_test.build_probes(seeded))


def test_others_on_the_machine_are_turned_away_meanwhile(lite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def intruder(_probe: self_test.Probe, port: int, _host: str) -> str:
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/sql")
        status = connection.getresponse().status
        connection.close()
        return f"status {status}"

    monkeypatch.setattr(self_test, "_find_failure", intruder)
    with pytest.raises(InternalError, match="status 400") as raised:
        self_test.check_service(lite)
    assert str(raised.value).count("status 400") == len(self_test.build_probes(lite))


def test_a_service_that_ends_leaves_nothing_waiting(lite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
    with pytest.raises(InternalError, match="no response"):
        self_test.check_service(lite)
