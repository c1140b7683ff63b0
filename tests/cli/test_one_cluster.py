"""What commands mean, and say, where no place is named, nothing is seeded, or an extra is not installed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import BACKENDS, Databases, Run
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.cli import report_commands
from trninv.cli.output import print_table
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.address.lookup import NO_CLUSTER_MESSAGE
from trninv.inventory.seeding import cluster_seeding

ASK = ["timeline", "availability", "capacity"]


@pytest.mark.parametrize("command", ASK)
def test_the_one_cluster_is_meant(run: Run, databases: Databases, tmp_path: Path, command: str) -> None:
    url = databases.migrated("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn1.32xlarge"))
    (rates := tmp_path / "rates.toml").write_text("[chip]\nmtbf_hours = 1000\nmttr_hours = 1\n")
    more = ["--rates", str(rates)] if command == "capacity" else []
    alone, named = (run(command, *place, *more, database=url) for place in ([], ["trn1.32xlarge"]))
    assert alone[0] == named[0] == 0
    assert alone[1].startswith("trn1.32xlarge: ")


@pytest.mark.parametrize("command", ASK)
def test_of_several_one_is_to_be_named(run: Run, command: str) -> None:
    status, _, err = run(command)
    assert status != 0
    assert "which place? There are" in err
    assert "trn1.32xlarge" in err


def test_of_none_it_is_said_how_to_seed(run: Run, databases: Databases) -> None:
    status, _, err = run("make-room", "4x4x2", database=databases.migrated("sqlite"))
    assert status != 0
    assert NO_CLUSTER_MESSAGE in err


@pytest.mark.slow
def test_without_pyarrow_an_export_names_the_other_formats(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_commands, "available_formats", lambda: ["csv"])
    status, _, err = run("export", str(tmp_path / "out"))
    assert (status, list(tmp_path.iterdir())) == (2, [])
    assert "--format csv" in err
    assert run("export", str(tmp_path / "out"), "--format", "csv")[0] == 0


def test_watch_does_not_say_up_of_what_is_not_there(databases: Databases) -> None:
    command = [sys.executable, "-m", "trninv", "--database", databases.migrated("sqlite"), "watch"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ, text=True) as process:
        assert process.stdout is not None
        heading = process.stdout.readline()
        process.terminate()
    assert NO_CLUSTER_MESSAGE in heading


@pytest.mark.slow_on_postgresql
@pytest.mark.parametrize("backend", BACKENDS)
def test_an_address_without_its_cluster_is_completed_if_only_one_has_the_place(
    run: Run, databases: Databases, backend: str
) -> None:
    url = databases.migrated(backend)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        for system, name in (("u-trn2x64", "prod"), ("trn1.32xlarge", "lab")):
            cluster_seeding.seed(connection, default_catalog(), default_systems().get(system), name=name)
    for address, whole in (("d0/s3", "prod/d0/s3"), ("d0/s3/c1", "prod/d0/s3/c1")):
        status, _, err = run("show", address, database=url)
        assert (status, err) == (2, f"trninv: '{address}' names no cluster: did you mean {whole}?\n")
    assert "did you mean prod/d0/s3/c1?" in run("path", "d0/s3/c1", "prod/d0/s0/c2", database=url)[2]
    assert "did you mean prod/d0/s3?" in run("events", "d0/s3", database=url)[2]
    assert "is not an address: write CLUSTER" in run("show", "d0/s0", database=url)[2]  # both clusters have it
    assert "is not an address: write CLUSTER" in run("show", "d99/s0", database=url)[2]
    assert "no cluster d0: " in run("show", "d0", database=url)[2]
    assert run("unseed", "lab", "--yes", database=url)[0] == 0
    assert "no cluster d0: did you mean prod/d0?" in run("show", "d0", database=url)[2]


def test_times_are_rounded_up_to_the_second_and_other_words_stay(capsys: pytest.CaptureFixture[str]) -> None:
    rounded = {
        "2025-11-22T02:00:00+00:00": "2025-11-22T02:00:00Z",  # of an old event
        "2025-11-22T02:00:00.000000+00:00": "2025-11-22T02:00:00Z",
        "2025-12-31T23:59:59.000001+00:00": "2026-01-01T00:00:00Z",
        "9999-12-31T23:59:59.999999+00:00": "9999-12-31T23:59:59Z",
        "at 2025-11-22T02:00:00.000000+00:00": "at 2025-11-22T02:00:00.000000+00:00",
    }
    print_table(["t"], [[time] for time in rounded])
    assert capsys.readouterr().out.splitlines()[2:] == list(rounded.values())


def test_at_takes_the_times_of_tables_and_those_of_events_and_queries_are_exact(run: Run, databases: Databases) -> None:
    url = databases.seeded("sqlite")
    assert run("set", "u-trn2x64/d0/s0/c0", "down", "--why", "test", "--who", "tests", database=url)[0] == 0
    (since,) = re.findall(r"  (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)  ", run("incidents", database=url)[1])
    assert "u-trn2x64/d0/s0/c0" in run("incidents", "--at", since, database=url)[1]
    commands = (["events"], ["list", "event"], ["sql", "SELECT at FROM v_event"])
    exact = [re.findall(r"\d{4}-\d\d-\d\dT\S+", run(*command, database=url)[1]) for command in commands]
    assert exact[0] == exact[1] == exact[2]
    assert re.fullmatch(r"[^.]+\.\d{6}\+00:00", exact[0][0])
