"""An archive in S3, as moto serves it: as whole as one in a directory, whenever a run ends and whoever else writes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, func, select

from archives import at, live, run
from conftest import Databases, Run
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.errors import BusyError, InvalidFileError, UnreachableError, UsageError
from trninv.history.archive.archive_directory import SCHEMES, LocalDirectory, RemoteDirectory, open_directory
from trninv.history.archive.archive_pruner import prune_events
from trninv.history.archive.archive_store import MANIFEST, ArchiveStore, open_for_writing, open_read_only
from trninv.history.archive.archive_writer import archive_history
from trninv.inventory.seeding import cluster_seeding

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """The host and port of an S3 that keeps its objects in memory."""
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 # it is slow to import

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A URL with {} for a directory of a bucket of its own."""
    import boto3  # noqa: PLC0415 # it is slow to import

    for name, value in {"ACCESS_KEY_ID": "me", "SECRET_ACCESS_KEY": "x", "EC2_METADATA_DISABLED": "true"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    name = f"b{abs(hash(request.node.name))}"
    boto3.client("s3", endpoint_url=f"http://{endpoint}", region_name="us-east-1").create_bucket(Bucket=name)
    return f"s3://{name}/{{}}?endpoint_override={endpoint}&scheme=http&region=us-east-1"


def _lived(url: str) -> None:
    with temporary_engine(url) as engine:
        with write_transaction(engine) as connection:
            cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn1.2xlarge"))
        live(engine)


@pytest.fixture
def lived(databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.copied("sqlite", _lived)) as engine:
        yield engine


def _objects(url: str) -> dict[str, bytes | None]:
    directory = open_directory(url)
    assert isinstance(directory, RemoteDirectory)
    names = [name.removeprefix("/") for name in directory.files("")]
    return {name: directory.read(name) for name in names}


def _tree(directory: Path) -> dict[str, bytes | None]:
    files = (file for file in directory.rglob("*") if file.is_file() and file.name != ".lock")
    return {str(file.relative_to(directory)): file.read_bytes() for file in files}


def _events(engine: Engine) -> int:
    with read_transaction(engine) as connection:
        return connection.scalar(select(func.count()).select_from(TABLES["state_event"])) or 0


def test_an_archive_in_s3_is_that_of_a_directory(lived: Engine, bucket: str, tmp_path: Path) -> None:
    url = bucket.format("fleet/history")
    assert run(lived, url).rows == run(lived, tmp_path).rows
    assert _objects(url) == _tree(tmp_path)
    assert run(lived, url).rows == {}
    assert list(open_read_only(url).integrity_errors()) == []


class _KilledError(BaseException):
    """The process ends here."""


class _Mortal:
    """A file system whose owner is killed before its step after so many."""

    def __init__(self, store: Any, steps: int) -> None:
        self._store, self._steps = store, steps

    def __getattr__(self, name: str) -> Any:
        if name in ("open_output_stream", "move", "delete_file"):
            self._steps -= 1
            if self._steps < 0:
                raise _KilledError
        return getattr(self._store, name)


def test_whenever_a_run_ends_the_next_one_leaves_what_one_run_would_have(
    lived: Engine, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(lived, bucket.format("whole"), at(3, 0))
    wanted, step = _objects(bucket.format("whole")), -1
    opened = RemoteDirectory.__init__
    while True:
        step += 4
        url = bucket.format(f"killed{step}")
        with monkeypatch.context() as patched:

            def mortal(self: RemoteDirectory, *words: Any, steps: int = step) -> None:
                opened(self, *words)
                self._store = _Mortal(self._store, steps)

            patched.setattr(RemoteDirectory, "__init__", mortal)
            try:
                run(lived, url, at(3, 0))
            except _KilledError:
                pass
            else:
                break
        run(lived, url, at(3, 0))
        kept = {name: content for name, content in _objects(url).items() if ".unlisted-" not in name}
        kept.pop(f"{MANIFEST}.new", None)
        assert kept == wanted, step
        assert list(open_read_only(url).integrity_errors()) == []
    assert step > 15


def test_what_was_written_only_in_part_is_set_aside(lived: Engine, bucket: str) -> None:
    url = bucket.format("half")
    run(lived, url, at(2, 0))
    directory = open_directory(url)
    with open_for_writing(url) as store:
        assert isinstance(store, ArchiveStore)
        name = "events/day=2026-01-02/part-000000000003-000000000004.parquet"
        directory.write(name, lambda path: path.write_bytes(b"half a file"))
    run(lived, url)
    assert list(open_read_only(url).integrity_errors()) == []
    assert any(path.startswith(f"{name}.unlisted-") for path in directory.files("events"))


def test_events_are_deleted_once_they_are_read_back(lived: Engine, bucket: str) -> None:
    url, before = bucket.format("deleted"), _events(lived)
    run(lived, url)
    good = _objects(url)
    directory = open_directory(url)
    name = next(path for path in directory.files("events") if "day=2026-01-01" in path)
    for path, content in ((name, b"other"), (MANIFEST, b"")):
        with open_for_writing(url) as store:
            directory.truncate(path, content)
            with pytest.raises(InvalidFileError, match="nothing was removed"):
                prune_events(lived, store, "tester")
        assert _events(lived) == before
        directory.truncate(path, good[path] or b"")
    with open_for_writing(url) as store:
        assert prune_events(lived, store, "tester").events == before - 1
    assert _events(lived) == 1
    assert run(lived, url).rows == {}
    with read_transaction(lived) as connection:
        where = connection.scalar(
            select(TABLES["history_archive"].c.directory).where(TABLES["history_archive"].c.id > 0)
        )
    assert where == url.partition("?")[0]
    directory.truncate(MANIFEST, b"")
    with pytest.raises(InvalidFileError, match="lacks events up to"):
        run(lived, url)


def test_a_run_stops_when_it_finds_lines_of_another(lived: Engine, bucket: str) -> None:
    """Runs of one machine lock each other out; here, others of the same archive are those of another machine."""
    url = bucket.format("two")
    with open_for_writing(url), pytest.raises(BusyError, match="is writing to"):
        run(lived, url, at(2, 0))
    stale = open_read_only(url)
    run(lived, url, at(2, 0))
    with pytest.raises(BusyError, match="has written to"):
        archive_history(lived, stale, at(3, 0))
    stale = open_read_only(url)
    run(lived, url, at(3, 0))
    with pytest.raises(BusyError, match="has written to"):
        stale.append(stale.entries[0])
    assert list(open_read_only(url).integrity_errors()) == []


def test_what_is_not_there_is_said_without_credentials(lived: Engine, bucket: str, endpoint: str) -> None:
    with pytest.raises(UnreachableError, match="s3://nowhere/x") as caught:
        run(lived, f"s3://nowhere/x?endpoint_override={endpoint}&scheme=http&region=us-east-1")
    with pytest.raises(InvalidFileError, match="has no archive"):
        open_read_only(bucket.format("empty"))
    with pytest.raises(UsageError, match="options may be misspelled") as misspelled:
        open_directory("s3://me:secret@b/x?endpont=1")
    assert "secret" not in f"{caught.value} {misspelled.value}"


def test_a_check_names_what_differs_in_the_store(
    request: pytest.FixtureRequest, lived: Engine, lite: str, bucket: str
) -> None:
    command: Run = request.getfixturevalue("run")
    url = bucket.format("checked")
    run(lived, url)
    assert command("archive", url, "--check", database=lite)[0] == 0
    directory = open_directory(url)
    directory.delete(next(iter(directory.files("events"))))
    status, out, _ = command("archive", url, "--check", database=lite)
    assert (status, "is missing" in out) == (1, True)


@pytest.mark.parametrize(
    ("location", "message"),
    [
        *((f"{scheme}://host/x", f"no archive at {scheme}:// URLs") for scheme in ("ftp", "http", "sqlite", "s3a")),
        ("s3:/bucket/x", "names no bucket"),
        ("s3:///x", "names no bucket"),
        ("file://server/x", "names the host server"),
    ],
)
def test_another_url_is_refused_and_makes_no_directory(
    request: pytest.FixtureRequest,
    lite: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    location: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    command: Run = request.getfixturevalue("run")
    status, _, error = command("archive", location, database=lite)
    assert (status, message in error) == (2, True), error
    if message.startswith("no archive"):
        assert all(f"{scheme}://" in error.replace("\n", "") for scheme in SCHEMES)
    assert list(tmp_path.iterdir()) == []


def test_a_file_url_is_a_directory(tmp_path: Path) -> None:
    directory = open_directory(f"file://{tmp_path}/with%20space")
    assert isinstance(directory, LocalDirectory)
    assert directory.directory == tmp_path / "with space"
