"""The examples of every command's help, run on a terminal of eighty columns, on a fleet with long and wide names."""

import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from every_command import EVERY, WIDE, taken
from rich.cells import cell_len

from conftest import Databases, Run, seed_everything, wear
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.cli.progress_line import Progress
from trninv.cli.usage_errors import read_examples
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.bindings import bind
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.changes.allocate import allocate
from trninv.reconcile.latest_observations import pinned_binding

CODE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
STAY = {"serve", "send", "mcp", "discover", "up", "watch", "collect", "--follow", "-", "copy", "--database", "--web"}
"""Words of examples that stay, read stdin, or are of other machines."""
FIXED = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+Z")
AT_ONCE = {"facts", "audit", "systems", "report", "schema", "help", "docs", "completion", "topology"}
"""Commands that read the catalog alone, and one that prints line by line."""
MARKUP = {"schema", "query", "completion", "csv", "json", "junit"}
"""Commands whose output is for programs."""
BOUND = {
    "lab/d0/s1": "i-0123456789abcdef0",
    "u-trn2x64/d0/s0": "ip-10-192-255-101.us-east-2.compute.internal",
    "rainier/d17/s3": "rack-17-slot-3.training.example.internal",
}
NEXT = re.compile("trninv [a-z]")
DONE = re.compile(
    "seeded|at schema version|nothing new|no rows|: 0 rows|No such file|none is known|shown again|nodes|^[{[]"
)
"""What a command did that needs no cluster, or prints for programs."""
NOT_THERE = re.compile(
    "No such file|there is no event|no incident|refuses blocks|the end must be later|set TRNINV_WEBHOOKS"
)
"""What examples name that is not in this fleet, or may not be in this state."""
HERE = re.compile("^/srv/")
WIDER = re.compile(r" *\S+")
"""A line that is one word, which stays whole to be copied."""


def peopled(url: str) -> None:
    """Systems that examples name, hosts and reasons that are long or of wide characters, jobs."""
    seed_everything(url)
    wear(url)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        for name, system, domains in (("lab", "u-trn2x64", 1), ("rainier", "rainier", 18)):
            cluster_seeding.seed(connection, default_catalog(), default_systems().get(system).resized(domains), name)
        for server, host in BOUND.items():
            bind(connection, [pinned_binding(connection, server, host)], who="技術者")
        set_state(
            connection,
            ["rainier/d17/s3"],
            Condition.from_user("down", None),
            why="電源の故障、予備品を待っている" * 3,
            who="技術者",
        )
        allocate(connection, "train-7b", ["rainier/d0/s0", "rainier/d1/s0"], who="someone-with-a-long-name")


def ways() -> Iterator[Any]:
    """Each example with the words of its command, but those that stay; slow, but for the first of a command."""
    found = [
        (" ".join(words), each)
        for words, command in EVERY.items()
        for line in read_examples(command)
        for each in taken(line)
        if each[: len(words)] == [*words] and not STAY & {*each}
    ]
    had = set[str]()
    for name, (words, example) in {" ".join(each): (words, each) for words, each in found}.items():
        yield pytest.param(words, example, id=name, marks=[pytest.mark.slow] if words in had else [])
        had.add(words)


@pytest.fixture
def shown(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run the command line as on a terminal."""
    monkeypatch.chdir(tmp_path)
    for name, value in {"COLUMNS": str(WIDE), "LINES": "9999", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)

    def call(*words: str, database: str) -> tuple[int, str, str]:
        for stream in (sys.stdout, sys.stderr):  # those of this phase of the test
            monkeypatch.setattr(stream, "isatty", lambda: True)
        return run(*words, database=database)

    return call


@pytest.mark.slow
@pytest.mark.parametrize(("words", "example"), [each for each in ways() if not each.marks])
def test_without_a_cluster_it_says_what_comes_next(
    shown: Run, databases: Databases, words: str, example: list[str]
) -> None:
    url = databases.migrated("sqlite")
    _, out, error = shown(*example, database=url)
    assert NEXT.search(out + error) or DONE.search(out + error) or words in AT_ONCE
    databases.drop(url)


@pytest.mark.parametrize(("words", "example"), [*ways()])
def test_it_runs_and_fits(
    shown: Run, databases: Databases, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str, example: list[str]
) -> None:
    url = databases.copied("sqlite", peopled)
    begun: list[Progress] = []

    def begin(progress: Progress) -> Progress:
        begun.append(progress)
        return progress

    monkeypatch.setattr(Progress, "__enter__", begin)
    now = datetime.now(UTC).isoformat()
    status, out, error = shown(*[FIXED.sub(now, HERE.sub(f"{tmp_path}/", word)) for word in example], database=url)
    assert status in (0, 1) or NOT_THERE.search(error), error
    assert begun or words in AT_ONCE or status
    assert out or error
    lines = re.split("[\r\n]", CODE.sub("", out + error))
    wide = [line for line in lines if cell_len(line) > WIDE and not WIDER.fullmatch(line)]
    assert wide == [] or MARKUP & {words, *example}
    databases.drop(url)
