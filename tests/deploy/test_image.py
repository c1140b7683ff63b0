"""deploy/Containerfile: built by buildah on a base of Debian's packages, and run as it is meant to be.

Registries are not asked: debootstrap makes the base, whose Python is Debian's. The image then runs in a chroot, as its
user, on a root that is mounted read-only.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        "TRNINV_TEST_IMAGE" not in os.environ,
        reason="./run ci image runs it, because it takes many minutes; it needs root, buildah and debootstrap",
    ),
]
_MIRROR = "http://deb.debian.org/debian"
_PACKAGES = "python3,python3-venv,ca-certificates"
_IN_CHROOT = """
set -eu
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
mount -t tmpfs tmpfs "$1/tmp"
mount --bind "$2" "$1/data"
mount --bind /dev "$1/dev"
shift 2
exec "$@"
"""
_SERVE = """
trninv serve --host 127.0.0.1 --port 8000 &
process=$!
for second in $(seq 60); do
    if "$@" 2>/dev/null; then healthy=1; break; fi
    sleep 1
done
kill "$process"
wait "$process" || true
test "${healthy:-0}" = 1
"""


class _Buildah:
    """buildah with a storage of its own."""

    def __init__(self, directory: Path) -> None:
        self._own = ["--root", str(directory / "root"), "--runroot", str(directory / "run"), "--storage-driver", "vfs"]

    def __call__(self, *words: str | Path) -> str:
        done = subprocess.run(["buildah", *self._own, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout.strip()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The image's files, and its settings."""
    directory = tmp_path_factory.mktemp("image")
    base, buildah = directory / "base", _Buildah(directory)
    words = ["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", "bookworm", str(base), _MIRROR]
    subprocess.run(words, check=True, capture_output=True)
    for file in ("/etc/ssl/certs/ca-certificates.crt", "/etc/pip.conf"):  # how this machine reaches PyPI
        if Path(file).exists():
            shutil.copy(file, f"{base}{file}")
    empty = buildah("from", "scratch")
    buildah("copy", "--quiet", empty, base, "/")
    buildah("commit", "--quiet", empty, "localhost/base")
    words = ["--format", "docker", "--isolation", "chroot", "--network", "host", "--build-arg", "BASE=localhost/base"]
    words += ["--build-arg", "REQUIREMENTS=requirements-service.txt"]  # without it, only libraries are missing
    buildah("bud", *words, "--file", ROOT / "deploy" / "Containerfile", "--tag", "trninv", ROOT)
    container = buildah("from", "localhost/trninv")
    config = json.loads(buildah("inspect", "--type", "image", "localhost/trninv"))["Docker"]["config"]
    try:
        yield Path(buildah("mount", container)), config
    finally:
        buildah("umount", container)
        shutil.rmtree(directory, ignore_errors=True)


def _run(built: tuple[Path, dict[str, Any]], data: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the image, as its user and with its environment."""
    root, config = built
    chroot = ["chroot", f"--userspec={config['User']}", root, "env", "-i", *config["Env"], *words]
    command = ["unshare", "--mount", "sh", "-c", _IN_CHROOT, "sh", root, data, *chroot]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_image_migrates_serves_and_is_healthy(built: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    _, config = built
    user = int(config["User"].partition(":")[0])
    os.chown(tmp_path, user, user)
    for words in (["migrate"], ["seed", "u-trn2x64"], ["token", "create", "me", "--scope", "admin"]):
        done = _run(built, tmp_path, *config["Entrypoint"], *words)
        assert done.returncode == 0, done.stderr
    kind, *health = config["Healthcheck"]["Test"]
    assert kind == "CMD"
    done = _run(built, tmp_path, "sh", "-c", _SERVE, "sh", *health)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "fleet.db").stat().st_uid == user > 0


def test_the_image_has_the_extras_that_it_was_built_with(built: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    done = _run(built, tmp_path, "python3", "-c", "import boto3, cryptography, jwt, kubernetes, ladybug, mcp, pyarrow")
    assert done.returncode == 0, done.stderr


def test_the_image_can_be_written_to_nowhere_but_data_and_tmp(
    built: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    user = int(built[1]["User"].partition(":")[0])
    os.chown(tmp_path, user, user)
    find = "find / -xdev -writable -not -type l -not -path '/proc/*' 2>/dev/null; touch /data/x /tmp/x; touch /opt/x"
    done = _run(built, tmp_path, "sh", "-c", find)
    assert (done.returncode != 0, "Read-only file system" in done.stderr) == (True, True)
    assert set(done.stdout.split()) == {"/data", "/tmp"}  # noqa: S108 # as the image has it
