"""What contributors use beside ./run: hooks before a commit and templates of issues."""

import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from examples import ROOT
from selection import longest_first, one_slow_on_postgresql

HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: str(hook["id"]))
def test_hooks_start_what_the_project_installs(hook: dict[str, str]) -> None:
    program, *arguments = shlex.split(hook["entry"])
    assert hook["language"] == "system"
    if program == "sh":
        assert "node_modules/.bin/biome" in arguments[1]
        assert "@biomejs/biome" in (ROOT / "web/package.json").read_text()
    else:
        assert program in (".venv/bin/ruff", ".venv/bin/python")
    for argument in arguments:
        assert not argument.startswith("tests/") or (ROOT / argument).exists()


@pytest.mark.parametrize(
    "file", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")), ids=lambda file: str(file.stem)
)
def test_templates_ask_for_what_is_needed(file: object) -> None:
    template = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE" / str(file)).read_text())
    assert {"name", "description", "body"} <= set(template)
    assert all(field["validations"]["required"] for field in template["body"])


def _case(name: str, **markers: pytest.Mark) -> Any:
    return SimpleNamespace(
        path=Path("test_a.py"), name=name, nodeid=f"test_a.py::{name}", get_closest_marker=markers.get
    )


@pytest.mark.parametrize(("cases", "kept"), [({}, "abe"), ({"cases": "all"}, "abcde")])
def test_of_what_is_slow_on_postgresql_one_case_runs_there_or_all(cases: dict[str, str], kept: str) -> None:
    marked = {"slow_on_postgresql": pytest.mark.slow_on_postgresql(**cases).mark}
    both = marked | {"slow": pytest.mark.slow.mark}
    items = {
        "a": _case("test_one[sqlite-1]", **marked),
        "b": _case("test_one[postgresql-1]", **marked),
        "c": _case("test_one[postgresql-2]", **marked),
        "d": _case("test_two[postgresql]", **both),
        "e": _case("test_three[postgresql]", **marked, quick_on_postgresql=pytest.mark.quick_on_postgresql.mark),
    }
    assert [*one_slow_on_postgresql([*items.values()])] == [items[name] for name in kept]


def _tests(file: str, count: int) -> list[Any]:
    return [SimpleNamespace(path=Path(file), get_closest_marker=bool, number=number) for number in range(count)]


@pytest.mark.parametrize("workers", [0, 1, 2, 3, 9])
def test_every_worker_begins_with_a_file_that_takes_long(workers: int) -> None:
    items = [*_tests("test_a.py", 6), *_tests("test_rainier.py", 1), *_tests("test_release.py", 2)]
    ordered: list[Any] = longest_first(items, workers)
    assert sorted(map(id, ordered)) == sorted(map(id, items))
    shares = {0: "aaaaaaRrr", 1: "rrRaaaaaa", 2: "rraaRaaaa", 3: "rraRaaaaa", 9: "rrRaaaaaa"}
    names = {"test_a.py": "a", "test_rainier.py": "R", "test_release.py": "r"}
    assert "".join(names[item.path.name] for item in ordered) == shares[workers]
