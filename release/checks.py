"""Check that a checkout is the release that is built from it."""

import json
import subprocess
from collections.abc import Iterator

from public_surface import RELEASES, current_surface

import trninv
from release.changelog import ROOT, Changelog
from release.records import fleet_file


def problems(version: str) -> Iterator[str]:
    """Yield what is missing for a release, each with what to do."""
    changed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    if changed:
        yield f"the checkout has {len(changed)} changes that are not committed, such as {changed[0][3:]}"
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
    elif json.loads(surface.read_text()) != current_surface():
        yield f"the public surface is not that of {surface.relative_to(ROOT)}; prepare the release again"
    if not fleet_file(version).exists():
        yield f"there is no {fleet_file(version).relative_to(ROOT)}; run ./run release {version} --prepare"
