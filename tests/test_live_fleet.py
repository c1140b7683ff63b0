"""The page on a live fleet is followed on an empty database, and its outputs are what stands on it.

``python tests/test_live_fleet.py`` writes the outputs anew.
"""

import contextlib
import io
import os
import re
import shlex
import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest

import fleet_outputs
from conftest import Databases
from examples import ROOT, without_cut
from slurms import slurm
from trninv.cli.main import main

PAGE = ROOT / "docs/live-fleet.md"
_FENCE = re.compile(r"```console\n(.*?)```", re.DOTALL)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?(\+00:00|Z)")
_GENERATOR = "python tests/fleet_outputs.py"


def follow(page: str, database: str, directory: Path) -> str:
    """The page as it reads when it is followed in a directory; times are all the same."""
    assert "\n    trninv migrate\n" in page
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(None):
        main(["--database", database, "migrate"])
    with contextlib.chdir(directory), patch.dict(os.environ, LOGNAME="you"):
        return _FENCE.sub(lambda block: f"```console\n{_shown(block[1], database)}```", page)


def _shown(block: str, database: str) -> str:
    lines = [line for line in block.splitlines() if line.startswith("$ ")]
    shown = [f"{line}\n{_TIME.sub(_noon, _printed(line[2:], database))}" for line in lines]
    return "\n".join(shown) if any("\n" in each.rstrip("\n") for each in shown) else "".join(shown)


def _noon(time: re.Match[str]) -> str:
    return f"2026-11-22T12:00:00{'.000000' if time[1] else ''}{time[2]}"


def _printed(line: str, database: str) -> str:
    line, lines = without_cut(line)
    command, _, thrown_away = line.partition(" > ")
    words = [each for word in shlex.split(command) for each in _expanded(word)]
    out = io.StringIO()
    if command.startswith(_GENERATOR):
        fleet_outputs.main(words[2:])
    else:
        assert words[0] == "trninv"
        with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as ended:
            main(["--database", database, *words[1:]])
        assert not ended.value.code, line
    printed = "" if thrown_away else out.getvalue()
    return "".join(f"{each.rstrip()}\n" for each in printed.splitlines()[lines])


def _expanded(word: str) -> list[str]:
    return sorted(map(str, Path().glob(word))) if "*" in word else [word]


@pytest.mark.slow_on_postgresql
def test_the_page_is_what_its_commands_print(empty: str, tmp_path: Path) -> None:
    assert follow(PAGE.read_text(), empty, tmp_path) == PAGE.read_text()


@pytest.mark.slow
def test_slurm_runs_what_the_page_wrote(databases: Databases, tmp_path: Path) -> None:
    follow(PAGE.read_text(), databases.empty("sqlite"), tmp_path)
    files = [(tmp_path / name).read_text() for name in ("topology.conf", "nodes.conf")]
    with (
        tempfile.TemporaryDirectory(prefix="sl", ignore_cleanup_errors=True) as work,
        slurm(Path(work), *files) as srun,
    ):
        fleet = fleet_outputs.machines()[:12]
        hosts = [machine.host for machine in fleet]
        assert srun("-N4", "--switches=1", "--gres=neuron:16") in [sorted(hosts[at : at + 4]) for at in (0, 4, 8)]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        PAGE.write_text(follow(PAGE.read_text(), f"sqlite:///{made}/live.db", Path(made)))
