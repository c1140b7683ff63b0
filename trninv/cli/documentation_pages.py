"""Read and search the pages of the documentation, which are in a checkout and in the wheel."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trninv.settings import resource_directory, site_directory

_TOP_PAGES: Final = ("README", "CHANGELOG", "CONTRIBUTING", "THREAT_MODEL")
"""Pages beside the folder docs."""
_FENCE = re.compile(r"^```.*?^```\n", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r"^# (.*)$", re.MULTILINE)
_HEADING_WEIGHT, _TITLE_WEIGHT = 5, 50
"""How often a word counts in a heading, and in the title or name of a page."""


@dataclass(frozen=True, slots=True)
class DocumentationPage:
    """A page of the documentation.

    Attributes
    ----------
    name
        Path of its file without the folder docs and the suffix, such as how-to/deploy.

    """

    name: str
    text: str

    @property
    def title(self) -> str:
        """Return the first heading."""
        match = _TITLE.search(self.text)
        return match[1].replace("`", "") if match else self.name

    @property
    def site_path(self) -> str:
        """Return the path of the page on the site."""
        if self.name in _TOP_PAGES:
            return {"README": "overview"}.get(self.name, self.name.lower().replace("_", "-")) + ".html"
        return f"{re.sub('docs$', 'index', self.name)}.html"


@dataclass(frozen=True, slots=True)
class SearchMatch:
    """A page with all words of a search, and its line that fits best."""

    page: DocumentationPage
    line: str
    score: int


def read_pages() -> list[DocumentationPage]:
    """Return all pages, sorted by name."""
    root = resource_directory()
    files = {str(file.relative_to(root / "docs").with_suffix("")): file for file in (root / "docs").rglob("*.md")}
    files["docs"] = files.pop("README")
    files |= {name: root / f"{name}.md" for name in _TOP_PAGES}
    return [
        DocumentationPage(name, file.read_text(encoding="utf-8"))
        for name, file in sorted(files.items())
        if file.is_file()
    ]


def find_page(pages: Sequence[DocumentationPage], name: str) -> DocumentationPage | None:
    """Return the page with a name: its path, or its last part if no other page has the same."""
    wanted_name = name.casefold().removeprefix("docs/").removesuffix(".md").strip("/")
    by_path = [page for page in pages if page.name.casefold() == wanted_name]
    by_last_part = [page for page in pages if page.name.casefold().rpartition("/")[2] == wanted_name]
    for candidates in (by_path, by_last_part):
        if len(candidates) == 1:
            return candidates[0]
    return None


def search_pages(pages: Sequence[DocumentationPage], words: Sequence[str]) -> list[SearchMatch]:
    """Return the pages that have words beginning with each of some words, best first."""
    patterns = [re.compile(rf"(?<!\w){re.escape(word)}", re.IGNORECASE) for word in words]
    matches = [match for page in pages if (match := _match(page, patterns))]
    return sorted(matches, key=lambda match: (-match.score, match.page.name))


def _match(page: DocumentationPage, patterns: Sequence[re.Pattern[str]]) -> SearchMatch | None:
    heading = f"{page.title} {page.name}"
    lines = [line for line in _prose_lines(page.text) if not line.startswith("# ")]
    best_line, best_count, score = "", 0, 0
    for line in lines:
        count = sum(bool(pattern.search(line)) for pattern in patterns)
        score += count * (_HEADING_WEIGHT if line.startswith("#") else 1)
        if count > best_count:
            best_line, best_count = line, count
    in_title = sum(bool(pattern.search(heading)) for pattern in patterns)
    if not all(pattern.search(heading) or pattern.search(page.text) for pattern in patterns):
        return None
    return SearchMatch(page, best_line.lstrip("# "), score + in_title * _TITLE_WEIGHT)


def _prose_lines(text: str) -> Iterator[str]:
    """Yield the headings and paragraphs of a page without its code and the marks of links."""
    for paragraph in _FENCE.sub("", text).split("\n\n"):
        for line in paragraph.split("\n- ") if not paragraph.startswith("#") else paragraph.split("\n"):
            yield re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(line.split()))


def site_file(page: DocumentationPage | None) -> Path:
    """Return the file of a page on the built site, or of its index."""
    return site_directory() / (page.site_path if page else "index.html")
