"""Every example of README and docs is run, and its output is what stands on the page.

``python tests/test_readme.py`` writes the outputs anew.
"""

import contextlib
import json
import re
import shlex
import tempfile
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

import trninv
from conftest import mostly_slow, seed_everything
from examples import FENCE, ROOT, answers, is_explained, pages, run_graphql
from trninv.cli.main import main
from trninv.routing.fleet import BaseFleet

pytestmark = pytest.mark.slow_on_postgresql

README = ROOT / "README.md"
RECIPES = ROOT / "docs/how-to/recipes.md"
RECIPE_ANSWERS = ROOT / "tests/golden/recipes.json"
"""What the page doesn't show: the answers to the recipes' GraphQL documents."""
TUTORIAL = ROOT / "docs/tutorial/first-answer.md"
FOLLOWED = [TUTORIAL, ROOT / "docs/placement.md"]
"""Pages that begin with an empty database, and change it."""
OTHERWISE = {ROOT / "docs/reference/sql.md", ROOT / "docs/reference/schema.md", ROOT / "docs/live-fleet.md"} | {
    ROOT / "docs/history.md"
}
"""Pages that have tests of their own: tests/reports, tests/history, tests/test_live_fleet.py and below."""

PAGES = [page for page in pages() if FENCE.search(page.read_text()) and page not in {*OTHERWISE, *FOLLOWED}]
_EXAMPLES = [
    (page, number)
    for page in PAGES
    for number, (kind, _, _) in enumerate(FENCE.findall(page.read_text()))
    if (page, kind) != (RECIPES, "graphql")  # compared with RECIPE_ANSWERS below
]
_FILE = re.compile(r"```toml\n# (\w+\.toml)\n(.*?)```", re.DOTALL)
"""A file that a page has its reader write, with its name in the first line."""
_DRAWN = re.compile(r"^ +trninv (draw .*docs/pictures/.*\.svg)$", re.MULTILINE)


def test_the_readme_is_short_and_asks_in_every_interface() -> None:
    assert README.read_text().count("\n") <= 250
    assert {kind for kind, _, _ in FENCE.findall(README.read_text())} == {"console", "graphql", "sql", "python"}


def test_there_are_thirty_recipes_in_two_or_three_ways() -> None:
    for recipe in RECIPES.read_text().split("\n## ")[1:]:
        kinds = [kind for kind, _, _ in FENCE.findall(recipe)]
        assert kinds in (["graphql", "sql"], ["graphql", "sql", "console"]), recipe
    assert RECIPES.read_text().count("\n## ") == 30


def test_the_documents_of_the_recipes_have_the_recorded_answers(fleet: BaseFleet) -> None:
    assert recipe_answers(fleet) == json.loads(RECIPE_ANSWERS.read_text())


@pytest.mark.parametrize(("page", "number"), _EXAMPLES)
def test_an_example_prints_what_stands_there(fleet: BaseFleet, page: Path, number: int) -> None:
    source = page.read_text()
    block = list(FENCE.finditer(source))[number]
    explained = is_explained(source[: block.start()]) or not is_explained(source)
    ((found, wanted),) = answers(block[0], fleet, explained=explained)
    assert found[0] == wanted


@pytest.mark.parametrize("page", mostly_slow(FOLLOWED, 1), ids=lambda page: page.stem)
def test_a_page_leads_from_an_empty_database_to_what_stands_there(empty: str, page: Path) -> None:
    assert follow(page.read_text(), empty) == page.read_text()


def test_the_sql_of_the_schema_page_marks_a_chip(seeded: str) -> None:
    (block,) = re.findall(r"```sql\n(.*?)```", (ROOT / "docs/reference/schema.md").read_text(), re.DOTALL)
    change, question = (part for part in block.split(";") if part.strip())
    with trninv.open(seeded) as fleet, fleet.engine.begin() as connection:
        connection.execute(text(change))
        assert [row.kind for row in connection.execute(text(question))] == ["chip"]
    with trninv.open(seeded) as fleet:
        assert fleet.memory_pool("u-trn2x64/d0/s1/c5").chips == 0


@pytest.mark.parametrize("command", [line for page in pages() for line in _DRAWN.findall(page.read_text())])
def test_a_picture_is_what_its_command_draws(lite: str, tmp_path: Path, command: str) -> None:
    *words, picture = shlex.split(command)
    with contextlib.suppress(SystemExit):
        main(["--database", lite, *words, str(tmp_path / "new.svg")])
    assert (tmp_path / "new.svg").read_text() == (ROOT / picture).read_text()


def follow(tutorial: str, database: str) -> str:
    """The tutorial as it reads when it is followed on an empty database, in a directory of its own."""
    assert "\n    trninv migrate\n" in tutorial
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(None):
        main(["--database", database, "migrate"])
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place), trninv.open(database) as fleet:
        for name, body in _FILE.findall(tutorial):
            Path(name).write_text(body)
        return refreshed(tutorial, fleet)


def recipe_answers(fleet: BaseFleet) -> dict[str, Any]:
    """Answer the GraphQL document of each recipe."""
    recipes = RECIPES.read_text().split("\n## ")[1:]
    documents = {recipe.splitlines()[0]: FENCE.findall(recipe)[0][1] for recipe in recipes}
    return {title: json.loads(run_graphql(document, fleet)) for title, document in documents.items()}


def refreshed(source: str, fleet: BaseFleet) -> str:
    """A page with the outputs that its examples have now."""
    for found, wanted in answers(source, fleet, explained=not is_explained(source)):
        source = source.replace(found[0], wanted)
    return source


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        seeded_url = f"sqlite:///{directory}/seeded.db"
        seed_everything(seeded_url)
        with trninv.open(seeded_url) as opened:
            for stale in PAGES:
                stale.write_text(refreshed(stale.read_text(), opened))
            answered = json.dumps(recipe_answers(opened), indent=2, ensure_ascii=False)
            RECIPE_ANSWERS.write_text(f"{answered}\n")
        for page in FOLLOWED:
            page.write_text(follow(page.read_text(), f"sqlite:///{directory}/{page.stem}.db"))
