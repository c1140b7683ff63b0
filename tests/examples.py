"""Runs the examples of a documentation page, and writes what they print where it belongs on the page."""

import contextlib
import io
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from queries import run_query
from tabulate import tabulate

from conftest import both_ways
from trninv.cli.main import main
from trninv.reports.query_compiler import compile_query
from trninv.routing.fleet import BaseFleet

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"```(console|graphql|sql|python)\n(.*?)```\n(?:\n```(?:json|text)\n(.*?)```\n)?", re.DOTALL)
_EXPLANATION = re.compile(
    r"\nmeaning: .*\n(?:(?:evidence|disputed|assumed): .*\n)*|(?:(?:disputed|assumed): .* \(--explain\)\n)+"
)
"""The last lines of an answer, which a page shows once or not at all."""
_CUT = re.compile(r" \| (head|tail) -(\d+)$")
_LINE = 100
_MARKUP = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def pages() -> list[Path]:
    """Every page of the repository that is written by hand."""
    return [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]


def prose(page: Path) -> str:
    """A page's text without its code."""
    return _MARKUP.sub("", page.read_text())


def answers(source: str, fleet: BaseFleet, *, explained: bool = False) -> Iterator[tuple[re.Match[str], str]]:
    """Each example on a page, with what it must look like, one after the other.

    explained: whether the page has shown the meaning and evidence of an answer before, or never does. A document or a
    statement without an output is run, and gets none.
    """
    for block in FENCE.finditer(source):
        kind, body, output = block.groups()
        match kind:
            case "console":
                printed = _run_commands(body, fleet)
                shown = without_explanation(printed) if explained else printed
                explained = explained or is_explained(shown)
                yield block, f"```console\n{shown}```\n"
            case "python":
                yield block, f"```python\n{_run_python(body, fleet)}```\n"
            case "graphql":
                printed = run_graphql(body, fleet)
                yield block, f"```graphql\n{body}```\n" + ("" if output is None else f"\n```json\n{printed}```\n")
            case "sql":
                printed = _run_sql(body, fleet)
                yield block, f"```sql\n{body}```\n" + ("" if output is None else f"\n```text\n{printed}```\n")


def without_explanation(text: str) -> str:
    """Return a text without the meaning and evidence of its answers."""
    return _EXPLANATION.sub("", text)


def is_explained(text: str) -> bool:
    """Whether a text shows the meaning of an answer."""
    return _EXPLANATION.search(text) is not None


def without_cut(line: str) -> tuple[str, slice]:
    """Return a command without `| head -N` or `| tail -N` at its end, and which lines of its output these leave."""
    if (cut := _CUT.search(line)) is None:
        return line, slice(None)
    number = int(cut[2])
    return line[: cut.start()], slice(number) if cut[1] == "head" else slice(-number, None)


def _run_commands(block: str, fleet: BaseFleet) -> str:
    database = fleet.engine.url.render_as_string(hide_password=False)
    shown = []
    for line in block.splitlines():
        if line.startswith("$ trninv "):
            out = io.StringIO()
            command, lines = without_cut(line)
            with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
                main(["--database", database, *shlex.split(command)[2:]])
            printed = "".join(f"{printed.rstrip()}\n" for printed in out.getvalue().splitlines()[lines])
            shown.append(f"{line}\n{printed}")
    return "\n".join(shown)


def run_graphql(block: str, fleet: BaseFleet) -> str:
    """Return the data of a document's answer, as a page shows it."""
    answer = both_ways(fleet)(block)
    assert answer["errors"] == []
    return _compact(answer["data"]) + "\n"


def _compact(value: object, indent: str = "") -> str:
    """JSON in which an object or a list that fits on a line is on one line."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or len(indent) + len(line) <= _LINE:
        return line
    inner = indent + "  "
    if isinstance(value, dict):
        members = [f"{json.dumps(key)}: {_compact(member, inner)}" for key, member in value.items()]
    else:
        members = [_compact(member, inner) for member in value]
    first, last = "{}" if isinstance(value, dict) else "[]"
    return f"{first}\n{inner}" + f",\n{inner}".join(members) + f"\n{indent}{last}"


def _run_sql(block: str, fleet: BaseFleet) -> str:
    found = run_query(fleet.engine, compile_query(block, fleet.engine.dialect.name), seconds=60)
    rows = [[str(cell) for cell in row] for row in found.rows]
    shown = tabulate(rows, headers=found.columns, tablefmt="simple", disable_numparse=True)
    return "\n".join(line.rstrip() for line in shown.splitlines()) + "\n"


def _run_python(block: str, fleet: BaseFleet) -> str:
    shown = []
    names: dict[str, object] = {"trninv": type("trninv", (), {"open": staticmethod(lambda: fleet)})}
    for line in block.splitlines():
        if line.startswith(">>> "):
            shown.append(line)
            code = line[4:].split("  #")[0].strip()
            if code.startswith("import") or re.match(r"\w+ = ", code):
                exec(code.replace("import trninv", "pass"), names)  # noqa: S102 # the page's own lines
            else:
                shown.append(repr(eval(code, names)))  # noqa: S307
    return "\n".join(shown) + "\n"
