"""Importing what a fleet reports: EC2's pages and one neuron-ls output a server, in files of a line each."""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from printed import instance_topology, neuron_ls

import postgres
from bench.measure import RAINIER, Row
from trninv.inventory import migrate
from trninv.inventory.database import connect

_PAGE = 100
_MARK_SECONDS, _MARK_BYTES = 60.0, 300e6
"""Of Project Rainier."""


def live_rows(directory: Path, domains: int) -> Iterator[Row]:
    files = _written(directory, 4 * domains)
    start = time.perf_counter()
    for file in files.values():
        with file.open() as lines:
            for line in lines:
                json.loads(line)
    parsing = time.perf_counter() - start
    with (
        tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as place,
        postgres.server(Path(place)) as pg,
    ):
        for name, url in (("SQLite", f"sqlite:///{directory}/ours.db"), ("PostgreSQL", pg.format("postgres"))):
            with connect(url) as engine:
                migrate.migrate(engine)
            took = _imported(url, files)
            what = f"import of {4 * domains:,} servers and {64 * domains:,} chips, {name}"
            yield Row(what, took, parsing, "json.loads of each line")
            if domains >= RAINIER:
                yield Row(what, took, _MARK_SECONDS, "the mark", 1.0)
            yield Row(f"the same again, {name}", _imported(url, files), took, "the first time")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    yield Row("memory of the importing process", peak, _MARK_BYTES, "the mark", 1.0, "bytes")


def _written(directory: Path, servers: int) -> dict[str, Path]:
    ids = [f"i-{number:017x}" for number in range(servers)]
    files = {kind: directory / f"{kind}.ndjson" for kind in ("ec2", "neuron-ls")}
    with files["ec2"].open("w") as pages:
        for first in range(0, servers, _PAGE):
            pages.write(json.dumps(instance_topology(ids[first : first + _PAGE])) + "\n")
    with files["neuron-ls"].open("w") as lines:
        for each in ids:
            lines.write(json.dumps(neuron_ls(each)) + "\n")
    return files


def _imported(url: str, files: dict[str, Path]) -> float:
    start = time.perf_counter()
    for kind, file in files.items():
        command = [sys.executable, "-m", "trninv", "--database", url, "import", kind, str(file)]
        subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return time.perf_counter() - start
