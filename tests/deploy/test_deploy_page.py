"""docs/how-to/deploy.md: its commands of trninv are run, and what others of it run is what other tests start."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Databases, Run
from examples import ROOT
from trninv.history.archive.archive_directory import open_directory

PAGE = (ROOT / "docs/how-to/deploy.md").read_text()
_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
_OTHERS = {
    "apt-get",
    "cp",
    "curl",
    "deploy/rolling-restart",  # tests/deploy/test_rolling_restart.py
    "kubectl",  # tests/deploy/test_deployment_files.py
    "nginx",  # the same
    "/opt/trninv/bin/pip",  # tests/test_wheel.py
    "podman",
    "printf",
    "python3",
    "runuser",
    "useradd",
    "systemctl",  # tests/deploy/test_deployment_files.py
}
"""What the page runs beside trninv, and the tests that run what stands behind it."""


def _commands() -> Iterator[list[str]]:
    for block in _BLOCK.findall(PAGE):
        yield from (shlex.split(line) for line in block.splitlines())


def test_the_page_runs_nothing_that_is_not_known_here() -> None:
    assert {words[0] for words in _commands()} == {*_OTHERS, "trninv"}


def test_the_files_that_it_copies_exist() -> None:
    for words in _commands():
        for word in words[1:]:
            if re.match(r"(deploy|monitoring)/", word) and not word.endswith("/.env"):
                assert any(ROOT.glob(word.removesuffix("/"))), word
    units = {word for words in _commands() if words[0] == "systemctl" for word in words if word.startswith("trninv")}
    for unit in units:
        name = re.sub(r"@\d+$", "@.service", unit)
        assert (ROOT / "deploy" / "systemd" / name).is_file(), unit


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["postgresql"])
def test_its_commands_lead_to_a_fleet(backend: str, run: Run, databases: Databases, tmp_path: Path) -> None:
    url, tokens = databases.empty(backend), list[str]()
    for words in _commands():
        if words[0] != "trninv":
            continue
        arguments = [str(tmp_path) if word.startswith("s3://") else word for word in words[1:]]
        status, out, error = run(*arguments, database=url)
        assert status == 0, (words, error)
        tokens += re.findall(r"trninv_\w+", out)
    assert len(tokens) == 3
    assert run("migrate", "--check", database=url)[0] == 0
    assert "u-trn2x64" in run("status", database=url)[1]
    assert run("verify", database=url)[0] == 0
    names = run("token", "list", database=url)[1]
    assert all(name in names for name in ("me", "ip-10-0-0-1", "prometheus"))
    assert open_directory(tmp_path).read("manifest.ndjson") is not None
