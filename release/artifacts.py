"""Build the files of a release: sdist and wheel (twice, to compare the bytes), requirements, SBOM, notes, checksums."""

import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from filecmp import cmp
from importlib.util import find_spec
from pathlib import Path

from release.changelog import ROOT, Changelog

REQUIREMENTS = ("requirements.txt", "requirements-service.txt")
"""The locked requirements that a release is installed with, without and with the extras of a service."""


class BuildError(Exception):
    """A build failed, or two builds of one commit differ."""


def build_artifacts(version: str, directory: Path) -> list[Path]:
    """Build all files of a release into a directory, which must be empty or new; return them.

    Raises
    ------
    BuildError
        The directory has files, or two builds of the commit have different bytes.

    """
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        raise BuildError(f"{directory} is not empty")
    with tempfile.TemporaryDirectory() as scratch:
        first, second = Path(scratch) / "first", Path(scratch) / "second"
        for place in (first, second):
            _report(f"building sdist and wheel, {place.name} of two times (minutes)")
            build_packages(copy_commit(place.with_suffix(".source")), place)
        for file in sorted(first.iterdir()):
            if not cmp(file, second / file.name, shallow=False):
                raise BuildError(f"two builds of {file.name} differ: the build reads a clock or an order of files")
            (directory / file.name).write_bytes(file.read_bytes())
    _report("writing the container context, the SBOM, notes and checksums")
    _write_container_context(directory / f"trninv-{version}-container.tar.gz")
    _write_sbom(directory / f"trninv-{version}.cdx.json")
    for name in REQUIREMENTS:
        shutil.copyfile(ROOT / name, directory / name)
    (directory / "NOTES.md").write_text(Changelog.read().sections[version].strip() + "\n", "utf-8")
    sums = "".join(f"{_digest(file)}  {file.name}\n" for file in sorted(directory.iterdir()))
    (directory / "SHA256SUMS").write_text(sums)
    return sorted(directory.iterdir())


def copy_commit(directory: Path) -> Path:
    """Copy the files of the commit into a new directory; return it."""
    directory.mkdir(parents=True)
    subprocess.run(["tar", "--extract", "--directory", directory], input=_archive_commit(), check=True)
    return directory


def build_packages(source: Path, directory: Path) -> None:
    """Build sdist and wheel from a copy of the commit into a directory, with its time instead of the clock's."""
    command = [sys.executable, "-P", "-m", "build", "--no-isolation", "--outdir", str(directory), str(source)]
    environment = os.environ | {"SOURCE_DATE_EPOCH": _commit_time()}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"the build failed:\n{done.stdout}{done.stderr}")


def _archive_commit() -> bytes:
    return subprocess.run(["git", "archive", "--format=tar", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout


def _commit_time() -> str:
    command = ["git", "log", "-1", "--format=%ct"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def _write_container_context(file: Path) -> None:
    """Write what `podman build --file deploy/Containerfile` needs: the commit, in a reproducible archive."""
    file.write_bytes(gzip.compress(_archive_commit(), mtime=0))


def _write_sbom(file: Path) -> None:
    """Write the locked requirements as a CycloneDX SBOM without a time or a random serial number.

    Its tool needs libraries in other versions than the tests do, so it is installed into an environment of its own.
    """
    with tempfile.TemporaryDirectory() as scratch:
        install = [
            *make_environment(Path(scratch)),
            "install",
            "--quiet",
            "--require-hashes",
            "--no-deps",
            "--no-compile",
        ]
        subprocess.run([*install, "--requirement", "release/requirements-sbom.txt"], cwd=ROOT, check=True)
        # it warns that the SBOM names no direct dependencies, which a file of locked requirements does not tell
        warning = "ignore:The Component this BOM is describing"
        python = [f"{scratch}/bin/python", "-P", "-W", warning]
        command = [*python, "-m", "cyclonedx_py", "requirements", "requirements.txt"]
        options = ["--output-reproducible", "--pyproject", "pyproject.toml", "--output-file", str(file)]
        subprocess.run([*command, *options], cwd=ROOT, check=True)


def make_environment(directory: Path) -> list[str]:
    """Make a virtual environment; return the words that run pip for it: this environment's, if there is one."""
    has_pip = find_spec("pip") is not None
    venv.create(directory, with_pip=not has_pip)
    own = [sys.executable, "-m", "pip", "--python", str(directory)]
    return [*(own if has_pip else [f"{directory}/bin/python", "-m", "pip"]), "--disable-pip-version-check"]


def _report(stage: str) -> None:
    print(stage, file=sys.stderr, flush=True)


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
