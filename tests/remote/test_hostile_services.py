"""What a client does when a service is hostile, busy, gone, older or newer."""

import asyncio
import gzip
import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

import trninv
from remoting import URL, answering, fleet_over
from trninv.errors import BusyError, ServiceError, TimeLimitError, TrninvError, UnreachableError, UsageError
from trninv.remote import http_clients
from trninv.remote.async_fleet import AsyncFleet
from trninv.remote.call_builder import CallBuilder
from trninv.remote.http_clients import AsyncHttpClient
from trninv.remote.json_codec import TypeMismatchError, decode

PATH = ("u-trn2x64/d0/s0/c0", "u-trn2x64/d0/s0/c1")
DEEP = '{"result":' + "[" * 100_000 + "]" * 100_000 + "}"


def _failure(code: str, message: str = "m") -> str:
    return json.dumps({"errors": [{"message": message, "extensions": {"code": code}}]})


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<html>",
        "[]",
        "null",
        "{}",
        '{"result": null}',
        '{"result": []}',
        '{"result": {"paths": 1}}',
        '{"result": "x", "asOf": 7}',
        DEEP,
        b"\xff\xfe",
    ],
    ids=lambda body: str(body)[:20],
)
def test_an_answer_of_another_type_is_refused_in_one_line(body: bytes | str) -> None:
    with pytest.raises(ServiceError, match=rf"^{URL} answered path with something else[^\n]*$"):
        fleet_over(answering(200, body)).path(*PATH)


@pytest.mark.parametrize("body", ["", "<html>", "[]", '{"errors": []}', '{"errors": [7]}', '{"errors": [{}]}', DEEP])
def test_a_failure_of_another_program_is_not_taken_for_trninvs(body: str) -> None:
    for status in (400, 403, 500, 502):
        with pytest.raises(ServiceError, match=f"responded with {status}, and is not a trninv service"):
            fleet_over(answering(status, body)).path(*PATH)


def test_a_huge_answer_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_clients, "MAX_ANSWER_BYTES", 1_000)
    for transport in (
        answering(200, b"x" * 1_001),
        answering(200, gzip.compress(b"x" * 10**6), content_encoding="gzip"),
    ):
        with pytest.raises(ServiceError, match="sends more than 1,000 bytes"):
            fleet_over(transport).path(*PATH)
    with pytest.raises(ServiceError, match="something else"):  # just long enough to be read
        fleet_over(answering(200, b"x" * 1_000)).path(*PATH)
    with pytest.raises(ServiceError, match="body that is not"):
        fleet_over(answering(200, b"x" * 50, content_encoding="gzip")).path(*PATH)


def test_a_redirect_is_not_followed_with_the_token() -> None:
    requests: list[httpx2.Request] = []

    def redirect(request: httpx2.Request) -> httpx2.Response:
        requests.append(request)
        return httpx2.Response(307, headers={"Location": "https://evil.example/fleet/path?x"})

    with pytest.raises(ServiceError, match=r"redirects to https://evil\.example; redirects are not followed"):
        fleet_over(httpx2.MockTransport(redirect), "trninv_secret").path(*PATH)
    assert [request.url.host for request in requests] == ["127.0.0.1"]
    assert requests[0].headers["authorization"] == "Bearer trninv_secret"


def test_an_old_service_and_another_release_are_named() -> None:
    missing = answering(404, _failure("NOT_FOUND", "/fleet/path: Not Found; see /"))
    with pytest.raises(ServiceError, match="older than this client, or not trninv"):
        fleet_over(missing).path(*PATH)
    old = answering(400, _failure("BAD_ARGUMENT", "no argument via"), x_trninv_version="0.0.9", x_request_id="ab12")
    with pytest.raises(
        UsageError, match=f"^no argument via .the service is trninv 0.0.9, this client {trninv.__version__}"
    ) as e:
        fleet_over(old).path(*PATH, via="any")
    assert (e.value.code, e.value.request_id) == ("BAD_ARGUMENT", "ab12")
    new = answering(200, '{"result": {"definition": "", "facts": [], "metric": "BEAUTY"}}', x_trninv_version="9.0")
    with pytest.raises(ServiceError, match=r"PathAnswer\.metric: expected one of HOPS.*is trninv 9\.0"):
        fleet_over(new).path(*PATH)
    unknown = answering(418, _failure("TEAPOT", "no coffee"), x_trninv_version="9.0")
    with pytest.raises(TrninvError, match="no coffee") as newer:
        fleet_over(unknown).path(*PATH)
    assert (type(newer.value), newer.value.code) == (ServiceError, "TEAPOT")


def _calls(*replies: Callable[[], httpx2.Response]) -> tuple[httpx2.MockTransport, list[str]]:
    """A transport that answers in turn, and the paths asked of it."""
    remaining, asked = list(replies), list[str]()

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.path)
        return remaining.pop(0)()

    return httpx2.MockTransport(answer), asked


def _reply(status: int, body: str = "", **headers: str) -> Callable[[], httpx2.Response]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda: httpx2.Response(status, content=body.encode(), headers=named)


def _refuse() -> httpx2.Response:
    raise httpx2.ConnectError("connection refused")


def _lose() -> httpx2.Response:
    raise httpx2.ReadError("connection reset")


BUSY = _reply(503, _failure("BUSY"), retry_after="2")
GOOD = _reply(200, '{"result": []}')


def test_a_busy_service_is_asked_again_after_the_time_that_it_names() -> None:
    pauses: list[float] = []
    transport, asked = _calls(BUSY, _reply(429, _failure("QUOTA_EXCEEDED"), retry_after="30"), _reply(503), GOOD)
    assert fleet_over(transport, pauses=pauses).jobs() == []
    assert (pauses, asked) == ([2, 30, 1], ["/fleet/jobs"] * 4)
    transport, asked = _calls(*[BUSY] * 5)
    with pytest.raises(BusyError):
        fleet_over(transport).jobs()
    assert len(asked) == 4


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (_reply(503, _failure("BUSY"), retry_after="31"), BusyError),
        (_reply(503, _failure("BUSY"), retry_after="Wed, 21 Oct 2026 07:28:00 GMT"), BusyError),
        (_reply(503, _failure("TIME_LIMIT"), retry_after="1"), TimeLimitError),
        (_reply(500, _failure("INTERNAL"), retry_after="1"), TrninvError),
        (_lose, UnreachableError),
    ],
)
def test_what_would_not_help_is_not_sent_again(reply: Callable[[], httpx2.Response], kind: type[Exception]) -> None:
    transport, asked = _calls(reply)
    with pytest.raises(kind):
        fleet_over(transport).jobs()
    assert len(asked) == 1


def test_a_refused_connection_is_tried_once_more() -> None:
    transport, asked = _calls(_refuse, GOOD)
    assert fleet_over(transport).jobs() == []
    transport, asked = _calls(_refuse, _refuse)
    with pytest.raises(UnreachableError, match="does not answer: connection refused"):
        fleet_over(transport).jobs()
    assert len(asked) == 2


@pytest.mark.parametrize("reply", [BUSY, _refuse, _lose, _reply(429)])
def test_a_change_is_never_sent_twice(reply: Callable[[], httpx2.Response]) -> None:
    for dry_run in (False, True):
        transport, asked = _calls(reply)
        with pytest.raises(TrninvError):
            fleet_over(transport).release("train-7b", who="tests", dry_run=dry_run)
        assert len(asked) == 1


@pytest.mark.parametrize(
    "url",
    [
        "",
        "fleet.example",
        "ftp://x",
        "https://",
        "https://u:p@x",
        "https://x?y",
        "https://x#y",
        "https://x:0:1",
        "https://x\n",
    ],
)
def test_a_malformed_address_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(UsageError, match=r"^not a service's URL: write https://"):
        trninv.connect(url, token="")


def test_a_path_before_the_service_stays() -> None:
    asked: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(str(request.url))
        return GOOD()

    fleet = trninv.connect("https://fleet.example/trninv/", token="")
    fleet._client = http_clients.HttpClient("", 1, httpx2.MockTransport(answer))
    assert fleet.jobs() == []
    assert asked == ["https://fleet.example/trninv/fleet/jobs"]


@pytest.mark.parametrize("token", ["a b", "a\nX-Evil: 1", "é"])
def test_a_malformed_token_is_not_sent(token: str) -> None:
    with pytest.raises(UsageError, match="the token is not one word"):
        fleet_over(answering(), token).jobs()


def test_the_token_is_read_from_the_environment_for_each_call(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    file = tmp_path / "token"
    monkeypatch.setenv("TRNINV_TOKEN_FILE", str(file))
    monkeypatch.delenv("TRNINV_TOKEN", raising=False)
    fleet = trninv.connect("https://fleet.example")
    for token in ("first", "second"):
        file.write_text(token)
        assert http_clients._headers(fleet._client._token)["Authorization"] == f"Bearer {token}"
    assert "Authorization" not in http_clients._headers("")


def test_rows_of_queries_are_those_of_the_service() -> None:
    sent: list[tuple[str, Any]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append((request.url.path, json.loads(request.content)))
        return httpx2.Response(200, json={"columns": ["b", "a"], "rows": [{"a": 1, "b": []}] * 2, "truncated": False})

    fleet = fleet_over(httpx2.MockTransport(answer))
    rows = fleet.at(7).cypher("RETURN $x", {"x": "y"})
    assert (rows.columns, rows.rows, rows.truncated) == (("b", "a"), [([], 1)] * 2, False)
    assert fleet.cypher("RETURN 1", limit=1).truncated
    assert sent[0] == ("/cypher", {"cypher": "RETURN $x", "at": "7", "parameters": {"x": "y"}})
    with pytest.raises(ServiceError, match="something else"):
        fleet_over(answering(200, '{"columns": ["a"], "rows": [{}], "truncated": false}')).cypher("RETURN 1")


def test_certificates_are_verified() -> None:
    fleet = trninv.connect("https://fleet.example", token="")
    context = fleet._client._client._transport._pool._ssl_context  # type: ignore[attr-defined]
    assert (context.verify_mode.name, context.check_hostname) == ("CERT_REQUIRED", True)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (True, int),
        (1.0, int),
        (1, bool),
        ("1", int),
        (1, str),
        ("x", float),
        ({}, tuple[int, ...]),
        ([1], tuple[int, int]),
        (["x"], tuple[int, ...]),
        ([], str | None),
    ],
)
def test_json_of_another_type_is_refused(value: Any, hint: Any) -> None:
    with pytest.raises(TypeMismatchError):
        decode(value, hint)


def _job(state: str, **members: Any) -> httpx2.Response:
    job = {"id": "7", "state": state, "done": 1, "total": None, "error": None} | members
    return httpx2.Response(200, json={"result": None, "asOf": None, "job": job})


def test_a_job_is_asked_for_until_it_ends_and_its_failure_is_told() -> None:
    replies = iter([_job("running"), _job("running", total=5), _job("failed", error="no memory")])
    bodies, pauses, progress = list[Any](), list[float](), list[tuple[str, int, int]]()

    def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        return next(replies)

    fleet = fleet_over(httpx2.MockTransport(answer), pauses=pauses)
    with pytest.raises(ServiceError, match="no memory"):
        fleet.sweep("lab", progress=lambda *counts: progress.append(counts))
    assert bodies == [{"arguments": {"scope": "lab"}}, {"job": "7"}, {"job": "7"}]
    assert (pauses, progress) == ([0.25, 0.5], [("failures", 1, 5)])


def test_an_interruption_cancels_the_job() -> None:
    bodies = list[Any]()

    def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        return _job("cancelled" if "cancel" in bodies[-1] else "running")

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    fleet = fleet_over(httpx2.MockTransport(answer))
    fleet._client._sleep = interrupt  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        fleet.sweep("lab")
    assert bodies[1:] == [{"job": "7", "cancel": True}]


@pytest.mark.parametrize("waits_for", ["a pause", "a reply"])
def test_a_cancelled_task_cancels_the_job(waits_for: str) -> None:
    bodies, waiting = list[Any](), asyncio.Event()

    async def wait(_: float = 0.0) -> None:
        waiting.set()
        await asyncio.sleep(60)

    async def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        if waits_for == "a reply" and bodies[-1] == {"job": "7"}:
            await wait()
        return _job("cancelled" if "cancel" in bodies[-1] else "running")

    async def cancel() -> None:
        client = AsyncHttpClient("", 60, httpx2.MockTransport(answer))
        client._sleep = wait if waits_for == "a pause" else lambda _: asyncio.sleep(0)  # type: ignore[assignment]
        async with AsyncFleet(CallBuilder(URL), client) as fleet:
            sweep = asyncio.create_task(fleet.sweep("lab"))
            await waiting.wait()
            sweep.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sweep

    asyncio.run(cancel())
    assert bodies[-1] == {"job": "7", "cancel": True}


@pytest.mark.parametrize("body", ["{}", '{"job": 1}', '{"result": 1, "asOf": null, "job": null}', "[]"])
def test_a_job_of_another_type_is_refused(body: str) -> None:
    with pytest.raises(ServiceError, match="answered sweep with something else"):
        fleet_over(answering(200, body)).sweep("lab")
