"""Promises of docs/reference/compatibility.md: what a release had, the next one has, or its changelog says so."""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import public_surface
import pytest
from every_command import EVERY
from graphql import GraphQLObjectType, build_schema, print_schema
from public_surface import RELEASES, Difference, Surface, current_surface, differences, unmentioned
from sqlalchemy import Engine, text

from examples import ROOT
from release.changelog import Changelog
from trninv.database import migration
from trninv.routing.answer import answer_fields

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


def _silent(changelog: str, releases: Path, surface: Surface) -> list[Difference] | None:
    """What differs from the last release unless the changelog says so; None if nothing was released."""
    parsed = Changelog.read(changelog)
    if not parsed.versions:
        return None
    before = json.loads((releases / f"{parsed.versions[0]}.json").read_text())
    return list(unmentioned(differences(before, surface), parsed.unreleased))


def test_the_last_release_is_compared_with_what_is_not_released(tmp_path: Path) -> None:
    (tmp_path / "1.1.0.json").write_text(json.dumps(SMALL))
    after = copy.deepcopy(SMALL)
    del after["sql"]["v_chip.state"]
    entry = "- **Breaking:** `v_chip.state` is gone.\n"
    unreleased, released = "## [Unreleased]\n\n", "## [1.1.0] - 2026-03-04\n\n"
    older = "## [1.0.0] - 2026-01-02\n\n"
    assert _silent(unreleased + released + older, tmp_path, SMALL) == []
    assert _silent(unreleased + entry + released + older, tmp_path, after) == []
    for changelog in (unreleased + released + entry + older, unreleased + released + older + entry):
        assert [difference.name for difference in _silent(changelog, tmp_path, after) or ()] == ["v_chip.state"]


@pytest.mark.slow
def test_the_changelog_names_what_differs_from_the_last_release() -> None:
    """Before the first release, no version is in the changelog."""
    surface = current_surface()
    assert all(surface.values())
    assert not list(differences(surface, surface))
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert RELEASES.exists() == bool(Changelog.read(changelog).versions)
    assert not _silent(changelog, RELEASES, surface)


def _remove_field(patched: pytest.MonkeyPatch, directory: Path) -> str:
    schema = build_schema((ROOT / "schema.graphql").read_text())
    chip = schema.type_map["Chip"]
    assert isinstance(chip, GraphQLObjectType)
    del chip.fields["state"]
    (directory / "schema.graphql").write_text(print_schema(schema))
    patched.setattr(public_surface, "ROOT", directory)
    return "Chip.state"


def _drop_column(patched: pytest.MonkeyPatch, _: Path) -> str:
    def migrate(engine: Engine) -> None:
        migration.migrate(engine)
        with engine.begin() as connection:
            kept = ", ".join(
                row.name for row in connection.execute(text("PRAGMA table_info(v_job)")) if row.name != "name"
            )
            connection.execute(text("CREATE TABLE former AS SELECT * FROM v_job"))
            connection.execute(text("DROP VIEW v_job"))
            connection.execute(text(f"CREATE VIEW v_job AS SELECT {kept} FROM former"))

    patched.setattr(public_surface, "migration", SimpleNamespace(migrate=migrate))
    return "v_job.name"


def _rename_option(patched: pytest.MonkeyPatch, _: Path) -> str:
    option = next(parameter for parameter in EVERY["free",].params if "--format" in parameter.opts)
    patched.setattr(option, "opts", ["--as"])
    return "trninv free --format"


def _rename_key(patched: pytest.MonkeyPatch, _: Path) -> str:
    def renamed(kind: type) -> list[Any]:
        names = {"paths": "routes"} if kind.__name__ == "PathAnswer" else {}
        return [replace(field, name=names.get(field.name, field.name)) for field in answer_fields(kind)]

    patched.setattr(public_surface, "answer_fields", renamed)
    return "PathAnswer.paths"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("area", "change"),
    [("graphql", _remove_field), ("sql", _drop_column), ("cli", _rename_option), ("answers", _rename_key)],
)
def test_a_change_of_the_product_is_a_break(
    area: str, change: Callable[[pytest.MonkeyPatch, Path], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = getattr(public_surface, f"_{area}")
    before = read()
    name = change(monkeypatch, tmp_path)
    broken = [difference.name for difference in differences({area: before}, {area: read()}) if difference.breaks]
    assert name in broken
    assert all(other.startswith(f"{name} ") for other in broken if other != name)  # an option's values
