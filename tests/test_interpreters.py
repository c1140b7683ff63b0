"""Which interpreters the project names, which of them CI finds on a machine, and which one ./run takes."""

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

_PRETENDS = """#!/bin/sh
exec {real} -c '
import collections, sys
sys.executable = "{file}"
Version = collections.namedtuple("Version", "major minor micro releaselevel serial")
sys.version_info = Version(3, {minor}, 0, "{level}", 0)
exec(sys.argv[1])' "$2"
"""


def interpreter(file: Path, minor: int, level: str = "final") -> None:
    """A program that runs Python code as if it were release 3.MINOR."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(_PRETENDS.format(real=sys.executable, file=file, minor=minor, level=level))
    file.chmod(0o755)


def test_ci_finds_one_released_interpreter_a_minor_version(tmp_path: Path) -> None:
    path, pyenv = tmp_path / "bin", tmp_path / "pyenv" / "versions"
    interpreter(path / "python3", 12)
    interpreter(path / "python3.11", 11)
    (path / "python3.16").write_text("#!/bin/sh\nexit 127\n")  # a shim of pyenv that leads nowhere
    (path / "python3.16").chmod(0o755)
    for name, minor, level in (("3.9.1", 9, "final"), ("3.10.1", 10, "final"), ("3.12.1", 12, "final")):
        interpreter(pyenv / name / "bin" / "python", minor, level)
    interpreter(pyenv / "3.15.0b1" / "bin" / "python", 15, "beta")
    interpreter(pyenv / "3.14.2" / "bin" / "python", 14)
    for tool in ("bash", "sort"):
        (path / tool).symlink_to(shutil.which(tool) or "")
    environment = {"PATH": str(path), "PYENV_ROOT": str(pyenv.parent)}
    found = subprocess.run([ROOT / ".ci" / "interpreters"], env=environment, capture_output=True, text=True, check=True)
    lines = [line.split(" ") for line in found.stdout.splitlines()]
    assert [version for version, _ in lines] == ["3.11", "3.12", "3.14"]
    assert lines[0][1] == str(path / "python3.11")
    assert lines[2][1] == str(pyenv / "3.14.2" / "bin" / "python")


def test_the_classifiers_name_every_release_from_the_oldest_that_will_do() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    minors = [int(minor) for minor in re.findall(r"Python :: 3\.(\d+)", "\n".join(project["classifiers"]))]
    assert project["requires-python"] == f">=3.{minors[0]}"
    assert minors == list(range(minors[0], minors[-1] + 1))


def test_run_refuses_an_environment_of_another_interpreter(tmp_path: Path) -> None:
    shutil.copy(ROOT / "run", tmp_path)
    own = tmp_path / ".venv" / "bin" / "python"
    own.parent.mkdir(parents=True)
    own.write_text("#!/bin/sh\necho Python 3.9.9\n")
    own.chmod(0o755)
    environment = os.environ | {"TRNINV_PYTHON": sys.executable}
    done = subprocess.run([tmp_path / "run", "test"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    here = sys.version.split(" ", maxsplit=1)[0]
    assert done.stderr == f"TRNINV_PYTHON is Python {here}, but .venv has Python 3.9.9; remove .venv first\n"


_SANDBOX = """#!/bin/sh
case "$*" in
    *purelib*) echo "{directory}" ;;
    *"pip install"*) echo starts >> "{directory}/installs"; sleep 0.5; echo ends >> "{directory}/installs" ;;
    *) exec "{real}" "$@" ;;
esac
"""


@pytest.fixture
def sandbox(tmp_path: Path) -> Path:
    """Return a directory with ./run, whose .venv writes down that it installs, which takes half a second."""
    shutil.copy(ROOT / "run", tmp_path)
    for name in ("requirements.txt", "pyproject.toml"):
        (tmp_path / name).touch()
    own = tmp_path / ".venv" / "bin" / "python"
    own.parent.mkdir(parents=True)
    own.write_text(_SANDBOX.format(directory=tmp_path, real=sys.executable))
    own.chmod(0o755)
    return tmp_path


def start(sandbox: Path, directory: Path) -> subprocess.Popen[str]:
    """Start ./run trninv --version from a directory."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(sandbox), "PYTHONPATH": str(ROOT)}
    command, pipe = [str(sandbox / "run"), "trninv", "--version"], subprocess.PIPE
    return subprocess.Popen(command, cwd=directory, env=environment, text=True, stdout=pipe, stderr=pipe)


def test_run_imports_no_file_of_the_directory_where_it_is_started(sandbox: Path) -> None:
    """Nor of the user's: ./run trninv goes back to where it was called."""
    hostile = sandbox / "downloads"
    hostile.mkdir()
    (hostile / "click.py").write_text("raise SystemExit('imported')")
    assert start(sandbox, hostile).communicate()[0].startswith("trninv,")


def test_two_commands_at_once_install_once(sandbox: Path) -> None:
    started = [start(sandbox, sandbox) for _ in range(2)]
    outputs = [process.communicate() for process in started]
    assert all(output.startswith("trninv,") for output, _ in outputs)
    assert (sandbox / "installs").read_text() == "starts\nends\n"
    waiting = "waiting for another ./run, which installs into .venv\n"
    assert sorted(errors for _, errors in outputs) == ["installing requirements.txt into .venv\n", waiting]


def test_commands_wait_for_the_installation_of_a_killed_one_and_then_install_once(sandbox: Path) -> None:
    killed = start(sandbox, sandbox)
    while not (sandbox / "installs").exists():
        time.sleep(0.01)
    killed.kill()
    started = [start(sandbox, sandbox) for _ in range(3)]
    killed.communicate()
    assert all(process.communicate()[0].startswith("trninv,") for process in started)
    assert (sandbox / "installs").read_text() == "starts\nends\n" * 2


def test_a_directory_that_cannot_be_written_is_named(sandbox: Path) -> None:
    (sandbox / "run").write_text((sandbox / "run").read_text().replace("[ -w . ]", "false"))  # root can write all
    assert start(sandbox, sandbox).communicate()[1] == f"{sandbox} cannot be written, so .venv cannot be made in it\n"
