"""Promises of docs/reference/compatibility.md: what a release had, the next one has, or its changelog says so."""

import copy
import json
import re
from collections.abc import Callable

import pytest
from public_surface import RELEASES, Difference, Surface, current_surface, differences, unmentioned

from examples import ROOT

CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
SCHEMA = """
type Query {
  chip(id: ID!): Chip
}

type Chip {
  address: String!
  state: State!
}

enum State {
  UP
}
"""
SMALL: Surface = {
    "graphql": {"schema": SCHEMA},
    "sql": {"v_chip.address": "", "v_chip.state": ""},
    "cli": {"trninv path": "", "trninv path --by": "choice", "trninv path --by hops": ""},
    "json": {"PathAnswer.hops": "int"},
    "python": {"fleet.path": "", "fleet.path(a)": "required"},
}


def changed(change: Callable[[Surface], object]) -> list[Difference]:
    after = copy.deepcopy(SMALL)
    change(after)
    return list(differences(SMALL, after))


def edit(area: str, name: str, definition: str | None) -> Callable[[Surface], object]:
    """Set a definition, or remove it with None."""
    return lambda surface: surface[area].pop(name) if definition is None else surface[area].update({name: definition})


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (edit("graphql", "schema", SCHEMA.replace("  state: State!\n", "")), "Chip.state"),
        (edit("graphql", "schema", SCHEMA.replace("address: String!", "address: Int!")), "Chip.address"),
        (edit("graphql", "schema", SCHEMA.replace("(id: ID!)", "(id: ID!, at: String!)")), "Query.chip"),
        (edit("graphql", "schema", SCHEMA.replace("UP", "DOWN")), "State.UP"),
        (edit("graphql", "schema", SCHEMA.replace("type Chip", "type Core").replace(": Chip", ": Core")), "Chip"),
        (edit("sql", "v_chip.state", None), "v_chip.state"),
        (edit("cli", "trninv path --by", None), "trninv path --by"),
        (edit("cli", "trninv path --by hops", None), "trninv path --by hops"),
        (edit("json", "PathAnswer.hops", "str"), "PathAnswer.hops"),
        (edit("python", "fleet.path(b)", "required"), "fleet.path(b)"),
    ],
)
def test_a_break_must_be_named_in_an_entry_that_says_breaking(change: Callable[[Surface], object], name: str) -> None:
    difference, *_ = (difference for difference in changed(change) if difference.breaks)
    assert difference.name.startswith(name)
    for silent in ("", f"- `{difference.name}` is new.", f"- **Breaking:** `{difference.name}s` is gone."):
        assert list(unmentioned([difference], silent)) == [difference]
    assert not list(unmentioned([difference], f"### Removed\n\n- **Breaking:** `{difference.name}` is gone."))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (edit("graphql", "schema", SCHEMA.replace("  UP\n", "  UP\n  DOWN\n")), "DOWN"),
        (edit("graphql", "schema", SCHEMA.replace("  state: State!\n", "  state: State!\n  slot: Int\n")), "slot"),
        (edit("sql", "v_chip.slot", ""), "slot"),
        (edit("cli", "trninv path --down", "text"), "--down"),
        (edit("python", "fleet.path(by)", "optional"), "by"),
    ],
)
def test_what_is_new_must_be_named(change: Callable[[Surface], object], word: str) -> None:
    found = changed(change)
    assert [difference.breaks for difference in found] == [False]
    assert list(unmentioned(found, "- Nothing.")) == found
    assert not list(unmentioned(found, f"- Added `{word}`."))


def test_the_same_surface_has_no_difference() -> None:
    assert changed(lambda surface: surface) == []


@pytest.mark.slow
def test_the_changelog_names_what_differs_from_the_last_release() -> None:
    """Before the first release, no version is in the changelog."""
    unreleased, *released = re.split(r"^## \[", CHANGELOG, flags=re.MULTILINE)[1:]
    surface = current_surface()
    assert all(surface.values())
    assert not list(differences(surface, surface))
    if not released:
        assert not RELEASES.exists()
        return
    version = released[0].partition("]")[0]
    before = json.loads((RELEASES / f"{version}.json").read_text())
    assert list(unmentioned(differences(before, surface), unreleased)) == []
