"""Pages with times are followed on an empty database at these times; their outputs are what stands there.

``python tests/test_incident_page.py`` writes the outputs anew.
"""

import contextlib
import io
import re
import shlex
import tempfile
import textwrap
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import patch

import pytest

from conftest import mostly_slow
from examples import ROOT, without_cut, without_explanation
from trninv.cli.main import main
from trninv.database.engine import temporary_engine
from trninv.database.migration import migrate

pytestmark = pytest.mark.slow_on_postgresql

PAGES = [
    ROOT / "docs" / page
    for page in ("incident.md", "how-to/measure.md", "how-to/check-in-ci.md", "how-to/ask-in-cypher.md")
]
_FILE = re.compile(r"^.*[Ss]ave this as `([\w.-]+)`:\n\n((?:    .*\n)+)", re.MULTILINE)
"""A file that a page has its reader write."""
_FENCE = re.compile(r"```console (\S+ \S+)\n(.*?)```", re.DOTALL)
_CLOCKS = ("units", "inventory.state.hash_chain", "reconcile.drift")


def follow(page: str, database: str) -> str:
    """The page as it reads when it is followed."""
    assert "\n    trninv migrate\n" in page
    with temporary_engine(database) as engine:
        migrate(engine)
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        for name, body in _FILE.findall(page):
            Path(name).write_text(textwrap.dedent(body))
        return _FENCE.sub(lambda block: f"```console {block[1]}\n{_shown(block[2], database, block[1])}```", page)


def _shown(block: str, database: str, at: str) -> str:
    with ExitStack() as clocks:
        for module in _CLOCKS:
            clock = clocks.enter_context(patch(f"trninv.{module}.datetime", wraps=datetime))
            clock.now.return_value = datetime.fromisoformat(at).replace(tzinfo=UTC)
        lines = [line for line in block.splitlines() if line.startswith("$ trninv ")]
        return "\n".join(f"{line}\n{_printed(line, database)}" for line in lines)


def _printed(line: str, database: str) -> str:
    out = io.StringIO()
    command, lines = without_cut(line)
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit):
        main(["--database", database, *shlex.split(command)[2:]])
    printed = without_explanation("".join(f"{each.rstrip()}\n" for each in out.getvalue().splitlines()))
    return "".join(printed.splitlines(keepends=True)[lines])


@pytest.mark.parametrize("page", mostly_slow(PAGES, 1), ids=lambda page: page.stem)
def test_the_page_is_what_its_commands_print(empty: str, page: Path) -> None:
    assert follow(page.read_text(), empty) == page.read_text()


if __name__ == "__main__":
    for number, page in enumerate(PAGES):
        with tempfile.TemporaryDirectory() as made:
            page.write_text(follow(page.read_text(), f"sqlite:///{made}/{number}.db"))
