"""Write what later releases are compared with: the public surface, and a small fleet with its answers."""

import gzip
import io
import json
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

from public_surface import RELEASES, current_surface

from trninv.cli.main import main

_CHANGES: Sequence[Sequence[str]] = (
    ("migrate",),
    ("seed", "trn1.2xlarge"),
    ("seed", "u-trn2x64"),
    ("seed", "trn3-gen2"),
    ("set", "u-trn2x64/d0/s0/c0", "down", "--why", "a fixture"),
    ("set", "u-trn2x64/d0/s1", "maintenance", "--why", "a fixture"),
    ("set", "u-trn2x64/d0/s0/c0", "up", "--why", "repaired"),
    ("allocate", "train", "u-trn2x64/d0/s2"),
    ("bind", "u-trn2x64/d0/s2", "i-0123456789abcdef0"),
    ("cordon", "u-trn2x64/d0/s3", "--why", "a fixture"),
)
QUESTIONS: Sequence[Sequence[str]] = (
    ("path", "u-trn2x64/d0/s0/c0", "u-trn2x64/d0/s2/c10"),
    ("bandwidth", "u-trn2x64/d0/s0/c0", "u-trn2x64/d0/s2/c10"),
    ("bisection", "u-trn2x64"),
    ("pool", "trn3-gen2/d0/s0/c0", "--hops", "1"),
    ("incidents",),
    ("jobs",),
    ("bindings",),
    ("free", "u-trn2x64"),
)
"""Commands whose JSON a later release must print again, perhaps with more keys."""


def fleet_file(version: str) -> Path:
    """Return the file of a release's fleet."""
    return RELEASES / f"{version}.db.gz"


def write_records(version: str) -> None:
    """Write the surface, the fleet and its answers for a release."""
    RELEASES.mkdir(exist_ok=True)
    (RELEASES / f"{version}.json").write_text(json.dumps(current_surface(), indent=1, sort_keys=True) + "\n")
    write_fleet(fleet_file(version))


def write_fleet(packed: Path) -> None:
    """Write a small fleet with jobs and incidents as a packed SQLite file, and beside it its answers."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "fleet.db"
        for change in _CHANGES:
            run_command(f"sqlite:///{file}", change)
        answers = ask(f"sqlite:///{file}")
        packed.write_bytes(gzip.compress(file.read_bytes(), mtime=0))
    answers_file(packed).write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n")


def answers_file(packed: Path) -> Path:
    """Return the file of the answers about a fleet."""
    return packed.with_name(f"{packed.name.removesuffix('.db.gz')}-answers.json")


def ask(url: str) -> dict[str, object]:
    """Return the JSON of each question about a database, by command line."""
    return {" ".join(line): json.loads(run_command(url, (*line, "--format", "json"))) for line in QUESTIONS}


def run_command(url: str, line: Sequence[str]) -> str:
    """Run a command of the command line on a database, in this process; return what it prints.

    Raises
    ------
    RuntimeError
        The command failed.

    """
    printed = io.StringIO()
    try:
        with redirect_stdout(printed):
            main(["--database", url, *line])
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"trninv {' '.join(line)} failed") from end
    return printed.getvalue()
