"""Links lead somewhere, files that pages name exist, and the reference pages list what there is."""

import re
import runpy
from pathlib import Path

import pytest
import reference_pages

import python_page
from examples import ROOT, pages, prose

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_NAMED = re.compile(r"`((?:trninv|tests|seed|migrations|bench|docs|web)/[^`\s]*|\w+\.(?:toml|md|graphql))`")


def _anchors(page: Path) -> set[str]:
    """Anchors that GitHub gives to the headings of a page."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in _HEADING.findall(text)}


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_a_file_and_a_heading_of_it(page: Path) -> None:
    for link in _LINK.findall(prose(page)):
        if not link.startswith("http"):
            file, _, anchor = link.partition("#")
            target = page.parent / file if file else page
            assert target.exists(), link
            assert not anchor or anchor in _anchors(target), link


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_names_exist(page: Path) -> None:
    fenceless = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for name in _NAMED.findall(fenceless):
        file, _, test = name.partition("::")
        assert any(ROOT.glob(file.replace("NAME", "*").rstrip("/"))) or (page.parent / file).exists(), name
        if test:
            assert f"def {test}(" in (ROOT / file).read_text(), name


def test_files_that_the_explorer_names_in_comments_exist() -> None:
    named = {
        name
        for file in (ROOT / "web/src").rglob("*.*")
        for comment in re.findall(r"//[^\n]*|/\*.*?\*/", file.read_text(), re.DOTALL)
        for name in re.findall(r"\b(?:trninv|web|tests|docs)/[\w/-]+\.\w+", comment)
    }
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_an_empty_line_is_before_each_table(page: Path) -> None:
    """Otherwise, the table is part of the paragraph before it."""
    fenceless = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    assert re.findall(r"^(?! *\|).*\S.*\n *\|.*\n *\|[ :|-]+\|$", fenceless, re.MULTILINE) == []


@pytest.mark.parametrize("page", reference_pages.PAGES, ids=lambda page: page.stem)
def test_what_follows_from_declarations_is_written_from_them(page: Path) -> None:
    assert page.read_text() == reference_pages.render(page), "run: ./run generate"


def test_the_page_of_python_is_written_from_the_docstrings() -> None:
    assert python_page.PAGE.read_text() == python_page.render(), "run: ./run generate"


def test_the_table_of_rooms_lists_the_folders_and_no_others() -> None:
    page = (ROOT / "docs/explanation/architecture.md").read_text()
    for parent in ("trninv", "trninv/inventory"):
        listed = re.findall(rf"^\| `{parent}/(\w+)/` \|", page, re.MULTILINE)
        folders = {path.parent.name for path in (ROOT / parent).glob("*/*.*") if path.parent.name != "__pycache__"}
        assert sorted(listed) == sorted(folders)


def test_the_picture_of_rooms_is_drawn_from_the_layers() -> None:
    drawn = runpy.run_path(str(ROOT / "docs/pictures/rooms.py"))
    assert drawn["render"]() == drawn["PICTURE"].read_text()
