"""What a command says when Ctrl-C ends it: whether its change was stored."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, event

import trninv
from conftest import Run
from serving import await_answer, free_port, serving
from trninv.cli import change_commands
from trninv.database.stored_changes import STORED, StoredChanges

CHIP = "u-trn2x64/d0/s0/c0"
SET = ("set", CHIP, "down", "--why", "test", "--who", "tests")
NOTHING, STORING, ALREADY = (
    "nothing in the database was changed",
    "the change was being stored; check whether it was stored before you repeat it",
    "the change was already stored",
)


@pytest.fixture
def fresh(seeded: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database of its own, made before anything counts."""
    monkeypatch.setattr(STORED, "count", 0)
    monkeypatch.setattr(STORED, "is_storing", False)
    return seeded


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def state(url: str) -> str:
    with trninv.open(url) as fleet:
        return str(fleet.sql(f"SELECT state FROM v_chip WHERE address = '{CHIP}'")["state"][0])


def interrupt_insert(_connection: Any, _cursor: Any, statement: str, *_: object) -> None:
    if statement.startswith("INSERT INTO event"):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("name", "handler", "message"),
    [("before_cursor_execute", interrupt_insert, NOTHING), ("commit", interrupt, STORING)],
)
def test_before_the_commit_nothing_is_stored(
    run: Run, fresh: str, name: str, handler: Callable[..., None], message: str
) -> None:
    event.listen(Engine, name, handler)
    try:
        ended = run(*SET, database=fresh)
    finally:
        event.remove(Engine, name, handler)
    assert ended == (130, "", f"\ninterrupted: {message}\n")
    assert state(fresh) == "up"


def test_after_the_commit_the_change_is_stored(run: Run, fresh: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_commands, "print_value", interrupt)
    assert run(*SET, database=fresh) == (130, "", f"\ninterrupted: {ALREADY}\n")
    assert state(fresh) == "down"


def test_a_service_stored_it(fresh: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    from trninv.cli.main import main  # noqa: PLC0415 # as the fixture run

    monkeypatch.setattr(change_commands, "print_value", interrupt)
    with serving(fresh) as url, pytest.raises(SystemExit):
        main(["--service", url, *SET])
    assert capfd.readouterr().err.endswith(f"interrupted: {ALREADY}\n")
    assert state(fresh) == "down"


def test_what_was_stored_is_counted() -> None:
    stored = StoredChanges()
    for _ in range(2):
        with stored.storing():
            pass
    with pytest.raises(ValueError, match="no"), stored.storing():
        raise ValueError("no")
    assert stored.describe() == "2 changes were already stored"


def test_serve_ends_with_a_plain_word(lite: str) -> None:
    hears = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background shell ignores it
    port = free_port()
    code = f"{hears}from trninv.cli.main import main\nmain(['--database', {lite!r}, 'serve', '--port', '{port}'])"
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, env=os.environ, text=True) as process:
        await_answer(f"http://127.0.0.1:{port}")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err.splitlines()[-1]) == (130, "stopped")
    assert "interrupted" not in err
