"""A file of SQLite that is cut off, zeroed or away: each command says so and what to do, and changes nothing."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from conftest import Run

_COMMANDS = (
    ["status"],
    ["verify"],
    ["path", "u-trn2x64/d0/s0/c0", "u-trn2x64/d0/s1/c0"],
    ["set", "u-trn2x64/d0/s0/c0", "down", "--why", "x"],
    ["allocate", "a", "u-trn2x64/d0/s0", "--who", "x"],
    ["seed", "trn1.2xlarge"],
    ["migrate"],
    ["migrate", "--check"],
)
_DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "the header alone": lambda content: content[:100],
    "cut within a page": lambda content: content[:5_000],
    "half": lambda content: content[: len(content) // 2],
    "zeros": lambda content: bytes(len(content)),
    "zeros but for the header": lambda content: content[:100] + bytes(len(content) - 100),
    "no database": lambda _: b"a text" * 1_000,
}


@pytest.mark.parametrize("damage", list(_DAMAGE))
def test_a_damaged_file_is_said_to_be_damaged_and_left_as_it_is(
    run: Run, lite: str, tmp_path: Path, damage: str
) -> None:
    file = tmp_path / "fleet.db"
    content = _DAMAGE[damage](Path(lite.removeprefix("sqlite:///")).read_bytes())
    file.write_bytes(content)
    for command in _COMMANDS:
        status, _, error = run(*command, database=f"sqlite:///{file}")
        assert (status, "is damaged (" in error, "restore a backup" in error) == (1, True, True), (command, error)
        assert "Traceback" not in error
    assert file.read_bytes() == content
    assert list(tmp_path.iterdir()) == [file]


@pytest.fixture
def logged(lite: str, tmp_path: Path) -> Path:
    """A file whose last change is only in its log, as a killed process leaves it."""
    source, file = tmp_path / "source.db", tmp_path / "fleet.db"
    shutil.copy(lite.removeprefix("sqlite:///"), source)
    with closing(sqlite3.connect(source, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("UPDATE node SET state = 'down' WHERE id = 1")
        for suffix in ("", "-wal"):
            shutil.copy(f"{source}{suffix}", f"{file}{suffix}")
    return file


@pytest.mark.parametrize("is_empty", [False, True])
def test_a_log_without_its_file_is_kept_until_the_file_is_back(run: Run, logged: Path, *, is_empty: bool) -> None:
    log, elsewhere = logged.with_name("fleet.db-wal"), logged.with_name("elsewhere")
    content = log.read_bytes()
    logged.rename(elsewhere)
    if is_empty:
        logged.touch()
    for command in _COMMANDS:
        status, _, error = run(*command, database=f"sqlite:///{logged}")
        assert status == 1
        assert "put the file back" in error or ("does not exist yet" in error and not is_empty), error
        assert log.read_bytes() == content
    elsewhere.rename(logged)
    status, out, _ = run("events", "--format", "json", database=f"sqlite:///{logged}")
    assert (status, "down" in out) == (0, True)
    assert run("verify", database=f"sqlite:///{logged}")[0] == 0


def test_a_service_on_a_damaged_file_answers_that_the_database_is_out_of_reach(lite: str, tmp_path: Path) -> None:
    from starlette.testclient import TestClient  # noqa: PLC0415 # only where it is used

    from trninv.service.application import create_app  # noqa: PLC0415 # the same

    file = tmp_path / "fleet.db"
    shutil.copy(lite.removeprefix("sqlite:///"), file)
    with TestClient(create_app(f"sqlite:///{file}"), base_url="http://127.0.0.1") as client:
        assert client.get("/readyz").json() == {"status": "ok"}
        content = file.read_bytes()
        file.with_name("new").write_bytes(content[:5_000])
        file.with_name("new").replace(file)
        assert client.get("/readyz").status_code == 503
        answer = client.post("/graphql", json={"query": "{ clusters { totalCount } }"})
        assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (503, "DATABASE_NOT_REACHABLE")
        assert client.get("/chips/u-trn2x64").status_code == 503
        file.with_name("new").write_bytes(content)
        file.with_name("new").replace(file)
        assert client.get("/readyz").json() == {"status": "ok"}
