"""Shorten an answer to what fits into an agent's context, page by page."""

import json
from typing import Any, Final

MAX_CHARACTERS: Final = 8_000
"""Maximum length of an answer as JSON, about 2,000 tokens."""
_PAGE_SIZES: Final = (100, 50, 20, 10, 5, 2, 1)
_MAX_TEXT: Final = 2_000
"""Maximum length of one text in an answer."""


def abridge(answer: Any, page: int, max_characters: int = MAX_CHARACTERS) -> tuple[Any, dict[str, int]]:
    """Return a page of an answer, and the length of each list that is longer than a page, by its path.

    Every list is divided into pages of the same size: the largest for which each page of the answer fits. Of a long
    list within a long list, only the first page is shown.
    """
    for size in _PAGE_SIZES:
        cut: dict[str, int] = {}
        shortened = _cut(answer, size, page, "", cut)
        pages = -(-max(cut.values(), default=1) // size)
        if all(_fits(answer, size, number, max_characters) for number in range(1, pages + 1)):
            break
    return shortened, cut


def _fits(answer: Any, size: int, page: int, max_characters: int) -> bool:
    return len(json.dumps(_cut(answer, size, page, "", {}), ensure_ascii=False)) <= max_characters


def _cut(value: Any, size: int, page: int, path: str, cut: dict[str, int]) -> Any:
    """Return a value with each list cut to a page; record the cut lists' lengths in `cut`."""
    if isinstance(value, dict):
        return {key: _cut(item, size, page, f"{path}.{key}".lstrip("."), cut) for key, item in value.items()}
    if isinstance(value, list):
        if len(value) > size:
            cut[path] = max(cut.get(path, 0), len(value))
            return [_cut(item, size, 1, path, cut) for item in value[size * (page - 1) : size * page]]
        return [_cut(item, size, page, path, cut) for item in value]
    if isinstance(value, str) and len(value) > _MAX_TEXT:
        return f"{value[:_MAX_TEXT]}…"
    return value
