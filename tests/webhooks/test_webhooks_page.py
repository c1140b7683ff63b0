"""The page about webhooks is followed, with its own receiver in plain Python."""

import base64
import contextlib
import json
import os
import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flaky_receiver import SECRET_TEXT

from conftest import Databases, Run
from examples import ROOT
from serving import free_port

PAGE = (ROOT / "docs/how-to/send-webhooks.md").read_text()
_FILE = re.compile(r"[Ss]ave this as `([\w.-]+)`:\n\n((?:(?:    .*)?\n)+)")
_COMMAND = re.compile(r"^    \$ trninv (.*)\n((?:    (?!\$).*\n|\n(?=    [^$]))*)", re.MULTILINE)


def _outputs(command: str) -> list[str]:
    """What the page prints below a command."""
    (output,) = [output for line, output in _COMMAND.findall(PAGE) if line.startswith(command)]
    return textwrap.dedent(output).splitlines()


@contextmanager
def _process(log: Path, *command: str) -> Iterator[None]:
    with log.open("ab") as out:
        process = subprocess.Popen([sys.executable, *command], stdout=out)
    try:
        yield
    finally:
        process.terminate()
        process.wait(20)


def _await(log: Path, *lines: str) -> None:
    """Wait for lines, without what differs from time to time."""
    end = time.monotonic() + 60
    while not set(lines) <= set(log.read_text().splitlines()):
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)


@pytest.mark.slow
def test_the_page_can_be_followed(
    databases: Databases, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, port, log = databases.migrated("sqlite"), free_port(), tmp_path / "log"
    for name, value in {
        "DEMO_SECRET": base64.b64encode(os.urandom(32)).decode(),
        "TRNINV_WEBHOOKS": "receivers.yaml",
        "TRNINV_DATABASE_URL": url,
        "LOGNAME": "you",
    }.items():
        monkeypatch.setenv(name, value)
    for name, text in _FILE.findall(PAGE):
        (tmp_path / name).write_text(textwrap.dedent(text).replace("9099", str(port)))
    run("seed", "u-trn2x64", "--name", "prod", database=url)
    with contextlib.chdir(tmp_path), contextlib.ExitStack() as stack:
        with _process(log, "receiver.py"):
            _await_port(port)
            status, out, _ = run("webhooks", "test", "demo", database=url)
            assert (status, re.sub("msg_.*", "", out)) == (0, "demo accepted \n")
            stack.enter_context(_process(tmp_path / "send", "-m", "trninv", "webhooks", "send"))
            _await_receiver(run, url)
            run("set", "prod/d0/s1/c5", "down", "--why", "lost heartbeat", database=url)
            _await(log, *_outputs("webhooks test")[:1], *_outputs("set prod/d0/s1/c5"))
        run("set", "prod/d0/s1/c6", "down", "--why", "lost heartbeat", database=url)
        end = time.monotonic() + 60
        while not _dead_letters(run, url):
            assert time.monotonic() < end
            time.sleep(0.2)
        _, out, _ = run("webhooks", "list", database=url)
        assert _words(out) == _words("\n".join(_outputs("webhooks list")))
        with _process(log, "receiver.py"):
            _await_port(port)
            status, out, _ = run("webhooks", "retry", database=url)
            *received, summary = _outputs("webhooks retry")
            assert (status, out) == (0, f"{summary}\n")
            _await(log, *received)
    assert _dead_letters(run, url) == 0


def _await_receiver(run: Run, url: str) -> None:
    end = time.monotonic() + 60
    while "demo" not in run("webhooks", "list", database=url)[1]:
        assert time.monotonic() < end
        time.sleep(0.1)


def _await_port(port: int) -> None:
    import socket  # noqa: PLC0415

    end = time.monotonic() + 60
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        assert time.monotonic() < end
        time.sleep(0.05)


def _dead_letters(run: Run, url: str) -> int:
    return len(json.loads(run("webhooks", "list", "--format", "json", database=url)[1])["deadLetters"])


def _words(table: str) -> list[str]:
    """The words of a table, without times and lines."""
    return [word for word in table.split() if not re.fullmatch(r"-+|\d{4}-.*", word)]


def test_commands_say_what_is_wrong(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, _, err = run("webhooks", "test", "demo")
    assert (status, "set TRNINV_WEBHOOKS" in err) == (2, True)
    file = tmp_path / "receivers.yaml"
    monkeypatch.setenv("TRNINV_WEBHOOKS", str(file))
    monkeypatch.setenv("PAGER", SECRET_TEXT)
    file.write_text("receivers:\n- {name: a, url: 'http://127.0.0.1/', secret_env: PAGER, checks: {}}\n")
    status, out, err = run("serve", "--port", "0")
    assert (status, out) == (2, "")
    assert ":2: url has no https" in " ".join(err.split())
    file.write_text("receivers:\n- {name: a, url: 'https://127.0.0.1/', secret_env: PAGER, checks: {}}\n")
    status, _, err = run("webhooks", "test", "a")
    assert status == 1
    assert "127.0.0.1 has the address 127.0.0.1, which is not public" in " ".join(err.split())
    assert run("webhooks", "test", "b")[0] == 1
    status, _, err = run("webhooks", "retry", "7")
    assert (status, "there is no dead letter 7" in err) == (1, True)
    assert run("webhooks", "retry")[:2] == (0, "0 of 0 accepted\n")
