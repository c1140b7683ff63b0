"""Read and search the pages of the documentation, which are in a checkout and in the wheel."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trninv.settings import resource_directory, site_directory

_TOP_PAGES: Final = ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY", "THREAT_MODEL")
"""Pages beside the folder docs."""
_FENCE = re.compile(r"^```.*?^```\n", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r"^# (.*)$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_MARK = re.compile(r"\*\*|`|^- |^\| | \|$")
_HEADING_WEIGHT, _TITLE_WEIGHT, _MAX_BODY_SCORE, _SECTION_WEIGHT, _WORD_WEIGHT = 5, 50, 40, 80, 30
"""How often a word counts in a heading and in the title or name of a page, the maximum of a page's text, and what a
heading with all words of the search counts, if these are several and if it is one; in a reference, one counts half.
"""
_COMMON_WORDS: Final = frozenset(
    "a an and any are as at be by can could do does for from has have how i if in is it its me my of on or our should "  # noqa: SIM905
    "so that the their them then there they this to was we what when where which who why will with you your".split()
)
"""Words of questions, which nearly all pages have; a search for other words too ignores them."""
_EXCERPT_LEAD, _EXCERPT_LENGTH = 30, 160
"""Characters before the first match, and of the whole line."""


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
    """A page with all words of a search, an excerpt of its line that fits best, and the heading above that line."""

    page: DocumentationPage
    section: str
    excerpt: str
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
    """Return the page with a name: its path, or the last part of it unless others have the same; decisions count last.

    The name may be that of its file.
    """
    wanted_name = name.casefold().removeprefix("docs/").removesuffix(".md").strip("/")
    by_path = [page for page in pages if page.name.casefold() == wanted_name]
    by_last_part = [page for page in pages if page.name.casefold().rpartition("/")[2] == wanted_name]
    without_decisions = [page for page in by_last_part if not page.name.startswith("decisions/")]
    return next((group[0] for group in (by_path, without_decisions, by_last_part) if len(group) == 1), None)


def search_pages(pages: Sequence[DocumentationPage], words: Sequence[str]) -> list[SearchMatch]:
    """Return the pages that have words beginning with each of some words, best first; common words do not count."""
    words = [word.rstrip("?!.,") or word for word in words]
    telling = [word for word in words if word.casefold() not in _COMMON_WORDS] or words
    patterns = [re.compile(rf"(?<!\w){_expression(word)}", re.IGNORECASE) for word in telling]
    matches = [match for page in pages if (match := _match(page, patterns))]
    return sorted(matches, key=lambda match: (-match.score, match.page.name))


def _expression(word: str) -> str:
    """Return the regular expression of a word and of those that begin with it; "no" stands for "without" too."""
    return r"(?:no|without)\b" if word.casefold() in {"no", "without"} else re.escape(word)


def _match(page: DocumentationPage, patterns: Sequence[re.Pattern[str]]) -> SearchMatch | None:
    heading = f"{page.title} {page.name}"
    if not all(pattern.search(heading) or pattern.search(page.text) for pattern in patterns):
        return None
    section, sections, best_line, body_score = "", Counter[str](), page.title, 0  # sections: words by heading
    is_section = False  # whether a heading has all words
    matches = list[tuple[int, bool, str, str]]()
    for line in _prose_lines(page.text):
        is_heading = line.startswith("#")
        if is_heading:
            section = line.lstrip("# ")
        if count := sum(bool(pattern.search(line)) for pattern in patterns):
            matches.append((count, is_heading, section, line))
            sections[section] += sum(len(pattern.findall(line)) for pattern in patterns)
        body_score += count * (_HEADING_WEIGHT if is_heading else 1)
        is_section = is_section or (is_heading and count == len(patterns))
    if matches:  # of lines with equally many words, the first in the section that has them most often
        _, _, section, best_line = max(matches, key=lambda match: (*match[:2], sections[match[2]]))
    in_title = sum(bool(pattern.search(heading)) for pattern in patterns)
    score = min(body_score, _MAX_BODY_SCORE) + in_title * _TITLE_WEIGHT
    if is_section and len(patterns) > 1:
        score += _SECTION_WEIGHT
    elif is_section:
        score += _WORD_WEIGHT // 2 if page.name.startswith("reference/") else _WORD_WEIGHT
    is_background = page.name in _TOP_PAGES or page.name.startswith("decisions/")
    excerpt = _excerpt(best_line.lstrip("# "), patterns)
    return SearchMatch(page, section if matches else "", excerpt, score // 3 if is_background else score)


def _prose_lines(text: str) -> Iterator[str]:
    """Yield headings, items, rows and paragraphs of a page below its title, without code and marks."""
    for part in re.split(r"\n\n|\n(?=- |\| |#|\d+\. )", _FENCE.sub("", text)):
        line = " ".join(_MARK.sub("", _LINK.sub(r"\1", part)).split())
        if not line.startswith("# "):
            yield line


def _excerpt(line: str, patterns: Sequence[re.Pattern[str]]) -> str:
    """Return a line from a few words before the first match on, because a terminal cuts its end."""
    starts = [match.start() for pattern in patterns if (match := pattern.search(line))]
    start = line.rfind(" ", 0, max(0, min(starts, default=0) - _EXCERPT_LEAD)) + 1
    return f"{'… ' if start else ''}{line[start : start + _EXCERPT_LENGTH]}"


def site_file(page: DocumentationPage | None) -> Path:
    """Return the file of a page on the built site, or of its index."""
    return site_directory() / (page.site_path if page else "index.html")
