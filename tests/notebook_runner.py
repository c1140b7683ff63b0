"""Runs the notebooks of docs/notebooks in this process: the code of each cell, and what Jupyter would show of it.

nbclient needs a kernel, and the only one for Python is ipykernel. The cells are plain Python, so running them takes
this module alone.
"""

import ast
import contextlib
import io
import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any
from unittest.mock import patch

from examples import ROOT
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.migration import migrate
from trninv.inventory.seeding import cluster_seeding
from trninv.placement.placement_fleet import Fleet

NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))
_CLOCKS = ("units", "database.as_of", "history.point_in_time", "inventory.state.hash_chain")
"""The modules of which each answer or change asks the time."""
_START = "2025-11-21 18:00:00"
Notebook = dict[str, Any]


def seed_notebooks(url: str) -> None:
    """Make the database that the notebooks begin with: `trninv seed u-trn2x64 --name prod`."""
    with temporary_engine(url) as engine, _at(_START):
        migrate(engine)
        with write_transaction(engine) as connection:
            cluster_seeding.seed(connection, default_catalog(), default_systems().get("u-trn2x64"), "prod")


def read_notebook(file: Path) -> Notebook:
    notebook: Notebook = json.loads(file.read_text())
    return notebook


def write_notebook(file: Path, notebook: Notebook) -> None:
    file.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def run_notebook(notebook: Notebook, fleet: Fleet) -> Notebook:
    """The notebook with the outputs that its cells have with a fleet, which `trninv.open` returns in them.

    A cell runs at the time of its metadata, `"trninv": {"at": …}`, or at that of the cell before.
    """
    names: dict[str, Any] = {}
    outputs, time = dict[str, list[Notebook]](), _START
    with patch("trninv.open", lambda: fleet):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                time = cell["metadata"].get("trninv", {}).get("at", time)
                with _at(time):
                    outputs[cell["id"]] = list(_outputs("".join(cell["source"]), names))
    shown = ({"outputs": outputs[cell["id"]]} if cell["id"] in outputs else {} for cell in notebook["cells"])
    return notebook | {"cells": [cell | more for cell, more in zip(notebook["cells"], shown, strict=True)]}


class _AnyDatetime(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, datetime)


@contextlib.contextmanager
def _at(time: str) -> Iterator[None]:
    """Stop the clock of what the notebooks ask."""

    class Clock(datetime, metaclass=_AnyDatetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override] # of the base class
            return datetime.fromisoformat(time).replace(tzinfo=UTC).astimezone(tz)

    with ExitStack() as clocks:
        for module in _CLOCKS:
            clocks.enter_context(patch(f"trninv.{module}.datetime", Clock))
        yield


def _outputs(source: str, names: dict[str, Any]) -> Iterator[Notebook]:
    """Run a cell, and yield what it prints and the value of its last expression."""
    body, printed = ast.parse(source).body, io.StringIO()
    last = body[-1] if isinstance(body[-1], ast.Expr) else None
    body = body[:-1] if last else body
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "<cell>", "exec"), names)  # noqa: S102 # the page's own lines
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names) if last else None  # noqa: S307
    if text := printed.getvalue():
        yield {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data = {"text/html": value._repr_html_().splitlines(keepends=True)} | data
        yield {"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"}
