"""Every command: documented, run on real data, and clear when it refuses."""

import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import click
import pytest
from sqlalchemy import update

from conftest import Databases, Run
from trninv import __version__
from trninv.cli.main import trninv
from trninv.database.engine import temporary_engine
from trninv.database.tables import TABLES
from trninv.inventory.address.lookup import resolve_place

pytestmark = pytest.mark.slow_on_postgresql

CONTEXT = click.Context(trninv)
COMMANDS = {name: trninv.get_command(CONTEXT, name) for name in trninv.list_commands(CONTEXT)}
U = "u-trn2x64/d0"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(run: Run, name: str) -> None:
    status, out, _ = run(name, "--help")
    assert status == 0
    assert f"trninv {name}" in out.split("Options:")[0].split("\n", 2)[2] or f" {name}" in out
    command = COMMANDS[name]
    assert command is not None
    assert "\b" in (command.help or "")
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help or option.name in ("host", "port"), f"{name} --{option.name} has no help"


def test_help_lists_every_command(run: Run) -> None:
    status, out, _ = run("--help")
    assert status == 0
    assert all(f"\n  {name} " in out for name in COMMANDS)


def test_version(run: Run) -> None:
    assert run("--version")[1].strip().endswith(__version__)


def test_from_nothing_to_removed(run: Run, empty: str) -> None:
    def on(*arguments: str) -> tuple[int, str, str]:
        return run(*arguments, database=empty)

    assert on("status")[0] == 1
    assert re.search(r"run trninv --database \S+ migrate", on("seed")[2])
    assert on("migrate")[0] == 0
    assert on("migrate", "--check")[:2] == (0, "the schema is up to date\n")
    assert "no cluster yet" in on("path", f"{U}/s0/c0", f"{U}/s0/c1")[2]
    assert on("seed", "--dry-run")[1].count("would seed") == 7
    assert on("verify")[1] == "matches the catalog: facts (no cluster is seeded)\n" or on("verify")[0] == 1
    assert on("seed")[1].count(": seeded") == 7
    assert on("seed")[1].count(": already there") == 7
    assert on("seed", "trn2.48xlarge", "--name", "lab")[1] == "lab: seeded 16 chips in 1 server\n"
    assert "choose another --name" in on("seed", "trn1", "--name", "lab")[2]
    status = json.loads(on("status", "--format", "json")[1])
    assert [cluster["slug"] for cluster in status["clusters"]][-1] == "lab"
    assert status["rows"]["chip"] == 305 + 30_016 + 16
    assert on("verify")[0] == 0
    assert on("verify", "lab", "--format", "json")[0] == 0
    refused = on("unseed", "lab")
    assert (refused[0], "add --yes" in refused[2]) == (2, True)
    assert on("unseed", "lab", "--yes")[1] == "removed lab\n"
    refused = on("migrate", "--to", "base")
    assert (refused[0], "would lose" in refused[2], "add --yes" in refused[2]) == (2, True, True)
    assert on("status")[0] == 0
    assert on("migrate", "--to", "base", "--yes")[0] == 0
    assert on("status")[0] == 1


def test_several_clusters_are_seeded_at_once(run: Run, tables: str) -> None:
    seed = "seed", "trn2.48xlarge", "--name", "lab"
    several = *seed, "--name", "east", "--name", "east", "--name", "west"
    assert run(*several, "--dry-run", database=tables)[1].count("would seed") == 3
    run(*seed, database=tables)
    seeded = [f"{name}: seeded 16 chips in 1 server\n" for name in ("east", "west")]
    assert run(*several, database=tables)[1] == "lab: already there\n" + "".join(seeded)
    assert run("verify", database=tables)[0] == 0


def test_verify_ends_with_1_on_a_difference(run: Run, databases: Databases) -> None:
    import sqlite3  # noqa: PLC0415

    url = databases.seeded("sqlite")
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        connection.execute("UPDATE link SET bandwidth_bytes_per_s = 1 WHERE id = 2")
    connection.close()
    status, out, _ = run("verify", database=url)
    assert status == 1
    assert "trn1.32xlarge: link: missing 1 row: id=2" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["systems"], ["u-trn2x64", "trn2u-ultraserver", "AWS Trn1 Architecture"]),
        (
            ["show", "u-trn2x64", "--facts"],
            ["6,144 GiB", "40,000 TFLOPS", "1,600 GB/s", "u-trn2x64/r0 to r1", "disputed"],
        ),
        (["show", f"{U}/s0"], ["trn2-16.48xlarge", "u-trn2x64/r0", "to efa15"]),
        (["show", f"{U}/s0/c3", "--links"], ["8 × NeuronCore-v3", "tray 1", f"{U}/s3/c3", "64 GB/s"]),
        (["show", f"{U}/s0/c3/nc1"], [f"{U}/s0/c3", "NeuronCore-v3"]),
        (["show", f"{U}/s0/efa3", "--links"], ["25 GB/s"]),
        (["show", "u-trn2x64/r1", "--facts"], ["42 U", f"{U}/s2", "Assumed by trninv"]),
        (["show", "trn3-gen2/d0"], ["switched", "trn3-gen2/d0/sw0 to sw37"]),
        (["show", "trn3-gen2/d0/sw3"], ["server trn3-gen2/d0/s3 in rack trn3-gen2/r0", "NeuronSwitch-v1"]),
        (["show", "trn1.2xlarge/d0/s0/efa0", "--facts"], ["3.125 GB/s", "assumed", "the EC2 API names none"]),
        (["show", "trn3-gen2/d0/s0/c0--trn3-gen2/d0/s18/c0"], ["128 GB/s", "256 GB/s", "NeuronLink-v4"]),
        (["facts", "rainier"], ["400,000", "nearly 500,000", "a massive cluster featuring 400,000"]),
        (
            ["facts", "--conflicts"],
            ["2,048 GiB/sec/device", "2.56 TB/sec", "704 GB/s", "190 TFLOPS", "over 100,000", "rounding"],
        ),
        (["audit"], ["13,120 GB/s", "conflict", "rounds", "truncates"]),
        (["path", f"{U}/s0/c0", f"{U}/s2/c10", "-v"], ["6 hops, 64 GB/s", "720 paths are tied", "evidence:"]),
        (["bandwidth", f"{U}/s0", f"{U}/s2"], ["2,048 GB/s one direction (4,096 GB/s both)", "32 links"]),
        (["pool", f"{U}/s0/c0", "--hops", "1"], ["672 GiB on 7 chips"]),
        (["pool", f"{U}/s0/c0", "--min-bandwidth", "128 GB/s"], ["1,536 GiB on 16 chips"]),
        (["bisection", "trn3-gen2", "-v"], ["9,216 GB/s one direction (exact)", "72 and 72", "… 32 more"]),
        (["bisection", U, "--chips", f"{U}/s0/c0", "--chips", f"{U}/s0/c1"], ["128 GB/s", "1 and 1"]),
        (["schema"], ["type Query", "scalar Address"]),
        (["query", "{ clusters { nodes { slug } } }"], ['"slug": "trn3-gen2"']),
        (["migrate", "--sql"], ["CREATE TABLE fact", "CREATE TABLE link"]),
    ],
)
def test_prints_what_people_look_for(run: Run, arguments: list[str], words: list[str]) -> None:
    status, out, err = run(*arguments)
    assert (status, err) == (0, "")
    for word in words:
        assert word in out


@pytest.mark.parametrize(
    "arguments",
    [
        ["status"],
        ["systems"],
        ["verify"],
        ["show", f"{U}/s0/c3"],
        ["facts", "trainium2"],
        ["audit"],
        ["path", f"{U}/s0/c0", f"{U}/s2/c10", "-k", "3", "--by", "bandwidth"],
        ["bandwidth", f"{U}/s0", f"{U}/s2"],
        ["pool", f"{U}/s0/c0"],
        ["bisection", "u-trn2x64"],
    ],
)
def test_json_is_json_in_camel_case(run: Run, arguments: list[str]) -> None:
    status, out, _ = run(*arguments, "--format", "json")
    assert status == 0
    assert "_" not in "".join(_keys(json.loads(out), skip="rows"))


def _keys(value: object, skip: str) -> list[str]:
    if isinstance(value, dict):
        return [key for name, each in value.items() if name != skip for key in (name, *_keys(each, skip))]
    return [key for each in value for key in _keys(each, skip)] if isinstance(value, list) else []


@pytest.mark.parametrize(
    ("arguments", "status", "complaint"),
    [
        (["path", f"{U}/s0/c0", f"{U}/s0/c99"], 1, "has c0 to c15"),
        (["path", f"{U}/s0/c0", "trn3-gen1/d0/s0/c0"], 1, ""),
        (["bandwidth", f"{U}/s0/c0", "trn3-gen1/d0/s0/c0"], 1, ""),
        (["path", "??", "b"], 2, "is not an address"),
        (["path", f"{U}/s0/c0"], 2, "trninv path: B is missing\n  trninv path "),
        (["path", f"{U}/s0/c0", f"{U}/s0/c1", "-k", "0"], 2, "use 1 to 100"),
        (["pool", f"{U}/s0/c0", "--min-bandwidth", "64"], 2, "'64' is not a bandwidth"),
        (["seed", "trn9"], 1, "no system 'trn9'"),
        (["seed", "--all", "trn1"], 2, "omit SYSTEM"),
        (["seed", "--name", "x"], 2, "--name needs exactly one system"),
        (["seed", "trn1", "--name", "a b"], 2, "'a b' can't name a cluster"),
        (["seed", "trn1", "--name", "x--y"], 2, "can't name a cluster"),
        (["seed", "trn1", "--name", "../x"], 2, "can't name a cluster"),
        (["seed", "trn1", "--name", ""], 2, "can't name a cluster"),
        (["show", "trn2u.48xlarge"], 1, "did you mean u-trn2x64?"),
        (["facts", "neuronlink-v3-"], 1, "did you mean neuronlink-v3-plane or neuronlink-v3-ring?"),
        (["pool", f"{U}/s0/c0", "--min-bandwidth", "64 gb/s"], 2, "did you mean GB/s?"),
        (["migrate", "--to", "base", "--check"], 2, "omit --to"),
        (["draw", "u-trn2x64", "-o", "x.png"], 2, "name it FILE.svg"),
        (["draw", f"{U}/s0", "--path", f"{U}/s1/c0", f"{U}/s0/c1", "-o", "-"], 2, "the marks leave"),
        (["unseed", f"{U}/s0", "--yes"], 2, "only whole clusters can be removed"),
        (["verify", U], 2, "only whole clusters can be verified"),
        (["seed", "rainier", "--chips", "100"], 2, "give 64 or 128"),
        (["seed", "rainier", "--chips", "64", "--domains", "1"], 2, "choose one"),
        (["migrate", "--to", ""], 2, "head, base, 0100, "),
        (["query", " "], 2, "the document is empty"),
        (["serve", "--port", "99999"], 2, "99999 is not in the range"),
        (["facts", "trainium9"], 1, "did you mean trainium"),
        (["migrate", "--to", "9999"], 2, "there is no schema version 9999: trninv migrate --to head, base, 0100, "),
        (["query", "{"], 1, ""),
        (["query", "{ clusters { nodes { slug } } }", "--variables", "{"], 2, "--variables is not JSON"),
        (["draw", "u-trn2x64", "-o", "/nowhere/x.svg"], 2, "can't write /nowhere/x.svg"),
        (["nonsense"], 2, "there is no command nonsense"),
    ],
)
def test_a_failure_is_one_line_and_a_status(run: Run, arguments: list[str], status: int, complaint: str) -> None:
    found, _, err = run(*arguments)
    assert found == status
    assert complaint in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "database", ["mysql://h/d", "nonsense", "sqlite:////proc/nowhere/x.db", "postgresql://x@127.0.0.1:1/y"]
)
def test_a_database_that_is_none_is_one_line(run: Run, database: str) -> None:
    status, _, err = run("status", database=database)
    assert status in (1, 2)
    assert err.startswith("trninv: ")
    assert err.count("\n") == 1


def test_a_name_is_what_addresses_write(run: Run, databases: Databases) -> None:
    url = databases.seeded("sqlite")
    assert run("seed", "trn1", "--name", "FLEET", database=url)[1] == "fleet: seeded 16 chips in 1 server\n"
    assert run("seed", "trn1", "--name", "fleet", database=url)[1] == "fleet: already there\n"


def test_a_database_that_refuses_is_one_line(run: Run, databases: Databases) -> None:
    file = databases.seeded("sqlite").removeprefix("sqlite:///")
    status, _, err = run("unseed", "trn3-gen1", "--yes", database=f"sqlite:///file:{file}?mode=ro&uri=true")
    assert status == 1
    assert "attempt to write a readonly database" in err
    assert err.count("\n") == 1


@pytest.mark.slow
def test_up_serves_a_damaged_fleet(run: Run, databases: Databases) -> None:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, engine.begin() as connection:
        lost = resolve_place(connection, f"{U}/s0/c0").id
        connection.execute(update(TABLES["node"]).where(TABLES["node"].c.id == lost).values(state="down"))
    status, out, _ = run("up", "--check", database=url)
    assert status == 0
    assert f"no: every part of {U}/s0/c0 is down" in out


def test_asking_makes_no_file(run: Run, tmp_path: Path) -> None:
    status, _, err = run("status", database=f"sqlite:///{tmp_path}/typo/x.db")
    assert (status, list(tmp_path.iterdir())) == (1, [])
    named = f"sqlite:///{tmp_path}/typo/x.db"
    assert " ".join(err.split()).endswith(f"does not exist yet: run trninv --database {named} migrate")


@pytest.mark.parametrize("command", ["status", "migrate"])
def test_a_file_that_is_no_database(run: Run, tmp_path: Path, command: str) -> None:
    (tmp_path / "x.db").write_text("no database " * 1000)
    status, _, err = run(command, database=f"sqlite:///{tmp_path}/x.db")
    assert status == 1
    assert "file is not a database" in err
    assert err.count("\n") == 1


def test_what_is_not_up_is_listed_and_its_links_say_so(run: Run, databases: Databases) -> None:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, engine.begin() as connection:
        lost, near, cut = (resolve_place(connection, f"{U}/s0/c{chip}").id for chip in (1, 2, 3))
        connection.execute(update(TABLES["node"]).where(TABLES["node"].c.id == lost).values(state="down"))
        link = TABLES["link"]
        slow = (link.c.a_id == near) & (link.c.b_id == cut)
        connection.execute(update(link).where(slow).values(state="maintenance"))
    wanted = f"unhealthy: {U}/s0/c1 (down), {U}/s0/c2--{U}/s0/c3 (maintenance)"
    for place in ("u-trn2x64", U, f"{U}/s0", "u-trn2x64/r0"):
        assert wanted in run("show", place, database=url)[1]
    assert "unhealthy" not in run("show", f"{U}/s1", database=url)[1]
    assert "up, its end is down" in run("show", f"{U}/s0/c0", database=url)[1]
    assert f"up, {U}/s0/c1 is down" in run("show", f"{U}/s0/c0--{U}/s0/c1", database=url)[1]
    asked = f'{{ resolve(address: "{U}/s0/c0--{U}/s0/c1") {{ ... on Link {{ bandwidth {{ bytesPerSecond }} }} }} }}'
    assert '"bytesPerSecond": "0"' in run("query", asked, database=url)[1]
    assert f"every part of {U}/s0/c1 is down" in run("path", f"{U}/s0/c0", f"{U}/s0/c1", database=url)[1]


def test_a_port_in_use_is_said_before_anything_is_announced(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        status, _, err = run("serve", "--port", str(taken.getsockname()[1]))
    assert status == 2
    assert err.startswith("trninv: can't listen on 127.0.0.1")


def test_a_question_at_fault_prints_its_error_once(run: Run) -> None:
    status, out, err = run("query", '{ resolve(address: "nowhere") { __typename } }')
    assert (status, err) == (1, "")
    assert "UNKNOWN_ADDRESS" in out


@pytest.mark.parametrize(
    "database",
    [
        "postgresql://x:secret@127.0.0.1:1/y",
        "postgresql//x:secret@127.0.0.1:1/y",
        "postgresql://x:secret@127.0.0.1:port/y",
        "postgresql://x@/y?host=127.0.0.1&port=1&password=secret",
    ],
)
def test_a_password_is_not_printed(run: Run, database: str) -> None:
    status, out, err = run("status", database=database)
    assert status in (1, 2)
    assert "secret" not in out + err
    assert err.count("\n") == 1


def test_debug_shows_the_trace() -> None:
    command = [sys.executable, "-m", "trninv", "--debug", "--database", "mysql://h/d", "status"]
    assert "Traceback" in subprocess.run(command, capture_output=True, text=True, check=False).stderr


def test_a_pipe_that_closes_is_no_error(lite: str) -> None:
    script = f'"{sys.executable}" -m trninv --database "{lite}" facts | head -n 1'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("subject")
    assert done.stderr == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["facts"],
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in (["--help"], ["facts", "--help"], ["sql", "SELECT 1", "--format", "csv"])
        ),
    ],
)
def test_output_that_goes_nowhere_is_one_line(lite: str, arguments: list[str]) -> None:
    command = [sys.executable, "-m", "trninv", "--database", lite, *arguments]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "trninv: the output: No space left on device\n")


@pytest.mark.parametrize("command", ["facts", pytest.param("--help", marks=pytest.mark.slow)])
def test_a_reader_that_leaves_is_no_failure(lite: str, command: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "trninv", "--database", lite, command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert (process.wait(60), process.stderr.read()) == (0, b"")
    process.stderr.close()


@pytest.mark.parametrize("command", ["status", "migrate", "verify", "sql"])
def test_a_file_that_cannot_be_looked_for_is_one_line(run: Run, tmp_path: Path, command: str) -> None:
    query = ["SELECT 1"] if command == "sql" else []
    status, _, error = run(command, *query, database=f"sqlite:///{tmp_path}/{'x' * 300}.db")
    assert (status, error.count("\n")) == (1, 1)
    assert error.startswith("trninv: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["sql", "SELECT 1", "--limit", "9" * 30],
        ["report", "capacity", "--limit", "9" * 30],
        ["sql", "SELECT 1", "--seconds", "nan"],
        ["sql", "SELECT 1", "--seconds", "inf"],
        ["sql", "SELECT 1", "--seconds", "0"],
    ],
)
def test_a_number_beyond_all_measure_is_refused(run: Run, arguments: list[str]) -> None:
    status, _, error = run(*arguments)
    assert (status, "Traceback" in error) == (2, False)
    assert error.startswith("trninv ")
    assert f"{arguments[-2]}: " in error


def test_an_empty_url_is_not_the_default(run: Run) -> None:
    status, _, error = run("status", database="")
    assert (status, "not a database URL" in error) == (2, True)


@pytest.mark.slow
def test_who_may_not_read_is_told_so(run: Run, databases: Databases) -> None:
    url = databases.seeded("postgresql")
    with temporary_engine(url) as engine, engine.begin() as connection:
        connection.exec_driver_sql("DROP ROLE IF EXISTS stranger")
        connection.exec_driver_sql("CREATE ROLE stranger LOGIN")
    status, _, error = run("status", database=url.replace("trninv@", "stranger@"))
    assert (status, error.count("\n")) == (1, 1)
    assert "permission denied" in error
    assert "no tables" not in error


@pytest.mark.slow
def test_up_migrates_seeds_and_answers(run: Run, empty: str) -> None:
    status, out, _ = run("up", "--check", database=empty)
    assert status == 0
    assert out.count(": seeded") == 7
    for answer in ("6 hops, 64 GB/s", "640 GB/s", "6,144 GiB on 64 chips", "2,048 GB/s one direction (exact)"):
        assert answer in out
    assert out.endswith("every route at least once: all answered correctly\n")
    again = run("up", "--check", database=empty)[1]
    assert "it has 7 clusters (trn1.2xlarge, " in again
    assert ": seeded " not in again


def test_a_question_says_of_which_state_it_is_answered(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for more in ((), ("--format", "json"), ("--down", "u-trn2x64/d0/s0/c1")):
        status, _, err = run("path", "u-trn2x64/d0/s0/c0", "u-trn2x64/d0/s0/c2", *more)
        assert status == 0
        assert re.fullmatch(AS_OF, err)


AS_OF = r"as of \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z, revision [0-9a-f]{16}\n"


def test_sql_says_of_which_state_it_is_answered(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for words in (["sql", "SELECT 1 AS one"], ["report", "capacity"], ["export", str(tmp_path / "out")]):
        status, _, err = run(*words)
        assert status == 0
        assert re.search(AS_OF + "$", err)
