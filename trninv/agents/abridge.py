"""Shorten an answer to what fits into an agent's context, page by page."""

import json
from dataclasses import dataclass, replace
from typing import Any, Final

from trninv.errors import UsageError

MAX_CHARACTERS: Final = 8_000
"""Maximum length of an answer as JSON, about 2,000 tokens."""
_PAGES: Final = ((100, 2_000), (50, 2_000), (20, 2_000), (10, 2_000), (5, 2_000), (2, 2_000), (1, 2_000), (1, 200))
"""Items of a list on a page and the maximum length of a text, in the order in which they are tried."""


def abridge(answer: Any, page: int, max_characters: int = MAX_CHARACTERS) -> tuple[Any, dict[str, int]]:
    """Return a page of an answer, and the length of each list that is longer than a page, by its path.

    Every list is divided into pages of the same size: the largest for which each page of the answer fits. Of a long
    list within a long list, only the first page is shown.

    Raises
    ------
    UsageError
        One item of each list, with short texts, is still too long.

    """
    for size, max_text in _PAGES:
        cut: dict[str, int] = {}
        shortened = _Cut(size, page, max_text, cut).apply(answer)
        pages = range(1, -(-max(cut.values(), default=1) // size) + 1)
        whole = (_Cut(size, number, max_text, {}).apply(answer) for number in pages)
        if all(len(json.dumps(content, ensure_ascii=False)) <= max_characters for content in whole):
            return shortened, cut
    raise UsageError(f"the answer is longer than {max_characters:,} characters even item by item; ask for fewer fields")


@dataclass(frozen=True, slots=True)
class _Cut:
    """Cuts lists to a page and texts to a length; records the lengths of the cut lists by their path."""

    size: int
    page: int
    max_text: int
    lengths: dict[str, int]

    def apply(self, value: Any, path: str = "") -> Any:
        if isinstance(value, dict):
            return {key: self.apply(item, f"{path}.{key}".lstrip(".")) for key, item in value.items()}
        if isinstance(value, list):
            if len(value) <= self.size:
                return [self.apply(item, path) for item in value]
            self.lengths[path] = max(self.lengths.get(path, 0), len(value))
            items = value[self.size * (self.page - 1) : self.size * self.page]
            return [replace(self, page=1).apply(item, path) for item in items]
        if isinstance(value, str) and len(value) > self.max_text:
            return f"{value[: self.max_text]}…"
        return value
