"""import reads pipes and stdin to their ends before it locks the database."""

import json
import os
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from printed import neuron_ls, text

from conftest import Databases, Run
from trninv.cli import imports
from trninv.inventory.database import connect, writing
from trninv.inventory.ids import next_id
from trninv.inventory.schema import TABLES


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_while_a_pipe_goes_on_others_write(databases: Databases, backend: str, tmp_path: Path) -> None:
    url, pipe, document = databases.migrated(backend), tmp_path / "machines", text(neuron_ls())
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "trninv", "--database", url, "import", "neuron-ls", "--format", "json", str(pipe)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as importing:
        with pipe.open("wb") as stream:  # which waits for its reader
            stream.write(document[:9])
            stream.flush()
            with connect(url) as engine, writing(engine) as connection:
                next_id(connection, TABLES["observation"])
            stream.write(document[9:])
        out, _ = importing.communicate()
    assert [(each["name"], each["servers"]) for each in json.loads(out)] == [("machines", 1)]


def test_a_stream_without_an_end_is_left_at_the_limit(
    run: Run, databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "MAX_FILE", 1 << 20)
    status, _, err = run("import", "neuron-ls", "/dev/zero", database=databases.migrated("sqlite"))
    assert status == 2
    assert "nothing was imported" in err


def test_stdin_gives_no_host(run: Run, databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(text(neuron_ls(None)))))
    own = databases.migrated("sqlite")
    status, _, err = run("import", "neuron-ls", "--trust-host-names", "-", database=own)
    assert (status, "stdin has no name that could be a host's" in err) == (2, True)
