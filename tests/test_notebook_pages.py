"""The notebooks of docs/notebooks run, on either database and over HTTP, and show what is stored in them.

``PYTHONPATH=tests:. python -P tests/test_notebook_pages.py`` writes their outputs anew.
"""

import re
import tempfile
from pathlib import Path

import pytest
from notebook_runner import NOTEBOOKS, Notebook, read_notebook, run_notebook, seed_notebooks, write_notebook

import trninv
from conftest import BACKENDS, Databases
from examples import ROOT
from remoting import service

pytestmark = pytest.mark.slow_on_postgresql
_OF_A_MACHINE = re.compile(r"/(?:home|root|tmp|Users|work)/|0x[0-9a-f]{6,}|Traceback")


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_notebook_shows_what_it_stores(databases: Databases, backend: str, file: Path) -> None:
    url, notebook = databases.copied(backend, seed_notebooks), read_notebook(file)
    with trninv.open(url) as fleet:
        assert _shown(run_notebook(notebook, fleet)) == _shown(notebook), f"write {file.name} anew"
    databases.drop(url)


@pytest.mark.slow
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_service_shows_the_same(databases: Databases, file: Path) -> None:
    url, notebook = databases.copied("sqlite", seed_notebooks), read_notebook(file)
    with service(url) as connect, connect() as fleet:
        assert _shown(run_notebook(notebook, fleet)) == _shown(notebook)
    databases.drop(url)


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_is_valid_short_and_of_no_machine(file: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(nbformat.read(file, as_version=4))
    notebook = read_notebook(file)
    assert not _OF_A_MACHINE.search(file.read_text())
    assert len(notebook["cells"]) <= 30
    assert file.stat().st_size < 600_000
    assert all(cell.get("execution_count") is None for cell in notebook["cells"])
    assert notebook["cells"][0]["source"][0].startswith("# ")
    assert f"notebooks/{file.name}" in (ROOT / "docs/README.md").read_text()


def _shown(notebook: Notebook) -> list[object]:
    return [cell.get("outputs") for cell in notebook["cells"]]


if __name__ == "__main__":
    for page in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as directory:
            database = f"sqlite:///{directory}/{page.stem}.db"
            seed_notebooks(database)
            with trninv.open(database) as opened:
                write_notebook(page, run_notebook(read_notebook(page), opened))
