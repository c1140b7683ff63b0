"""Check that a checkout is the release that is built from it."""

import json
import subprocess
from collections.abc import Iterator

from public_surface import RELEASES, current_surface, differences

import trninv
from release.changelog import ROOT, Changelog
from release.records import fleet_file
from trninv.units import pluralize

_MAX_NAMED = 5
"""The most differences between two public surfaces that a message names."""


def has_tag(version: str) -> bool:
    """Return whether a version is tagged, so that its records may not change any more."""
    command = ["git", "tag", "--list", f"v{version}"]
    return bool(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip())


def problems(version: str) -> Iterator[str]:
    """Yield what is missing for a release, each with what to do."""
    changed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    if changed:
        number = pluralize(len(changed), "uncommitted change")
        yield f"the checkout has {number}, such as {changed[0][3:]}; git add -A && git commit, or stash"
    if trninv.__version__ != version:
        yield f"trninv.__version__ is {trninv.__version__}; run ./run release {version} --prepare"
    changelog = Changelog.read()
    if changelog.versions[:1] != [version]:
        yield f"the newest version in CHANGELOG.md is {next(iter(changelog.versions), 'none')}"
    elif changelog.unreleased.strip():
        yield "CHANGELOG.md has entries under Unreleased"
    elif not changelog.sections[version].strip():
        yield f"CHANGELOG.md has no entries for {version}"
    surface = RELEASES / f"{version}.json"
    if not surface.exists():
        yield f"there is no {surface.relative_to(ROOT)}; run ./run release {version} --prepare"
    elif (recorded := json.loads(surface.read_text())) != (current := current_surface()):
        found = [f"{item.area} {item.name} ({item.what})" for item in differences(recorded, current)]
        named = ", ".join(found[:_MAX_NAMED]) + (", …" if len(found) > _MAX_NAMED else "") or "its order or texts"
        yield (
            f"the public surface is not that of {surface.relative_to(ROOT)}: {named}; prepare the release again: "
            f"./run release {version} --prepare"
        )
    if not fleet_file(version).exists():
        yield f"there is no {fleet_file(version).relative_to(ROOT)}; run ./run release {version} --prepare"
