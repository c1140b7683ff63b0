"""Lists, SQL, Cypher and all other commands that read print the same from a service as from its database."""

import json
import re
import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from service_calls import READ

import trninv
from conftest import BACKENDS, Databases, seed_everything, wear
from remoting import URL, Command, command, service
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.errors import ForbiddenError, NotFoundError, RequestError, TrninvError
from trninv.graphql.thing_listing import LISTED_KINDS
from trninv.inventory.access import bearer_tokens
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.bindings import bind
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.cordon import cordon
from trninv.placement.changes.release import release
from trninv.placement.changes.reserve import reserve
from trninv.reconcile.latest_observations import pinned_binding
from trninv.remote.remote_fleet import RemoteFleet
from trninv.units import current_timestamp

__all__ = ["command"]  # a fixture
pytestmark = pytest.mark.slow_on_postgresql
_REQUEST = re.compile(r" \(request [0-9a-f]{16}\)")
_READ_AT = re.compile('"asOf": {[^}]*}')
_CLOCK = re.compile(r"\d\d:\d\d:\d\dZ")
Both = tuple[str, Callable[..., RemoteFleet]]
U = "u-trn2x64"


def _populate(url: str) -> None:
    seed_everything(url)
    wear(url)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        bind(connection, [pinned_binding(connection, f"{U}/d0/s1", "i-0123456789abcdef0")], who="tests")
        for name in ("old", "train"):
            allocate(connection, name, [f"{U}/d0/s1"], who="tests")
            if name == "old":
                release(connection, name, who="tests")
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn2").resized(2), "lab")
        cordon(connection, [f"{U}/d0/s3"], who="tests", why="fan, <b>")
        reserve(connection, "next", [f"{U}/d0/s0/c0"], who="tests", until="2099-01-01T00:00:00Z")


@pytest.fixture(scope="module", params=BACKENDS)
def both(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Both]:
    url = databases.copied(request.param, _populate)
    with service(url) as connect:
        yield url, connect
    databases.drop(url)


def _same(both: Both, command: Command, monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[int, str, str]:
    url, connect = both
    monkeypatch.setattr(trninv, "connect", connect)
    local = command("--database", url, *words)
    status, out, error = command("--service", URL, *words)
    assert (status, _READ_AT.sub("", out), _REQUEST.sub("", error)) == (local[0], _READ_AT.sub("", local[1]), local[2])
    return status, out, error


def test_each_kind_is_listed_alike(both: Both, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, kind in enumerate(LISTED_KINDS):
        style = ("table", "json")[number % 2]
        status, out, _ = _same(both, command, monkeypatch, "list", kind, "--limit", "7", "--format", style)
        assert (status, bool(out)) == (0, True)


@pytest.mark.parametrize(
    "words",
    [
        "list chip u-trn2x64/d0/s0 --where state=down,up",
        "list chip u-trn2x64/d0/s0 --where state!=up --columns address,memory,state --format csv",
        "list link u-trn2x64 --where bandwidth<100GB/s --sort -cables,scope --limit 3 --format ndjson",
        'list server --where instance="" --sort -address --columns address',
        "list binding --all",
        "list event u-trn2x64 --limit 2",
        "list chip --at 0 --where state!=up",
        "list chip --limit 1000000000 --columns address",
        "list chip nowhere",
        "list chip u-trn2x64/d0/s0 --where colour=red",
        "list chip --sort colour",
        "list chip --columns colour",
        "list chip --at 2099-01-01T00:00:00Z",
        "jobs",
        "jobs --ended --format json",
        "jobs u-trn2x64/d0/s1 --limit 1",
        "jobs --ended --limit 1",
        "jobs --at 0",
        "jobs nowhere",
        "cordons",
        "cordons --format json",
        "reservations u-trn2x64",
        "reservations --format json",
        "bindings @i-0123456789abcdef0 --ended",
        "bindings --format json",
        "token list",
        "token events --format json",
        "incidents",
    ],
)
def test_a_list_prints_the_same(both: Both, command: Command, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    _same(both, command, monkeypatch, *words.split())


@pytest.mark.parametrize(
    "words",
    [
        ["SELECT address, cores, state FROM v_chip ORDER BY address", "--limit", "5"],
        ["SELECT address, NULL AS nothing, 1.5 AS x FROM v_chip ORDER BY address LIMIT 2", "--format", "json"],
        ["SELECT count(*) AS n FROM v_chip WHERE state <> 'up'", "--at", "0", "--format", "csv"],
        ["DELETE FROM chip"],
        ["SELECT 1 AS a, 2 AS a", "--format", "json"],
    ],
    ids=range(5),
)
def test_sql_prints_the_same(both: Both, command: Command, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    if both[0].startswith("postgresql"):  # for which a service needs a login of its own
        pytest.skip("test_same_answers has the error")
    _same(both, command, monkeypatch, "sql", *words)


@pytest.mark.parametrize(
    "words",
    [
        ["MATCH (c:Chip) RETURN c.address AS a ORDER BY a", "--limit", "3"],
        ["MATCH (c:Chip {address: $a}) RETURN c", "--set", "a=u-trn2x64/d0/s0/c3", "--format", "json"],
        pytest.param(
            ["MATCH (c:Chip) WHERE c.state = 'down' RETURN count(*) AS n", "--at", "0"], marks=pytest.mark.slow
        ),
        ["MATCH (c:Chip) DELETE c"],
    ],
    ids=range(4),
)
def test_cypher_prints_the_same(
    both: Both, command: Command, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    _same(both, command, monkeypatch, "cypher", *words)


@pytest.mark.parametrize("words", READ)
def test_a_command_that_reads_prints_the_same(
    both: Both, command: Command, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    status, out, _ = _same(both, command, monkeypatch, *shlex.split(words))
    assert bool(out) == (status == 0 or "colour }" in words or 'nowhere", to' in words)


def test_status_names_what_was_asked(both: Both, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trninv, "connect", both[1])
    local, remote = (
        json.loads(command(f"--{name}", target, "status", "--format", "json")[1])
        for name, target in (("database", both[0]), ("service", URL))
    )
    assert local.pop("database")
    assert remote.pop("service") == URL
    assert remote == local


@pytest.mark.slow
@pytest.mark.parametrize("words", [f"--at 0 --down {U}/d0/s0/c0", "--limit 1"])
def test_a_sweep_is_of_the_time_and_scenario(
    both: Both, command: Command, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    url, connect = both
    monkeypatch.setattr(trninv, "connect", connect)
    call = ["sweep", f"{U}/d0", "--fail", "chip", "--measure", "nominal", "--format", "json", *words.split()]
    _, *local = command("--database", url, *call)
    status, *remote = command("--service", URL, *call)
    assert (status, remote) == (int("--limit" in words), local)


def test_a_drawn_answer_is_the_same_file(
    both: Both, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(trninv, "connect", both[1])
    until = current_timestamp()
    files = []
    for name, target in (("database", both[0]), ("service", URL)):
        files.append(tmp_path / f"{name}.svg")
        words = ["timeline", U, "--until", until, "--buckets", "9", "--svg", str(files[-1])]
        assert command(f"--{name}", target, *words)[0] == 0
    local, remote = (file.read_text() for file in files)
    assert local.startswith("<svg ")
    assert remote == local


@pytest.mark.parametrize("words", ["events --follow --last 2", "watch"])
def test_a_command_that_follows_starts_alike(
    both: Both, command: Command, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    def stop(_: float) -> None:
        raise KeyboardInterrupt

    url, connect = both
    monkeypatch.setattr(trninv, "connect", connect)
    monkeypatch.setattr(time, "sleep", stop)
    local, remote = (
        command(f"--{name}", target, *words.split()) for name, target in (("database", url), ("service", URL))
    )
    assert local[1].count("\n") >= 2
    assert _CLOCK.sub("", str(remote)) == _CLOCK.sub("", str(local))


@pytest.mark.slow
def test_new_events_are_followed(databases: Databases, monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    url = databases.copied("sqlite", seed_everything)
    slots = [f"{U}/d0/s0", f"{U}/d0/s1"]
    with service(url) as connect, connect() as fleet:

        def cordon_next(_: float) -> None:
            if not slots:
                raise KeyboardInterrupt
            fleet.cordon([slots.pop()], why="fan", who="tests")

        monkeypatch.setattr(trninv, "connect", connect)
        monkeypatch.setattr(time, "sleep", cordon_next)
        status, out, _ = command("--service", URL, "events", U, "--follow", "--format", "ndjson")
    assert (status, [json.loads(line)["address"] for line in out.splitlines()]) == (0, [f"{U}/d0/s1", f"{U}/d0/s0"])
    databases.drop(url)


def test_an_error_has_its_code_and_request(both: Both, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for words in (["list", "chip", "nowhere"], ["jobs", "nowhere"], ["cypher", "CREATE (:Chip)"]):
        status, out, error = _same(both, command, monkeypatch, *words)
        assert (status in (1, 2), out, bool(_REQUEST.search(error))) == (True, "", True)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"places": "x"}, "no member 'places'"),
        ({"place": 1}, "place is not text"),
        ({"where": "state=up"}, "where is not a list of texts"),
        ({"sort": [1]}, "sort is not a list of texts"),
        ({"ended": 1}, "ended is not true or false"),
        ({"limit": True}, "limit is not an integer"),
        ({"limit": 0}, "limit 0 is out of range"),
        ({"limit": 1_000_001}, "use 1 to 1,000,000"),
        ({"format": "xml"}, "'xml' is not a format"),
        ({"where": ["\x00"]}, "the body"),
    ],
)
def test_a_malformed_body_is_refused(both: Both, body: dict[str, object], message: str) -> None:
    with pytest.raises(RequestError, match=re.escape(message)):
        both[1]().list_things("chip", **body)


def test_an_unknown_kind_is_not_found(both: Both) -> None:
    for kind in ("colour", "../sql", "chip/x", "%2e", "__class__"):
        with pytest.raises(TrninvError) as caught:
            both[1]().list_things(kind)
        assert isinstance(caught.value, NotFoundError) or "trninv" in str(caught.value)


def test_a_list_needs_the_scope_that_its_kind_declares(databases: Databases) -> None:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        tokens = {
            scope: bearer_tokens.create_token(connection, f"by-{scope}", scope, None)
            for scope in ("read", "observe", "admin")
        }
    with service(url, auth="tokens") as connect:
        assert connect(token=tokens["read"]).list_things("chip", limit=1).truncated
        with pytest.raises(ForbiddenError, match="list/token needs a token of scope admin"):
            connect(token=tokens["read"]).list_things("token")
        assert len(connect(token=tokens["admin"]).list_things("token").rows) == 3
        for refused in (tokens["observe"], ""):
            with pytest.raises(TrninvError) as caught:
                connect(token=refused).list_things("chip")
            assert caught.value.code in ("FORBIDDEN", "UNAUTHENTICATED")
        with pytest.raises(ForbiddenError):
            connect(token=tokens["read"]).sql_rows("SELECT 1")
    with service(url, persisted_only=True) as connect, pytest.raises(ForbiddenError, match="persisted"):
        connect().list_things("chip")
    databases.drop(url)
