"""Build the documentation site and the manual pages into the folder site, which git ignores.

``./run docs`` runs it, and so does the build of a wheel if the folder is out of date. Zensical checks every link.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from os.path import normpath, relpath
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
OUTPUT = ROOT / "site"
"""Where the site (html), the manual pages (man) and the digest of what both are made from are written."""
_DOCS = Path("docs")
_INDEX = _DOCS / "README.md"
"""The index page, whose headings and lists are the navigation."""
_PROJECT_PAGES = {
    Path("README.md"): Path("overview.md"),
    Path("CHANGELOG.md"): Path("changelog.md"),
    Path("CONTRIBUTING.md"): Path("contributing.md"),
    Path("SECURITY.md"): Path("security.md"),
    Path("THREAT_MODEL.md"): Path("threat-model.md"),
}
"""Pages at the top of the repository, by their names on the site."""
_DECISIONS = _DOCS / "decisions"
_DECISION_INDEX = Path("decisions/README.md")
_FENCE = re.compile(r"^(```+).*?^\1\n", re.MULTILINE | re.DOTALL)
_FENCE_WORDS = re.compile(r"^(`+\w+) .*")
"""The first line of a block of code: the words after its language, which tests read, end the block for the site."""
_LINK = re.compile(r"(`[^`]*`)|(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)")
_ITEM = re.compile(r"\d+\. ")
_ITEM_INDENT = 3
"""Spaces before what belongs to a numbered item; Python-Markdown expects one more."""
_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_TITLE = re.compile(r"^# (.*)$", re.MULTILINE)


def build(output: Path = OUTPUT) -> None:
    """Build both into a folder, and replace the folder only if everything succeeded."""
    digest = _digest_sources()  # before anything is read, so that a change meanwhile is noticed
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=".site-") as scratch_name:
        scratch = Path(scratch_name)
        _stage(scratch / "pages")
        (scratch / "zensical.yml").write_text(json.dumps(_settings(), ensure_ascii=False))
        command: list[str | Path] = [
            sys.executable,
            "-P",
            "-m",
            "zensical",
            "build",
            "--strict",
            "--config-file",
            "zensical.yml",
        ]
        subprocess.run(command, cwd=scratch, check=True)
        site = scratch / "site"
        for page in site.rglob("*.html"):
            _move_scripts(site, page)
        for name in ("404.html", "sitemap.xml"):  # need the address of the service
            (site / name).unlink(missing_ok=True)
        built = scratch / "built"
        built.mkdir()
        site.rename(built / "html")
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        command = [sys.executable, "-P", Path(__file__).with_name("man_pages.py"), built / "man"]
        subprocess.run(command, check=True, env=environment)
        (built / "digest.txt").write_text(digest)
        if output.exists():
            output.rename(scratch / "former")
        built.rename(output)


def ensure_built() -> Path:
    """Build both unless they are up to date, and return their folder."""
    descriptor = os.open(Path(__file__).parent, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # tests and builds run beside each other
        digest = OUTPUT / "digest.txt"
        if not digest.is_file() or digest.read_text() != _digest_sources():
            build()
    finally:
        os.close(descriptor)
    return OUTPUT


def _digest_sources() -> str:
    """Return a digest of the files that the site and the manual pages are made from."""
    digest = hashlib.sha256()
    patterns = [
        *("docs/**/*", "trninv/__init__.py", "trninv/cli/*.py", "trninv/*/questions/*.py", "trninv/*/changes/*.py"),
        *map(str, _PROJECT_PAGES),
    ]
    for file in sorted({file for pattern in patterns for file in ROOT.glob(pattern)}):
        if file.is_file() and "__pycache__" not in file.parts:
            digest.update(f"{file.relative_to(ROOT)}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def _site_name(file: Path) -> Path | None:
    """Return the name on the site of a file of the repository, or None if the site does not have it."""
    if file in _PROJECT_PAGES:
        return _PROJECT_PAGES[file]
    if file == _DECISIONS:
        return _DECISION_INDEX
    if file.is_relative_to(_DOCS) and file.suffix in {".md", ".svg", ".png", ".json"}:
        return file.relative_to(_DOCS)
    return None


def _sources() -> Iterator[Path]:
    yield from _PROJECT_PAGES
    for file in sorted((ROOT / _DOCS).rglob("*.*")):
        yield file.relative_to(ROOT)


def _stage(target: Path) -> None:
    """Write the pages, as the site needs them, and the pictures and files to which they link."""
    used = set[Path]()
    (target / _DECISION_INDEX).parent.mkdir(parents=True)
    for source in _sources():
        name = _site_name(source)
        if name and name.suffix == ".md":
            page = target / name
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(_adapt(source, name, used))
    decisions = "\n".join(f"- [{title}]({name.name})" for title, name in _decisions())
    (target / _DECISION_INDEX).write_text(f"# Decisions\n\nWhy trninv is built as it is, a page each:\n\n{decisions}\n")
    for file in used:
        if file.suffix not in {"", ".md"}:
            copy = target / file.relative_to(_DOCS)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, copy)


def _adapt(source: Path, name: Path, used: set[Path]) -> str:
    """Return a page with links of the site, and with the lists and code that Python-Markdown expects."""

    def replace(match: re.Match[str]) -> str:
        code, mark, text, target = match.groups()
        if code or re.match(r"#|[a-z]+:", target):
            return match[0]
        path, hash_mark, anchor = target.partition("#")
        file = Path(normpath(source.parent / path))
        site_name = _site_name(file)
        if site_name is None:  # a file of the repository alone
            return text
        used.add(file)
        return f"{mark}[{text}]({relpath(site_name, name.parent)}{hash_mark}{anchor})"

    return "".join(
        _FENCE_WORDS.sub(r"\1", text, count=1) if is_code else _LINK.sub(replace, "".join(_indent_items(text)))
        for is_code, text in _split_fences((ROOT / source).read_text())
    )


def _split_fences(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the parts of a page and whether each is a block of code; one inside a list belongs to its list."""
    position = 0
    for fence in _FENCE.finditer(text):
        yield False, text[position : fence.start()]
        yield True, fence[0]
        position = fence.end()
    yield False, text[position:]


def _indent_items(text: str) -> Iterator[str]:
    """Yield lines with the indentation of numbered lists that Python-Markdown expects."""
    is_item = False
    for line in text.splitlines(keepends=True):
        is_inside = not line.strip() or line.startswith(" " * _ITEM_INDENT)
        is_item = bool(_ITEM.match(line)) or (is_item and is_inside)
        yield f" {line}" if is_item and line.startswith(" " * _ITEM_INDENT) else line


def _decisions() -> list[tuple[str, Path]]:
    """Return title and name of each decision's page."""
    return [
        (_title(file.read_text()), file.relative_to(ROOT / _DOCS)) for file in sorted((ROOT / _DECISIONS).glob("*.md"))
    ]


def _title(text: str) -> str:
    match = _TITLE.search(text)
    return match[1].replace("`", "") if match else ""


def _settings() -> dict[str, Any]:
    """Return the settings of zensical.toml with the release and the navigation."""
    version = re.search(r'__version__ = "(.*)"', (ROOT / "trninv/__init__.py").read_text())
    settings: dict[str, Any] = tomllib.loads(Path(__file__).with_name("zensical.toml").read_text())["project"]
    release = f"trninv {version[1]}" if version else "trninv"
    return settings | {"docs_dir": "pages", "site_dir": "site", "site_name": release, "nav": read_navigation()}


def read_navigation() -> list[Any]:
    """Return the navigation: the sections of the index page with the pages that their lists name, then decisions.

    Raises
    ------
    SystemExit
        The index omits pages.

    """
    navigation: list[Any] = [{"Start": "README.md"}]
    sections = {1: navigation}
    pages = set[str]()
    for line in (ROOT / _INDEX).read_text().splitlines():
        if heading := re.match(r"(##+) (.*)", line):
            level = len(heading[1])
            section: list[Any] = []
            sections[level - 1].append({heading[2]: section})
            sections[level] = section
        elif entry := re.match(r"- \[(.*?)\]\((.*?)\)", line):
            name = str(_site_name(Path(normpath(_DOCS / entry[2]))))
            sections[level].append({entry[1]: name})
            pages.add(name)
    decisions = [{title: str(name)} for title, name in _decisions()]
    navigation.append({"Decisions": [{"All decisions": str(_DECISION_INDEX)}, *decisions]})
    names = {str(_site_name(file)) for file in _sources() if file.suffix == ".md" and file != _INDEX}
    if missing := names - pages - {str(name) for _, name in _decisions()}:
        raise SystemExit(f"docs/README.md does not list {', '.join(sorted(missing))}")
    return navigation


def _move_scripts(site: Path, page: Path) -> None:
    """Move the scripts inside a page to files, because the service's pages may not have any."""

    def replace(match: re.Match[str]) -> str:
        script = site / f"assets/javascripts/inline.{hashlib.sha256(match[1].encode()).hexdigest()[:8]}.js"
        script.write_text(match[1])
        return f'<script src="{relpath(script, page.parent)}"></script>'

    page.write_text(_SCRIPT.sub(replace, page.read_text()))


if __name__ == "__main__":
    try:
        build()
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"the documentation is not built: {error}") from None
