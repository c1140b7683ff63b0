"""./run release: what it refuses, the changelog's sections, and the files that it builds."""

import json
import subprocess
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from former import unpack_release
from public_surface import RELEASES

from conftest import BACKENDS, Databases
from release import __main__ as command
from release import artifacts, changelog, checks, records
from release.changelog import Changelog
from release.checks import problems

TEXT = """# Changelog

Introduction.

## [Unreleased]

### Added

- A.

## [1.0.0] - 2026-01-02

- B.
"""


def test_a_changelog_has_its_sections_newest_first() -> None:
    parsed = Changelog.read(TEXT)
    assert parsed.versions == ["1.0.0"]
    assert parsed.unreleased == "\n### Added\n\n- A.\n\n"
    assert parsed.sections["1.0.0"] == "\n- B.\n"


def test_a_release_leaves_an_empty_section(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "CHANGELOG.md"
    monkeypatch.setattr(changelog, "_FILE", file)
    Changelog.read(TEXT).release("1.1.0", date(2026, 3, 4))
    assert file.read_text() == TEXT.replace("[Unreleased]\n", "[Unreleased]\n\n## [1.1.0] - 2026-03-04\n")
    assert Changelog.read().versions == ["1.1.0", "1.0.0"]
    assert not Changelog.read().unreleased.strip()


@pytest.mark.parametrize("version", ["1", "1.0", "01.0.0", "1.0.0rc1", "v1.0.0", "1.0.0\n", "../1.0.0"])
def test_a_version_is_three_numbers(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main([version])
    assert "write three numbers" in capsys.readouterr().err


def test_a_checkout_that_is_not_the_release_is_refused_with_all_reasons(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "build_artifacts", None)
    assert command.main(["99.0.0"]) == 1
    told = capsys.readouterr().err
    for reason in ("trninv.__version__ is ", "the newest version in CHANGELOG.md is ", "99.0.0.json", "99.0.0.db.gz"):
        assert reason in told


def test_a_changed_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Status:
        stdout = " M trninv/units.py\n?? new.py\n"

    monkeypatch.setattr(subprocess, "run", lambda *_args, **_options: Status)
    message = "the checkout has {}, such as trninv/units.py; git add -A && git commit, or stash"
    assert message.format("2 uncommitted changes") in problems("99.0.0")
    Status.stdout = " M trninv/units.py\n"
    assert message.format("1 uncommitted change") in problems("99.0.0")


def test_preparing_says_how_to_commit_new_files_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (source := tmp_path / "__init__.py").write_text('__version__ = "0"\n')
    monkeypatch.setattr(command, "_SOURCE", source)
    monkeypatch.setattr(command, "write_records", lambda _version: None)
    monkeypatch.setattr(Changelog, "release", lambda *_: None)
    monkeypatch.setattr(Changelog, "versions", [])
    monkeypatch.setattr(Changelog, "unreleased", "- A.")
    assert command.main(["1.0.0", "--prepare"]) == 0
    assert source.read_text() == '__version__ = "1.0.0"\n'
    assert 'git add -A && git commit -m "Release 1.0.0" && ./run release 1.0.0' in capsys.readouterr().out


def prepare_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, unreleased: str = "", tag: bool = False) -> int:
    (source := tmp_path / "__init__.py").write_text('__version__ = "0"\n')
    monkeypatch.setattr(command, "_SOURCE", source)
    monkeypatch.setattr(command, "write_records", lambda version: (tmp_path / version).touch())
    monkeypatch.setattr(command, "has_tag", lambda _version: tag)
    monkeypatch.setattr(Changelog, "release", None)  # the section stays
    monkeypatch.setattr(Changelog, "versions", ["1.0.0"])
    monkeypatch.setattr(Changelog, "unreleased", unreleased)
    return command.main(["1.0.0", "--prepare"])


def test_a_version_without_a_tag_is_recorded_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert prepare_again(monkeypatch, tmp_path) == 0
    assert (tmp_path / "1.0.0").exists()
    assert (tmp_path / "__init__.py").read_text() == '__version__ = "1.0.0"\n'


@pytest.mark.parametrize(("unreleased", "tag", "reason"), [("", True, "its tag v1.0.0"), ("- A.", False, "move")])
def test_a_version_with_a_tag_or_further_entries_is_not_recorded_again(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    unreleased: str,
    tag: bool,
    reason: str,
) -> None:
    assert prepare_again(monkeypatch, tmp_path, unreleased, tag) == 1
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "1.0.0").exists()


def test_what_differs_from_the_record_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    recorded = {"graphql": {"schema": "type Query { a: Int }"}, "cli": {"path": "", "show": ""}}
    now = {"graphql": {"schema": "type Query { a: Int b: Int }"}, "cli": {"show": "", "trace": ""}}
    (tmp_path / "9.0.0.json").write_text(json.dumps(recorded))
    monkeypatch.setattr(checks, "RELEASES", tmp_path)
    monkeypatch.setattr(checks, "ROOT", tmp_path)
    monkeypatch.setattr(checks, "current_surface", lambda: now)
    monkeypatch.setattr(checks, "fleet_file", lambda _version: tmp_path / "9.0.0.json")
    monkeypatch.setattr(subprocess, "run", lambda *_args, **_options: Status)
    (told,) = (problem for problem in problems("9.0.0") if "public surface" in problem)
    assert told == (
        "the public surface is not that of 9.0.0.json: graphql Query.b (added), cli path (removed), "
        "cli trace (added); prepare the release again: ./run release 9.0.0 --prepare"
    )
    monkeypatch.setattr(checks, "current_surface", lambda: recorded)
    assert not [problem for problem in problems("9.0.0") if "public surface" in problem]


class Status:
    """What git prints of a clean checkout."""

    stdout = ""


def within(part: Any, whole: Any) -> bool:
    """Whether a later answer has all keys and values of an earlier one."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            key in whole and within(value, whole[key]) for key, value in part.items()
        )
    if isinstance(part, list):
        same_length = isinstance(whole, list) and len(part) == len(whole)
        return same_length and all(within(*pair) for pair in zip(part, whole, strict=True))
    return bool(part == whole)


def test_within_is_not_blind() -> None:
    assert within({"a": [1, {"b": None}]}, {"a": [1, {"b": None, "c": 2}], "d": 3})
    others: list[Any] = [{"a": [2]}, {"a": [1, 2]}, {"a": []}, {}, {"a": 1}, None]
    assert not any(within({"a": [1]}, other) for other in others)


@pytest.mark.slow
@pytest.mark.parametrize("version", [*(file.name for file in RELEASES.glob("*.db.gz")), None])
def test_a_fleet_of_a_release_is_migrated_and_answers_as_before(
    version: str | None, tmp_path: Path, databases: Databases
) -> None:
    packed = tmp_path / "new.db.gz" if version is None else RELEASES / version
    if version is None:  # as the next release will store it
        records.write_fleet(packed)
    before = json.loads(records.answers_file(packed).read_text())
    assert set(before) == {" ".join(question) for question in records.QUESTIONS}
    for backend in BACKENDS:
        url = databases.empty(backend)
        unpack_release(packed, url)
        records.run_command(url, ["migrate"])
        assert records.run_command(url, ["verify"]).startswith("matches the catalog")
        assert within(before, records.ask(url))


def test_two_builds_that_differ_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def build(_source: Path, directory: Path) -> None:
        directory.mkdir()
        (directory / "a.whl").write_text(directory.name)

    monkeypatch.setattr(artifacts, "copy_commit", lambda directory: directory)
    monkeypatch.setattr(artifacts, "build_packages", build)
    with pytest.raises(artifacts.BuildError, match=r"two builds of a\.whl differ"):
        artifacts.build_artifacts("1.0.0", tmp_path / "dist")
    assert not [*(tmp_path / "dist").iterdir()]
    assert "building sdist and wheel, second of two times" in capsys.readouterr().err
