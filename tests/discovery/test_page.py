"""The page on discovery, run against the stand-in."""

import re
from collections.abc import Iterator
from typing import Any

import clouds
import pytest
from click.testing import CliRunner
from sqlalchemy import Engine

from examples import ROOT
from trninv.cli.main import trninv
from trninv.database.engine import temporary_engine
from trninv.database.stored_changes import STORED
from trninv.database.tables import TABLES

PAGE = (ROOT / "docs/how-to/discover.md").read_text()
STEPS = re.findall(r"^    \$ trninv (.*)\n((?:    (?!\$).+\n)*)", PAGE, re.MULTILINE)


@pytest.fixture
def lab(tables: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    with clouds.serving(clouds.fleet(3)) as cloud, temporary_engine(tables) as engine:
        clouds.use(monkeypatch, cloud)
        monkeypatch.setenv("TRNINV_DATABASE_URL", tables)
        yield engine


def run(*arguments: str) -> Any:
    return CliRunner().invoke(trninv, list(arguments), prog_name="trninv", catch_exceptions=False)


@pytest.mark.usefixtures("lab")
def test_every_command_prints_what_the_page_has() -> None:
    assert len(STEPS) == 5
    for command, output in STEPS:
        printed = [line.rstrip() for line in run(*command.split()).stdout.splitlines()]
        expected = [line[4:].rstrip() for line in output.splitlines()]
        assert expected in (["…"], printed), command


def test_status_names_targets_and_late_ones(lab: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    run("discover", "aws:us-east-2")
    assert re.search(r"aws:us-east-2 +20\S+ +ok", run("status").stdout)
    monkeypatch.setattr("trninv.cli.discover_command.CollectionSchedule.wait", lambda _: iter([0.0]))
    run("discover", "aws:us-east-2", "--every", "5m")
    assert re.search(r"aws:us-east-2 +\S+ +300 +ok", run("status").stdout)
    with lab.begin() as connection:
        connection.execute(TABLES["discovery"].update().values(late_at="2026-01-01T00:00:00.000000+00:00"))
    assert re.search(r"aws:us-east-2 +\S+ +300 +late", run("status").stdout)


@pytest.mark.usefixtures("lab")
def test_a_dry_run_stores_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(STORED, "count", 0)
    assert "dry run" in run("discover", "aws:us-east-2", "--dry-run").stdout
    assert STORED.describe() == "nothing in the database was changed"  # its lease is no change
    assert "aws:us-east-2" not in run("status").stdout
