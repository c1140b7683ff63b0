"""The built site: links lead somewhere, nothing comes from another host, no page has a script; manual pages."""

import re
import runpy
import shutil
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from documentation import builder, built_site
from every_command import EVERY

from examples import ROOT
from trninv import __version__

_LOADED = {"script": "src", "img": "src", "link": "href", "source": "src", "iframe": "src"}
"""Elements that a browser loads something for, with the attribute that says what."""

_SMALL = ("first.md", "overview.md", "changelog.md", "contributing.md", "security.md", "threat-model.md")


class _Reader(HTMLParser):
    """Links, ids, loaded files and inline scripts of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids: set[str] = set()
        self.inline = 0
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids.add(values.get("id", ""))
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in _LOADED and _LOADED[tag] in values:
            self.loaded.append(values[_LOADED[tag]])
        self.inline += tag == "script" and "src" not in values and values.get("type") != "application/json"
        self.inline += any(name.startswith("on") for name in values)


@pytest.fixture(scope="module")
def pages() -> dict[Path, _Reader]:
    return {page: _Reader(page) for page in (built_site() / "html").rglob("*.html")}


def test_every_page_and_decision_is_on_the_site(pages: dict[Path, _Reader]) -> None:
    root = built_site() / "html"
    names = {str(page.relative_to(root).with_suffix("")) for page in pages}
    sources = {str(page.relative_to(ROOT / "docs").with_suffix("")) for page in (ROOT / "docs").rglob("*.md")}
    top = {"overview", "changelog", "contributing", "security", "threat-model"}
    assert names == sources - {"README"} | {"index", "decisions/index"} | top


def test_links_lead_to_a_page_and_an_id_of_it(pages: dict[Path, _Reader]) -> None:
    for page, reader in pages.items():
        for link in reader.links:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            assert target.is_file(), f"{page}: {link}"
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].ids, f"{page}: {link}"


def test_every_section_has_the_anchor_to_which_the_palette_leads(pages: dict[Path, _Reader]) -> None:
    """A heading is none in a block of code that did not end."""
    missing = list[str]()
    for file in (ROOT / "docs").rglob("*.md"):
        name = re.sub("README$", "index", str(file.relative_to(ROOT / "docs").with_suffix("")))
        if name.startswith("reference/"):  # the palette finds no headings there
            continue
        prose = re.sub(r"^```.*?^```$", "", file.read_text(), flags=re.MULTILINE | re.DOTALL)
        for heading in re.findall(r"^## (.+)$", prose, re.MULTILINE):
            anchor = re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower(), flags=re.ASCII).strip())
            if anchor not in pages[built_site() / "html" / f"{name}.html"].ids:
                missing.append(f"{name}#{anchor}")
    assert missing == []


def test_nothing_is_loaded_from_elsewhere_and_no_page_has_a_script(pages: dict[Path, _Reader]) -> None:
    for page, reader in pages.items():
        assert reader.inline == 0, page
        for file in reader.loaded:
            assert file.startswith("data:") or (page.parent / urlsplit(file).path).resolve().is_file(), (
                f"{page}: {file}"
            )
    for style in (built_site() / "html").rglob("*.css"):
        assert not re.search(r"(url\(|@import )[\"']?(https?:)?//", style.read_text()), style


def test_the_site_is_of_this_release_and_small() -> None:
    root = built_site() / "html"
    assert f"trninv {__version__}" in (root / "index.html").read_text()
    assert not [*root.rglob("*.map")]
    assert sum(file.stat().st_size for file in root.rglob("*") if file.is_file()) < 20_000_000


@pytest.fixture
def small_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """The builder, in a repository with two pages."""
    functions: dict[str, Any] = builder()["build"].__globals__
    monkeypatch.setitem(functions, "ROOT", tmp_path)
    (tmp_path / "docs/decisions").mkdir(parents=True)
    (tmp_path / "trninv").mkdir()
    (tmp_path / "trninv/__init__.py").write_text('__version__ = "9"')
    for name in ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY", "THREAT_MODEL"):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n")
    names = (
        "first.md",
        "../README.md",
        "../CHANGELOG.md",
        "../CONTRIBUTING.md",
        "../SECURITY.md",
        "../THREAT_MODEL.md",
    )
    (tmp_path / "docs/README.md").write_text("# Index\n\n## Learn\n\n" + "".join(f"- [A]({name})\n" for name in names))
    (tmp_path / "docs/first.md").write_text("# First\n")
    return functions


def test_the_index_must_list_every_page(small_build: dict[str, Any], tmp_path: Path) -> None:
    assert small_build["read_navigation"]()[1] == {"Learn": [{"A": name} for name in _SMALL]}
    (tmp_path / "docs/second.md").write_text("# Second\n")
    with pytest.raises(SystemExit, match=r"docs/README\.md does not list second\.md"):
        small_build["read_navigation"]()


def test_code_and_lists_stay_inside_their_numbered_items() -> None:
    text = "1. A\n\n       code\n\n   - b\n2. B\n\nText\n   x\n    code\n"
    expected = "1. A\n\n        code\n\n    - b\n2. B\n\nText\n   x\n    code\n"
    assert "".join(builder()["_indent_items"](text)) == expected
    page = (built_site() / "html/how-to/add-a-report.html").read_text()
    article = page.partition("<article")[2].partition("</article>")[0]
    assert article.count("<ol>") == 1
    assert "<pre" in article.partition("<ol>")[2].partition("</li>")[0]


@pytest.mark.slow
@pytest.mark.parametrize("link", ["nothing.md", "README.md#nothing"])
def test_a_broken_link_fails_the_build_and_keeps_the_former_site(
    small_build: dict[str, Any], tmp_path: Path, link: str
) -> None:
    (tmp_path / "docs/first.md").write_text(f"# First\n\n[broken]({link})\n")
    output = tmp_path / "site"
    output.mkdir()
    (output / "former").touch()
    with pytest.raises(subprocess.CalledProcessError):
        small_build["build"](output)
    assert [*output.iterdir()] == [output / "former"]
    assert not [*tmp_path.glob(".site-*")]


def _manual_pages() -> Iterator[Path]:
    yield from sorted((built_site() / "man").iterdir())


def test_every_command_has_a_manual_page() -> None:
    assert {page.name for page in _manual_pages()} == {
        "trninv.1",
        *(f"{'-'.join(['trninv', *words])}.1" for words in EVERY),
    }


def test_manual_pages_have_the_sections_and_examples_of_help() -> None:
    for page in _manual_pages():
        text = page.read_text()
        assert re.match(r'\.TH "TRNINV', text), page
        for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS"):
            assert f".SH {section}\n" in text, page
        assert "\b" not in text
    path = (built_site() / "man/trninv-path.1").read_text()
    assert ".nf\ntrninv path " in path
    assert __version__ in path


@pytest.mark.skipif(not shutil.which("groff"), reason="needs groff")
def test_manual_pages_are_formatted_without_a_warning() -> None:
    for page in (built_site() / "man/trninv.1", built_site() / "man/trninv-place.1"):
        done = subprocess.run(
            ["groff", "-k", "-man", "-Tutf8", "-wall", page], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert "trninv" in done.stdout


def test_a_wheel_is_refused_if_its_site_cannot_be_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hook_class = runpy.run_path(str(ROOT / "docs/site/hatch_build.py"))["SiteHook"]
    hook = hook_class(str(ROOT), {}, None, None, str(tmp_path), "wheel")
    build_data: dict[str, Any] = {"force_include": {}, "shared_data": {}}

    def ensure_built() -> Path:
        raise subprocess.CalledProcessError(1, "zensical")

    monkeypatch.setattr(runpy, "run_path", lambda _: {"ensure_built": ensure_built})
    hook.initialize("editable", build_data)
    with pytest.raises(RuntimeError, match=r"run \./run docs"):
        hook.initialize("standard", build_data)
    assert build_data == {"force_include": {}, "shared_data": {}}
