"""zsh and fish complete with what the commands print for them (apt-get install zsh fish)."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

import trninv

pytestmark = pytest.mark.slow

CHIPS = [f"u-trn2x64/d0/s0/c{at}" for at in (1, *range(10, 16))]
FOLLOWS = {
    "show u-trn2x64/d0/s0/c1": CHIPS,
    "--database=sqlite:///bound.db show u-trn2x64/d0/s0/c1": CHIPS,
    "path u-trn2x64/d0/s0/c0 --down u-trn2x64/d0/s0/c1": CHIPS,
    "show @node-b/c1": [f"@node-b/c{at}" for at in (1, *range(10, 16))],
    "make-": ["make-room"],
    "show none/": [],
}
"""What is typed, and what may be there instead of the last word."""


@pytest.fixture
def environment(lite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Of a shell that finds trninv, with a fleet of which a host has a name."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "bound.db"
    file.write_bytes(Path(lite.removeprefix("sqlite:///")).read_bytes())
    with trninv.open(f"sqlite:///{file}") as fleet:
        fleet.bind("u-trn2x64/d0/s0", "node-b", who="tests")
    program = tmp_path / "trninv"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m trninv "$@"\n')
    program.chmod(0o755)
    return {
        "PYTHONPATH": ":".join(sys.path),
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "TERM": "dumb",
        "TRNINV_DATABASE_URL": f"sqlite:///{file}",
    }


def test_fish(environment: dict[str, str]) -> None:
    script = "source (trninv completion fish | psub)"
    for typed in FOLLOWS:
        script += f"; complete -C 'trninv {typed}'; echo; echo ."
    told = subprocess.run(
        ["fish", "--no-config", "-c", script], check=True, capture_output=True, text=True, env=environment
    )
    found = [[line.split("\t")[0] for line in each.splitlines() if line] for each in told.stdout.split("\n.")]
    assert found[:-1] == [*FOLLOWS.values()]
    assert told.stderr == ""


def test_zsh(environment: dict[str, str]) -> None:
    begin = "autoload -U compinit; compinit -D; source <(trninv completion zsh); PS1='ready> '; LISTMAX=999\n"
    shell = Zsh(environment)
    try:
        assert shell.says(begin, ["ready>"])
        for typed, follows in FOLLOWS.items():
            assert shell.says(f"\x15trninv {typed}\t\t", follows), typed
    finally:
        shell.close()


class Zsh:
    """An interactive zsh, without anybody's settings."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._id, self._terminal = pty.fork()
        if not self._id:
            os.execvpe("zsh", ["zsh", "-f", "-i"], environment)  # noqa: S606

    def says(self, keys: str, words: list[str]) -> bool:
        """Whether it shows all of some words after keys, within a minute."""
        os.write(self._terminal, keys.encode())
        found, end = "", time.monotonic() + 60
        while not {*words} <= {*re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", " ", found).split()}:
            if time.monotonic() > end or not select.select([self._terminal], [], [], 60)[0]:
                return False
            found += os.read(self._terminal, 65536).decode()
        return True

    def close(self) -> None:
        os.kill(self._id, 9)
        os.waitpid(self._id, 0)
        os.close(self._terminal)
