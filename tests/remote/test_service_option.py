"""`trninv --service URL`: what it takes, what it refuses, and whose tokens may do what."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from every_command import EVERY
from service_calls import NEEDS_DATABASE, NO_DATABASE, READ

import trninv
from conftest import BACKENDS, Databases
from remoting import URL, Command, command, service
from trninv.database.engine import temporary_engine, write_transaction
from trninv.errors import ForbiddenError, UnauthenticatedError
from trninv.inventory.access import bearer_tokens
from trninv.placement import questions as placement_questions
from trninv.placement.changes import all_changes
from trninv.remote.remote_fleet import RemoteFleet
from trninv.routing.questions import all_questions

__all__ = ["command"]  # a fixture
Guarded = tuple[Callable[..., RemoteFleet], dict[str, str]]
NOWHERE = "http://127.0.0.1:9"
"""A port that nothing listens on."""


@pytest.mark.parametrize(
    ("environment", "words", "told"),
    [
        ({}, ["--database", "sqlite:///x", "--service", NOWHERE], "--database and --service exclude each other"),
        ({"TRNINV_SERVICE": NOWHERE, "TRNINV_DATABASE_URL": "sqlite:///x"}, [], "are both set; unset one"),
        ({}, ["--service", "fleet.example"], "--service fleet.example: write the service's URL"),
        ({"TRNINV_SERVICE": "x"}, [], "--service x: write the service's URL"),
        ({}, ["--service", "https://user:secret@fleet.example"], "not a service's URL"),
        ({"TRNINV_TOKEN": "a b"}, ["--service", NOWHERE], "the token is not one word"),
    ],
)
def test_a_choice_that_is_no_choice_is_refused(
    command: Command, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], words: list[str], told: str
) -> None:
    for name in ("TRNINV_SERVICE", "TRNINV_DATABASE_URL", "TRNINV_TOKEN", "TRNINV_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    status, out, error = command(*words, "free", "u-trn2x64")
    assert (status, out) == (2, "")
    assert told in error
    assert "secret" not in error


def test_an_option_counts_before_the_environment(command: Command, monkeypatch: pytest.MonkeyPatch, lite: str) -> None:
    monkeypatch.setenv("TRNINV_SERVICE", NOWHERE)
    monkeypatch.delenv("TRNINV_DATABASE_URL", raising=False)
    assert command("--database", lite, "free", "u-trn2x64")[0] == 0
    status, _, error = command("free", "u-trn2x64")
    assert (status, "does not answer" in error) == (1, True)
    monkeypatch.setenv("TRNINV_DATABASE_URL", lite)
    assert "does not answer" in command("--service", NOWHERE, "free", "u-trn2x64")[2]


def test_every_command_takes_a_service_or_says_why_not() -> None:
    declared = {one.command for one in (*all_questions(), *placement_questions.all_questions()) if one.field}
    changes = {one.command for one in all_changes() if one.field}
    called = {words.split()[0] for words in READ if isinstance(words, str)} | {"status", "watch", "timeline", "check"}
    lists = {"bindings", "cordons", "cypher", "incidents", "jobs", "list", "reservations", "sql"}
    lists |= {"token list", "token events"}
    names = {" ".join(words) for words in EVERY if words[0] != "import"} - {"token", "webhooks"}
    needing = {name for name in names if any(f"{call} ".startswith(f"{name} ") for call in NEEDS_DATABASE)}
    covered = declared | changes | called | lists | NO_DATABASE | needing
    assert names == {name.partition(" --")[0] for name in covered}, (
        "call it in READ, or name it in NEEDS_DATABASE with a reason"
    )


@pytest.mark.parametrize("words", NEEDS_DATABASE)
def test_a_command_that_needs_the_database_says_so(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str
) -> None:
    monkeypatch.delenv("TRNINV_DATABASE_URL", raising=False)
    (tmp_path / "FILE").write_text(
        "receivers: [{name: pager, url: https://pager.example, secret_env: SECRET, events: {}}]"
    )
    monkeypatch.setenv("TRNINV_WEBHOOKS", str(tmp_path / "FILE"))
    monkeypatch.setenv("SECRET", "A" * 43 + "=")
    monkeypatch.chdir(tmp_path)
    status, _, error = command("--service", "http://127.0.0.1:9", *words.split())
    assert (status, "needs the database itself" in error) == (2, True), error


@pytest.fixture(scope="module", params=BACKENDS)
def guarded(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Guarded]:
    """What connects to a service that asks for tokens, and a token of each scope."""
    url = databases.seeded(request.param)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        tokens = {
            scope: bearer_tokens.create_token(connection, f"by-{scope}", scope, None)
            for scope in ("read", "operate", "observe")
        }
    with service(url, auth="tokens") as connect:
        yield connect, tokens
    databases.drop(url)


def test_a_token_of_scope_read_reads_and_changes_nothing(guarded: Guarded) -> None:
    connect, tokens = guarded
    reader = connect(token=tokens["read"])
    assert reader.bisection("u-trn2x64").exact
    for dry_run in (False, True):
        with pytest.raises(ForbiddenError, match="set_state needs a token of scope operate") as caught:
            reader.set_state("u-trn2x64/d0/s0/c0", "down", why="x", who="by-read", dry_run=dry_run)
        assert (caught.value.code, bool(caught.value.request_id)) == ("FORBIDDEN", True)
    with pytest.raises(ForbiddenError, match="sweep needs a token of scope operate"):
        reader.sweep("u-trn2x64")
    assert reader.events(limit=1, scope="u-trn2x64") == []
    for token in (tokens["observe"], "", "trninv_wrong"):
        with pytest.raises((UnauthenticatedError, ForbiddenError)):
            connect(token=token).jobs()


def test_a_command_without_a_token_says_where_it_takes_it_from(
    guarded: Guarded, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, _ = guarded
    hint = "; set TRNINV_TOKEN or TRNINV_TOKEN_FILE (request "
    for token, has_hint in (("", True), ("trninv_wrong", False)):
        monkeypatch.setenv("TRNINV_TOKEN", token)
        monkeypatch.setattr(trninv, "connect", lambda _, token=token: connect(token=token))
        status, _, error = command("--service", URL, "incidents")
        assert (status, hint in error) == (1, has_hint)


def test_the_author_is_the_token_and_nobody_else(
    guarded: Guarded, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, tokens = guarded
    monkeypatch.setenv("TRNINV_TOKEN", tokens["operate"])
    monkeypatch.setattr(trninv, "connect", lambda _: connect(token=tokens["operate"]))
    set_down = ("--service", URL, "set", "u-trn2x64/d0/s0/c1", "down", "--why", "fan")
    status, out, error = command(*set_down)
    assert (status, out, error) == (0, "u-trn2x64/d0/s0/c1: up → down\n", "")
    operator = connect(token=tokens["operate"])
    assert operator.events("u-trn2x64/d0/s0/c1", limit=1)[0].who == "by-operate"
    with pytest.raises(ForbiddenError, match="the token is by-operate's, not 'root'; omit who"):
        operator.cordon("u-trn2x64/d0/s1", who="root", why="x")
    status, _, error = command(*set_down, "--who", "root")
    assert status == 1
    assert "omit who (request " in error
    status, out, _ = command("--service", URL, "incidents")
    assert (status, "by-operate" in out) == (0, True)
