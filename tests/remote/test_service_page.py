"""docs/how-to/ask-a-service.md: its examples, run over a service, print what stands there.

python tests/remote/test_service_page.py writes what they print.
"""

import contextlib
import io
import re
import shlex
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

import trninv
from conftest import Databases, seed_everything
from examples import ROOT, without_explanation
from remoting import URL, service
from trninv.cli.main import main

PAGE = ROOT / "docs/how-to/ask-a-service.md"
_FENCE = re.compile(r"```(console|python) service\n(.*?)```", re.DOTALL)
_REQUEST = re.compile(r"request [0-9a-f]{16}")


def follow(page: str, database: str) -> str:
    """The page with what its examples print, one after the other."""
    with service(database) as connect, patch.object(trninv, "connect", lambda *_, **__: connect()):
        show = {"console": _commands, "python": _lines}
        return _FENCE.sub(lambda block: f"```{block[1]} service\n{show[block[1]](block[2])}```", page)


def _commands(block: str) -> str:
    return "".join(f"{line}\n{_printed(line)}" for line in block.splitlines() if line.startswith("$ "))


def _printed(line: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), contextlib.suppress(SystemExit):
        main(["--service", URL, *shlex.split(line)[2:]])
    text = "".join(f"{part.rstrip()}\n" for part in out.getvalue().splitlines())
    return _REQUEST.sub("request 4f0c2a9e7b1d6358", without_explanation(text))


def _lines(block: str) -> str:
    names, shown = dict[str, object](), list[str]()
    for line in block.splitlines():
        if line.startswith(">>> "):
            shown.append(line)
            if re.match(r"import|\w+ = ", line[4:]):
                exec(line[4:], names)  # noqa: S102 # the page's own lines
            else:
                shown.append(repr(eval(line[4:], names)))  # noqa: S307 # as above
    return "".join(f"{line}\n" for line in shown)


def test_the_page_is_what_its_examples_print(databases: Databases) -> None:
    url = databases.copied("sqlite", seed_everything)
    assert follow(PAGE.read_text(), url) == PAGE.read_text()
    databases.drop(url)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        file = f"sqlite:///{Path(directory)}/fleet.db"
        seed_everything(file)
        PAGE.write_text(follow(PAGE.read_text(), file))
        sys.exit(0)
