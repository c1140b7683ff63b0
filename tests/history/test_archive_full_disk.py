"""The disk of an archive is full: the manifest stays whole, nothing is deleted, and the next run completes it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from full_disks import SmallDisk, needs_mount, small_disk
from sqlalchemy import Engine, text

from archives import at, live, run
from conftest import Databases, Run
from trninv.database.engine import temporary_engine
from trninv.errors import UnreachableError
from trninv.history.archive.archive_store import MANIFEST

pytestmark = needs_mount

_ARCHIVE = "archive", "--before", "2026-01-06T00:00:00Z"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    directory = tmp_path / "history"
    directory.mkdir()
    with small_disk(directory, 2) as made:
        yield made


def _events(engine: Engine) -> int:
    with engine.connect() as connection:
        return connection.scalar(text("SELECT count(*) FROM state_event")) or 0


@pytest.mark.slow
@pytest.mark.parametrize("pages", [0, 1, 3, 6])
def test_a_full_disk_leaves_the_archive_whole(
    disk: SmallDisk, databases: Databases, run_command: Run, pages: int
) -> None:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine:
        live(engine)
        run(engine, disk.path, at(2, 0))
        manifest, events = disk.path / MANIFEST, _events(engine)
        before = manifest.read_bytes()
        disk.fill(pages)
        with pytest.raises(UnreachableError, match="No space left on device"):
            run(engine, disk.path)
        status, _, error = run_command(*_ARCHIVE, str(disk.path), "--delete", database=url)
        assert (status, "No space left on device" in error, "Traceback" in error) == (1, True, False), error
        assert manifest.read_bytes().startswith(before)
        assert manifest.read_bytes().endswith(b"\n")
        assert _events(engine) == events
        assert run_command("archive", str(disk.path), "--check", database=url)[0] == 0
        disk.empty()
        assert run_command(*_ARCHIVE, str(disk.path), "--delete", database=url)[0] == 0
        assert run_command("archive", str(disk.path), "--check", database=url)[0] == 0
        assert _events(engine) < events
        assert run_command("verify", database=url)[0] == 0


@pytest.fixture
def run_command(request: pytest.FixtureRequest) -> Run:
    """Run a command; `run` of this file archives."""
    command: Run = request.getfixturevalue("run")
    return command
