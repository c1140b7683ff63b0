"""A read-only install on a read-only root: only TMPDIR and the database's directory can be written, if any."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from printed import neuron_ls

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.geteuid() != 0, reason="only root may remount the root")]

_IN_NAMESPACE = """
set -eu
mount -t tmpfs tmpfs "$1"
mount --bind "$2" "$2"
mount -o remount,bind,ro "$2"
mount -o remount,bind,ro /
if touch "$3/x" 2>/dev/null; then exit 9; fi
cp "$2/observed.json" "$1"
shift 3
cd /
exec "$@"
"""
_CHIP = "u-trn2x64/d0/s0/c0"
_SET = (
    'mutation { setState(input: {addresses: ["u-trn2x64/d0/s0/c0"], state: DOWN, who: "x", why: "y"}) { __typename } }'
)


class _Machine:
    """A machine whose root is read-only: ``scratch`` can be written, ``fixed`` has a database that can't be."""

    def __init__(self, directory: Path) -> None:
        self.scratch, self.fixed = directory / "scratch", directory / "fixed"
        for made in (self.scratch, self.fixed):
            made.mkdir()
        (self.fixed / "observed.json").write_text(json.dumps(neuron_ls("i-0a")))

    def words(self, *arguments: str) -> list[str | Path]:
        package = Path(__file__).parents[2] / "trninv"
        own: list[str | Path] = [
            "unshare",
            "--mount",
            "sh",
            "-c",
            _IN_NAMESPACE,
            "sh",
            self.scratch,
            self.fixed,
            package,
        ]
        return [*own, *arguments]

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {"HOME": "/nonexistent", "TMPDIR": str(self.scratch), "TRNINV_LOG": "off"}

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run a shell script in which ``trninv`` is the command."""
        command = f'trninv() {{ {sys.executable} -P -m trninv "$@"; }}\n{script}'
        words = self.words("sh", "-euc", command)
        return subprocess.run(words, env=self.environment, capture_output=True, text=True, check=False)

    @contextmanager
    def serve(self, database: str) -> Iterator[str]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        command = self.words(sys.executable, "-P", "-m", "trninv", "--database", database, "serve", "--port", str(port))
        process = subprocess.Popen(command, env=self.environment)
        url = f"http://127.0.0.1:{port}"
        try:
            end = time.monotonic() + 120
            while True:
                try:
                    _ask(f"{url}/healthz")
                    break
                except OSError:
                    assert process.poll() is None
                    assert time.monotonic() < end
                    time.sleep(0.1)
            yield url
        finally:
            process.terminate()
            process.wait(60)


def _ask(url: str, document: str | None = None) -> tuple[int, Any]:
    body = json.dumps({"query": document}).encode() if document else None
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


@pytest.fixture
def machine(tmp_path: Path, lite: str) -> _Machine:
    made = _Machine(tmp_path)
    shutil.copy(lite.removeprefix("sqlite:///"), made.fixed / "fleet.db")
    return made


def test_commands_need_only_a_directory_for_temporary_files(machine: _Machine) -> None:
    done = machine.run(f"""
        export TRNINV_DATABASE_URL=sqlite:///{machine.scratch}/fleet.db
        trninv migrate
        trninv seed u-trn2x64
        trninv set {_CHIP} down --why x
        trninv import neuron-ls {machine.scratch}/observed.json
        trninv path u-trn2x64/d0/s0/c1 u-trn2x64/d0/s1/c1
        trninv sql 'SELECT count(*) FROM v_chip'
        trninv export {machine.scratch}/out --format csv
        trninv archive {machine.scratch}/history
        trninv verify
    """)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_commands_read_a_database_that_can_not_be_written(machine: _Machine) -> None:
    done = machine.run(f"""
        export TRNINV_DATABASE_URL=sqlite:///{machine.fixed}/fleet.db
        trninv status
        trninv bisection u-trn2x64
        trninv sql 'SELECT count(*) FROM v_chip'
        trninv report unhealthy
        trninv verify
        if trninv set {_CHIP} down --why x; then exit 8; fi
        if trninv migrate --to base --yes; then exit 8; fi
    """)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("can only be read here") == 2, done.stderr
    assert "Traceback" not in done.stderr


def test_without_any_directory_for_temporary_files_a_command_says_so(machine: _Machine) -> None:
    done = machine.run(f"""
        umount {machine.scratch}
        mount -o remount,bind,ro /dev/shm 2>/dev/null || true
        trninv --database sqlite:///{machine.fixed}/fleet.db import neuron-ls {machine.fixed}/observed.json
    """)
    assert (done.returncode, "emporary directory" in done.stderr, "Traceback" in done.stderr) == (1, True, False), (
        done.stderr
    )


def test_a_service_on_a_database_that_can_not_be_written_reads(machine: _Machine) -> None:
    with machine.serve(f"sqlite:///{machine.fixed}/fleet.db") as url:
        assert _ask(f"{url}/readyz") == (200, {"status": "ok"})
        assert _ask(f"{url}/graphql", "{ clusters { totalCount } }")[0] == 200
        status, answer = _ask(f"{url}/graphql", _SET)
        assert (status, answer["errors"][0]["extensions"]["code"]) == (409, "READ_ONLY")
        assert _ask(f"{url}/readyz") == (200, {"status": "reads only", "code": "READ_ONLY"})
        assert _ask(f"{url}/reports/capacity.json")[0] == 200
