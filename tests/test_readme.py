"""Every example of the README is run, and its output is what stands there.

``python tests/test_readme.py`` writes the outputs anew.
"""

import contextlib
import io
import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text
from tabulate import tabulate

import trninv
from conftest import both_ways
from trninv.cli.main import main
from trninv.reports.guard import checked
from trninv.reports.reader import find
from trninv.routing.fleet import Fleet

README = Path(__file__).parents[1] / "README.md"
RECIPES = README.parent / "docs" / "recipes.md"
PAGES = README, RECIPES, README.parent / "docs" / "graphql.md", README.parent / "docs" / "explorer.md"
_FENCE = re.compile(r"```(console|graphql|sql|python)\n(.*?)```\n(?:\n```(?:json|text)\n(.*?)```\n)?", re.DOTALL)
_DRAWN = re.compile(r"^ +trninv (draw .*docs/pictures/.*\.svg)$", re.MULTILINE)


def run_commands(block: str, url: str) -> str:
    shown = []
    for line in block.splitlines():
        if line.startswith("$ trninv "):
            out = io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
                main(["--database", url, *shlex.split(line)[2:]])
            shown.append(line + "\n" + "\n".join(printed.rstrip() for printed in out.getvalue().splitlines()) + "\n")
    return "\n".join(shown)


def run_graphql(block: str, fleet: Fleet) -> str:
    answer = both_ways(fleet)(block)
    assert answer["errors"] == []
    return json.dumps(answer["data"], indent=2, ensure_ascii=False) + "\n"


def run_sql(block: str, fleet: Fleet) -> str:
    found = find(fleet.engine, checked(block, fleet.engine.dialect.name), seconds=60)
    rows = [[str(cell) for cell in row] for row in found.rows]
    shown = tabulate(rows, headers=found.columns, tablefmt="simple", disable_numparse=True)
    return "\n".join(line.rstrip() for line in shown.splitlines()) + "\n"


def run_python(block: str, fleet: Fleet) -> str:
    shown = []
    names: dict[str, object] = {"trninv": type("trninv", (), {"open": staticmethod(lambda: fleet)})}
    for line in block.splitlines():
        if line.startswith(">>> "):
            shown.append(line)
            code = line[4:].split("  #")[0].strip()
            if code.startswith("import") or re.match(r"\w+ = ", code):
                exec(code.replace("import trninv", "pass"), names)  # noqa: S102 # the README's own lines
            else:
                shown.append(repr(eval(code, names)))  # noqa: S307
    return "\n".join(shown) + "\n"


def answers(source: str, fleet: Fleet) -> Iterator[tuple[re.Match[str], str]]:
    """Each example with what it must look like."""
    url = fleet.engine.url.render_as_string(hide_password=False)
    for block in _FENCE.finditer(source):
        kind, body, _ = block.groups()
        match kind:
            case "console":
                yield block, f"```console\n{run_commands(body, url)}```\n"
            case "python":
                yield block, f"```python\n{run_python(body, fleet)}```\n"
            case "graphql":
                yield block, f"```graphql\n{body}```\n\n```json\n{run_graphql(body, fleet)}```\n"
            case "sql":
                yield block, f"```sql\n{body}```\n\n```text\n{run_sql(body, fleet)}```\n"


_EXAMPLES = [(page, number) for page in PAGES for number in range(len(_FENCE.findall(page.read_text())))]


def test_there_is_an_example_of_each_question_in_each_way() -> None:
    kinds = [kind for kind, _, _ in _FENCE.findall(README.read_text())]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"console": 9, "graphql": 7, "sql": 5, "python": 1}


def test_there_are_thirty_recipes_in_three_ways() -> None:
    for recipe in RECIPES.read_text().split("\n## ")[1:]:
        assert [kind for kind, _, _ in _FENCE.findall(recipe)] == ["graphql", "sql", "console"]
    assert RECIPES.read_text().count("\n## ") == 30


@pytest.mark.parametrize(("page", "number"), _EXAMPLES)
def test_an_example_prints_what_stands_there(fleet: Fleet, page: Path, number: int) -> None:
    source = page.read_text()
    block = list(_FENCE.finditer(source))[number]
    ((found, wanted),) = answers(block[0], fleet)
    assert found[0] == wanted


def test_the_sql_of_the_schema_page_marks_a_chip(seeded: str) -> None:
    (block,) = re.findall(r"```sql\n(.*?)```", (README.parent / "docs" / "schema.md").read_text(), re.DOTALL)
    change, question = (part for part in block.split(";") if part.strip())
    with trninv.open(seeded) as fleet, fleet.engine.begin() as connection:
        connection.execute(text(change))
        assert [row.kind for row in connection.execute(text(question))] == ["chip"]
    with trninv.open(seeded) as fleet:
        assert fleet.memory_pool("u-trn2x64/d0/s1/c5").chips == 0


@pytest.mark.parametrize(
    "command",
    [line for page in (README, README.parent / "docs/routing.md") for line in _DRAWN.findall(page.read_text())],
)
def test_a_picture_is_what_its_command_draws(lite: str, tmp_path: Path, command: str) -> None:
    *words, picture = shlex.split(command)
    with contextlib.suppress(SystemExit):
        main(["--database", lite, *words, str(tmp_path / "new.svg")])
    assert (tmp_path / "new.svg").read_text() == (README.parent / picture).read_text()


@pytest.mark.parametrize("file", [*README.parent.glob("*.md"), *README.parent.glob("docs/**/*.md")])
def test_links_lead_somewhere(file: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", file.read_text()):
        if not target.startswith("http"):
            assert (file.parent / target).exists(), target


if __name__ == "__main__":
    with trninv.open(sys.argv[1]) as opened:
        for page in PAGES:
            content = page.read_text()
            for found, better in answers(content, opened):
                content = content.replace(found[0], better)
            page.write_text(content)
