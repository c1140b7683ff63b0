"""import reads pipes and stdin to their ends before it locks the database."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import cast

import pytest
from printed import neuron_ls, text
from sqlalchemy import make_url

from conftest import Databases, Run
from trninv.cli import import_files
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES
from trninv.importers.input_file import InputFile
from trninv.importers.records import ObservedRecord
from trninv.importers.source_register import all_sources

pytestmark = pytest.mark.slow_on_postgresql


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_while_a_pipe_goes_on_others_write(databases: Databases, backend: str, tmp_path: Path) -> None:
    url, pipe, document = databases.migrated(backend), tmp_path / "machines", text(neuron_ls())
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "trninv", "--database", url, "import", "neuron-ls", "--format", "json", str(pipe)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as importing:
        with pipe.open("wb") as stream:  # which waits for its reader
            stream.write(document[:9])
            stream.flush()
            with temporary_engine(url) as engine, write_transaction(engine) as connection:
                next_id(connection, TABLES["observation"])
            stream.write(document[9:])
        out, _ = importing.communicate()
    assert [(each["name"], each["servers"]) for each in json.loads(out)] == [("machines", 1)]


def test_while_files_are_read_others_write(
    run: Run, databases: Databases, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url, source_declaration = databases.migrated("sqlite"), all_sources()["neuron-ls"]

    def locked(source: InputFile) -> Iterator[ObservedRecord]:
        with closing(sqlite3.connect(str(make_url(url).database), timeout=0)) as other:
            other.execute("BEGIN IMMEDIATE")
        return source_declaration.read(source)

    declared = replace(source_declaration, read=locked)
    monkeypatch.setitem(cast("dict[str, object]", all_sources()), "neuron-ls", declared)
    (tmp_path / "n0.json").write_bytes(text(neuron_ls()))
    status, out, err = run("import", "neuron-ls", str(tmp_path / "n0.json"), database=url)
    assert (status, err) == (0, "")
    assert "n0.json" in out


def test_a_stream_without_an_end_is_left_at_the_limit(
    run: Run, databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_files, "MAX_TOTAL_BYTES", 1 << 20)
    status, _, err = run("import", "neuron-ls", "/dev/zero", database=databases.migrated("sqlite"))
    assert status == 2
    assert "nothing was imported" in err


def test_stdin_gives_no_host(run: Run, databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(text(neuron_ls(None)))))
    own = databases.migrated("sqlite")
    status, _, err = run("import", "neuron-ls", "--trust-host-names", "-", database=own)
    assert (status, "needs file names, and stdin has none" in err) == (2, True)
