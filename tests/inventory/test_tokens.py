"""A principal may have several tokens: made by the thousand, replaced with an overlap, revoked singly, on record."""

import json
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, Row, func, select, text
from sqlalchemy.event import listen, remove

from conftest import Run
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.errors import ConflictError, DatabaseError, InvalidArgumentError, UnauthenticatedError, UnknownTokenError
from trninv.inventory.access import bearer_tokens
from trninv.inventory.access.bearer_tokens import IssuedToken, Principal
from trninv.inventory.access.token_events import record_uses
from trninv.inventory.schema.listing import select_things
from trninv.inventory.schema.things import THINGS
from trninv.units import format_timestamp


def listed(connection: Connection, name: str = "token") -> Sequence[Row[Any]]:
    return connection.execute(select_things(THINGS[name])).all()


def is_valid(connection: Connection, token: str) -> bool:
    try:
        bearer_tokens.find_principal(connection, token)
    except UnauthenticatedError:
        return False
    return True


def actions(connection: Connection) -> list[tuple[str, str, int]]:
    return [(row.who, row.action, row.token) for row in listed(connection, "token_event")]


def test_each_token_of_a_principal_is_its_own(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        first, second, third = (
            bearer_tokens.create_token(connection, "i-0a", scope, None, who="ann")
            for scope in ("observe", "observe", "read")
        )
        assert bearer_tokens.revoke_token(connection, "i-0a", 1, who="bert") == [1]
        assert [is_valid(connection, token) for token in (first, second, third)] == [False, True, True]
        assert bearer_tokens.find_principal(connection, third) == Principal("i-0a", "read")
        with pytest.raises(UnknownTokenError, match="i-0a has no token 4"):
            bearer_tokens.revoke_token(connection, "i-0a", 4)
        bearer_tokens.create_token(connection, "i-0b", "observe", None)
        with pytest.raises(UnknownTokenError, match="i-0b has no token 2"):
            bearer_tokens.revoke_token(connection, "i-0b", 2)
        assert bearer_tokens.revoke_token(connection, "i-0a", who="carl") == [2, 3]
        again = bearer_tokens.create_token(connection, "i-0a", "observe", None, who="ann")
        assert [is_valid(connection, token) for token in (first, second, third, again)] == [False, False, False, True]
        assert [row.revoked_by for row in listed(connection)] == ["bert", "carl", "carl", None, None]
        assert [row.issued_by for row in listed(connection)] == ["ann", "ann", "ann", "trninv", "ann"]
        assert actions(connection)[3:] == [
            ("bert", "revoke", 1),
            ("trninv", "create", 4),
            ("carl", "revoke", 2),
            ("carl", "revoke", 3),
            ("ann", "create", 5),
        ]


def test_a_rotation_has_an_overlap_that_ends_at_its_instant(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        soon, old = (bearer_tokens.create_token(connection, "a", "read", expires) for expires in ("1h", None))
        new = bearer_tokens.rotate_token(connection, "a", None, "90d", "2h", who="ann")
        ends = [datetime.fromisoformat(row.expires) for row in listed(connection)]
        created = [datetime.fromisoformat(row.created) for row in listed(connection)]
        assert ends[0] - created[0] == timedelta(hours=1), "it ends sooner anyway"
        assert timedelta() <= ends[1] - created[1] - timedelta(hours=2) < timedelta(minutes=5)
        assert ends[2] - created[2] == timedelta(days=90)
        for moment, valid in ((ends[1] - timedelta(microseconds=1), True), (ends[1], False)):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(bearer_tokens, "current_timestamp", lambda moment=moment: format_timestamp(moment))
                assert [is_valid(connection, token) for token in (soon, old, new)] == [False, valid, True]
        assert actions(connection)[2:] == [("ann", "create", 3), ("ann", "rotate", 1), ("ann", "rotate", 2)]


def test_a_rotation_replaces_what_is_valid_of_one_scope(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        for name, scope in (("a", "read"), ("a", "operate"), ("b", "read")):
            bearer_tokens.create_token(connection, name, scope, None)
        with pytest.raises(ConflictError, match="scopes operate, read: say which"):
            bearer_tokens.rotate_token(connection, "a", None, None, "1h", who="ann")
        with pytest.raises(ConflictError, match="a has no valid token of scope sql"):
            bearer_tokens.rotate_token(connection, "a", "sql", None, "1h", who="ann")
        new = bearer_tokens.rotate_token(connection, "a", "operate", None, "1h", who="ann")
        assert bearer_tokens.find_principal(connection, new) == Principal("a", "operate")
        assert [row.expires is not None for row in listed(connection)] == [False, True, False, False]
        bearer_tokens.revoke_token(connection, "b")
        with pytest.raises(ConflictError, match="b has no valid token to replace"):
            bearer_tokens.rotate_token(connection, "b", None, None, "1h", who="ann")
        with pytest.raises(UnknownTokenError):
            bearer_tokens.rotate_token(connection, "c", None, None, "1h", who="ann")
        with pytest.raises(InvalidArgumentError, match="--overlap soon"):
            bearer_tokens.rotate_token(connection, "a", "read", None, "soon", who="ann")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "0 names"),
        (["a", "b", "a"], "'a' is named 2 times"),
        (["a", "b c"], "'b c' can't name a token"),
        (["n"] * 100_001, "100,001 names"),
    ],
)
def test_all_are_made_or_none(engine: Engine, names: list[str], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message), write_transaction(engine) as connection:
        bearer_tokens.issue_tokens(connection, names, "observe", None, who="ann")
    with read_transaction(engine) as connection:
        assert {len(listed(connection, name)) for name in ("token", "token_event")} == {0}


def test_a_fleet_s_tokens_are_made_at_once_and_once_more(engine: Engine) -> None:
    names = [f"i-{number:017x}" for number in range(3_000)]
    with write_transaction(engine) as connection:
        bearer_tokens.create_token(connection, names[7], "observe", None)
        issued = bearer_tokens.issue_tokens(connection, names, "observe", "90d", who="ann")
        again = bearer_tokens.issue_tokens(connection, names, "observe", "90d", who="ann")
        assert [token.name for token in issued] == names
        assert len({token.token for token in (*issued, *again)}) == 2 * len(names)
        for made in (issued[0], issued[7], again[-1]):
            assert bearer_tokens.find_principal(connection, made.token) == Principal(made.name, "observe")
        assert connection.scalar(select(func.count()).select_from(TABLES["principal"])) == len(names)
        assert len(listed(connection, "token_event")) == 2 * len(names) + 1


@pytest.mark.slow
def test_25_000_tokens_take_less_than_a_minute_of_this_process(run: Run, tables: str, tmp_path: Path) -> None:
    (tmp_path / "hosts.txt").write_text("".join(f"host-{number}\n" for number in range(25_000)))
    begin = time.process_time()
    status, out, _ = run(
        "token", "create", "--from-file", str(tmp_path / "hosts.txt"), "--scope=observe", database=tables
    )
    assert (status, len(out.splitlines())) == (0, 25_000)
    assert time.process_time() - begin < 60


def test_the_file_has_one_name_on_each_line(run: Run, tables: str, tmp_path: Path) -> None:
    (tmp_path / "hosts.txt").write_text("# rack 1\nn0\n\n  n1  \n")
    command = ("token", "create", "--from-file", str(tmp_path / "hosts.txt"), "--scope", "observe", "--who", "ann")
    status, out, err = run(*command, "--dry-run", database=tables)
    assert (status, "dry run" in err, len(out.splitlines())) == (0, True, 2)
    assert json.loads(run("token", "list", "--format", "json", database=tables)[1]) == []
    out = run(*command, database=tables)[1]
    made = [IssuedToken(*line.split("\t")) for line in out.splitlines()]
    assert [token.name for token in made] == ["n0", "n1"]
    more = json.loads(run(*command, "--format", "json", database=tables)[1])
    assert [token["name"] for token in more] == ["n0", "n1"]
    with temporary_engine(tables) as engine, read_transaction(engine) as connection:
        assert all(is_valid(connection, token.token) for token in made)
        assert {(row.who, row.action) for row in listed(connection, "token_event")} == {("ann", "create")}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "write either the NAME of one principal or --from-file FILE"),
        (("a", "--from-file", "{file}"), "write either the NAME of one principal or --from-file FILE"),
        (("--from-file", "{file}"), "it is not UTF-8 text; write one name on each line"),
        (("--from-file", "/nonexistent"), "No such file"),
    ],
)
def test_what_is_no_list_of_names_is_refused(
    run: Run, tables: str, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    file = tmp_path / "hosts.txt"
    file.write_bytes(b"n0\n\xff\n")
    status, out, err = run("token", "create", *(word.format(file=file) for word in words), database=tables)
    assert (status, out, message in err) == (2, "", True), err


def test_the_commands_rotate_and_revoke(run: Run, tables: str) -> None:
    run("token", "create", "grafana", "--who", "ann", database=tables)
    status, out, err = run("token", "rotate", "grafana", "--overlap", "1h", "--who", "ann", database=tables)
    assert (status, out.startswith("trninv_"), err) == (
        0,
        True,
        "It cannot be shown again: only its SHA-256 is stored.\n",
    )
    for words, line in (
        (("--number", "1"), "grafana: revoked 1\n"),
        ((), "grafana: revoked 2\n"),
        ((), "grafana: all are revoked already\n"),
    ):
        assert run("token", "revoke", "grafana", *words, database=tables)[:2] == (0, line)
    events = json.loads(run("token", "events", "--format", "json", database=tables)[1])
    assert [(event["action"], event["token"]) for event in events] == [
        ("create", 1),
        ("create", 2),
        ("rotate", 1),
        ("revoke", 1),
        ("revoke", 2),
    ]


def test_a_use_is_stored_and_the_first_one_is_an_event(engine: Engine) -> None:
    first, later = ("2026-03-01T00:00:00.000000+00:00", "2026-03-01T01:00:00.000000+00:00")
    with write_transaction(engine) as connection:
        for name in ("a", "b", "c"):
            bearer_tokens.create_token(connection, name, "read", None, who="ann")
        record_uses(connection, {1: first, 2: later})
        record_uses(connection, {1: later, 2: first})
        assert [row.last_used for row in listed(connection)] == [later, later, None]
        uses = [(row.at, row.who, row.token) for row in listed(connection, "token_event") if row.action == "use"]
        assert uses == [(first, "a", 1), (later, "b", 2)]


def test_first_uses_of_a_fleet_take_few_statements(engine: Engine) -> None:
    statements = [0]

    def count(*_: object) -> None:
        statements[0] += 1

    with write_transaction(engine) as connection:
        bearer_tokens.issue_tokens(connection, [f"n{number}" for number in range(1_200)], "observe", None, who="ann")
        listen(engine, "before_cursor_execute", count)
        record_uses(connection, {number: f"2026-03-01T00:00:00.{number:06}+00:00" for number in range(1, 1_201)})
        remove(engine, "before_cursor_execute", count)
        assert statements[0] < 10
        uses = [(row.at[20:26], row.who) for row in listed(connection, "token_event") if row.action == "use"]
        assert uses == [(f"{number:06}", f"n{number - 1}") for number in range(1, 1_201)]


def test_events_of_tokens_are_append_only(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        bearer_tokens.create_token(connection, "a", "read", None)
    for statement in ("DELETE FROM token_event", "UPDATE token_event SET who = 'nobody'"):
        with pytest.raises(DatabaseError, match="append only"), write_transaction(engine) as connection:
            connection.execute(text(statement))
