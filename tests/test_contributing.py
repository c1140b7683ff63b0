"""What contributors use beside ./run: hooks before a commit and templates of issues."""

import shlex

import pytest
import yaml

from examples import ROOT

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
