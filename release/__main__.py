"""Prepare a release, or build its artifacts after checking that the checkout is that release.

``./run release 1.0.0 --prepare`` sets the version, closes the changelog's section and stores what later releases are
compared with. After the commit, ``./run release 1.0.0`` builds everything that is published, and pushes nothing.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from release.artifacts import BuildError, build_artifacts
from release.changelog import ROOT, Changelog
from release.checks import has_tag, problems
from release.records import write_records

_VERSION = re.compile(r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)")
_SOURCE = ROOT / "trninv" / "__init__.py"


def main(arguments: Sequence[str]) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(
        "./run release", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("version", metavar="X.Y.Z", help="the release, by Semantic Versioning")
    parser.add_argument("--prepare", action="store_true", help="change the checkout for the release; commit it then")
    parser.add_argument("--output", type=Path, help="directory for the artifacts (default: dist/X.Y.Z)")
    options = parser.parse_args(arguments)
    if not _VERSION.fullmatch(options.version):
        parser.error(f"{options.version}: write three numbers, such as 1.0.0")
    return _prepare(options.version) if options.prepare else _build(options.version, options.output)


def _prepare(version: str) -> int:
    changelog = Changelog.read()
    is_again = version in changelog.versions
    if is_again and has_tag(version):
        print(f"CHANGELOG.md already has {version}, and its tag v{version} exists", file=sys.stderr)
        return 1
    if is_again and changelog.unreleased.strip():
        print(f"CHANGELOG.md has {version} and entries under Unreleased; move these into its section", file=sys.stderr)
        return 1
    if not is_again and not changelog.unreleased.strip():
        print("CHANGELOG.md has no entries under Unreleased", file=sys.stderr)
        return 1
    write_records(version)
    if not is_again:
        changelog.release(version, datetime.now(UTC).date())
    _SOURCE.write_text(
        re.sub(r'^__version__ = ".*"$', f'__version__ = "{version}"', _SOURCE.read_text(), flags=re.MULTILINE)
    )
    print(f'read `git diff`, then: git add -A && git commit -m "Release {version}" && ./run release {version}')
    return 0


def _build(version: str, output: Path | None) -> int:
    if missing := list(problems(version)):
        print("\n".join(f"release {version}: {problem}" for problem in missing), file=sys.stderr)
        return 1
    try:
        files = build_artifacts(version, output or ROOT / "dist" / version)
    except BuildError as error:
        print(f"release {version}: {error}", file=sys.stderr)
        return 1
    for file in files:
        print(f"{file.stat().st_size:>12,}  {file}")
    print(f"to publish: git tag -s v{version} && git push origin v{version}, then upload the files above")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
