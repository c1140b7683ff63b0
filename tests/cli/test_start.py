"""What a newcomer types first: trninv alone, help, and the database before or after a command."""

import re
from io import BytesIO
from pathlib import Path

import pytest
from printed import node, text

from conftest import Databases, Run
from trninv.cli.main import main
from trninv.database.engine import temporary_engine, write_transaction
from trninv.importers.ingestion import ImportFile, import_files

U = "u-trn2x64"


def start(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(words)
    return int(str(ended.value.code)), *capfd.readouterr()


def test_trninv_alone_prints_what_there_is_and_what_to_run_next(run: Run, databases: Databases) -> None:
    status, out, _ = run(database=databases.seeded("sqlite"))
    assert status == 0
    assert "\nu-trn2x64: u-trn2x64, 1 domain, 64 chips\n" in out
    assert "more clusters (trninv status)\n" in out
    (chips,) = re.findall(r"\nchips: (\d+) up\n\ntrninv --database sqlite:///[^ ]+ incidents", out)
    steps = [line.split("  #")[0].split()[3:] for line in out.splitlines()[-3:]]
    assert steps == [["incidents"], ["show", "trn1.2xlarge/d0"], ["help"]]
    run("set", f"{U}/d0/s0", "down", "--why", "a test", database=(url := databases.seeded("sqlite")))
    assert f"\nchips: 16 down, {int(chips) - 16} up\n" in run(database=url)[1]


def test_trninv_alone_says_how_to_begin(run: Run, databases: Databases, tmp_path: object) -> None:
    status, out, _ = run(database=f"sqlite:///{tmp_path}/none.db")
    assert status == 0
    assert "does not exist yet: run trninv migrate\n\n" in out
    assert f"\ntrninv --database sqlite:///{tmp_path}/none.db migrate  # " in out
    url = databases.migrated("sqlite")
    status, out, _ = run(database=url)
    assert status == 0
    assert re.search(r"no cluster yet\n\ntrninv --database \S+ seed +# load documented systems\n", out)
    assert re.search(r" docs adopt-a-fleet +# how to add your own machines\n", out)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        import_files(connection, "kubernetes", [ImportFile("nodes", BytesIO(text(node("n1", "i-0a1"))))])
    status, out, _ = run(database=url)
    assert status == 0
    assert re.search(r"yet\n\ntrninv --database \S+ adopt prod +# make a cluster of the imported machines\n", out)


def test_a_file_that_does_not_exist_is_named_in_full(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert f"\n{tmp_path}/none.db does not exist yet" in run(database="sqlite:///none.db")[1]


def test_trninv_alone_does_not_migrate_what_is_newer(run: Run, databases: Databases) -> None:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999', oldest_reader = '9999'")
    status, out, _ = run(database=url)
    assert status == 0
    assert "upgrade trninv" in out
    assert " migrate  #" not in out
    assert " help  # all commands" in out


def test_the_default_database_needs_no_option(
    lite: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRNINV_DATABASE_URL", lite)
    assert "\ntrninv incidents " in start(capfd)[1]


def test_trninv_alone_explains_why_the_default_database_is_of_no_use(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "junk.db").write_text("no database " * 1000)
    for url, reason in (
        ("postgresql://nobody@127.0.0.1:1/x", "127.0.0.1"),
        (f"sqlite:///{tmp_path}/junk.db", "file is not a database"),
    ):
        monkeypatch.setenv("TRNINV_DATABASE_URL", url)
        status, out, error = start(capfd)
        assert (status, out) == (1, "")
        assert reason in error
        assert error.startswith("trninv: ")


def test_trninv_alone_names_a_service_without_asking_it(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, _ = start(capfd, "--service", "https://fleet.example")
    assert (status, out.splitlines()[0]) == (0, "service: https://fleet.example")
    assert "\ntrninv --service https://fleet.example status" in out
    assert "\ntrninv --service https://fleet.example incidents" in out


@pytest.mark.parametrize("words", [["show", U], ["token", "list"], ["path", f"{U}/d0/s0/c0", f"{U}/d0/s0/c1"]])
def test_a_database_may_follow_the_command(lite: str, capfd: pytest.CaptureFixture[str], words: list[str]) -> None:
    before = start(capfd, "--database", lite, *words)
    assert before[0] == 0
    elsewhere = "sqlite:////nonexistent/fleet.db"
    assert start(capfd, "--database", elsewhere, *words, "--database", lite)[:2] == before[:2]
    first, *rest = words
    assert start(capfd, first, *rest[:-1], f"--database={elsewhere}", *rest[-1:])[0] == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--service", "https://fleet.example", "show", U, "--database", "sqlite:///fleet.db"),
        ("--database", "sqlite:///fleet.db", "token", "list", "--service", "https://fleet.example"),
        ("show", U, "--database", "sqlite:///fleet.db", "--service", "https://fleet.example"),
    ],
)
def test_a_database_and_a_service_exclude_each_other_wherever_they_stand(
    capfd: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    status, out, error = start(capfd, *words)
    assert (status, out) == (2, "")
    assert "--database and --service exclude each other" in error


@pytest.mark.parametrize("words", [(), ("path",), ("token",), ("token", "create")])
def test_help_is_what_the_option_prints(capfd: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    assert start(capfd, "help", *words) == start(capfd, *words, "--help")


@pytest.mark.parametrize(
    ("words", "message"),
    [(("pathh",), "did you mean path?"), (("path", "x"), "path has no commands"), (("token", "creat"), "creat")],
)
def test_help_of_what_does_not_exist_is_refused(
    capfd: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    status, out, error = start(capfd, "help", *words)
    assert (status, out) == (2, "")
    assert message in error
