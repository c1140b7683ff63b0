"""The glossary names what the code has: one term a row, and classes or tables that exist."""

import re
from pathlib import Path

from trninv.database.tables import TABLES

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explanation" / "glossary.md"
CLASS = re.compile(r"^ *class (\w+)[(:\[]", re.MULTILINE)
ROW = re.compile(r"^\| ([^|]+?) \| ([^|]+?) \| ([^|]+?) \|$", re.MULTILINE)


def _rows() -> list[tuple[str, str, str]]:
    return [row for row in ROW.findall(PAGE.read_text("utf-8")) if row[0] not in ("term", "---")]


def _classes() -> set[str]:
    return {name for file in (ROOT / "trninv").rglob("*.py") for name in CLASS.findall(file.read_text("utf-8"))}


def test_each_term_is_explained_once_in_a_sentence() -> None:
    terms = [term for term, _, _ in _rows()]
    assert len(terms) == len(set(terms))
    assert 60 <= len(terms) <= 90
    assert all(meaning.endswith(".") for _, meaning, _ in _rows())


def test_each_term_is_carried_by_a_class_or_a_table_that_exists() -> None:
    carriers = {name for _, _, names in _rows() for name in re.findall(r"`(\w+)`", names)}
    assert carriers - _classes() - TABLES.keys() == set()
    assert all("`" in names for _, _, names in _rows())
