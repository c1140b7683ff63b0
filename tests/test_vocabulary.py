"""Names come from the field: one class a name, no filler words, no fragments of files (CONTRIBUTING)."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

from examples import ROOT

PACKAGE = ROOT / "trninv"
CLASS = re.compile(r"^ *class (\w+)[(:\[]", re.MULTILINE)
FILLERS = {
    "found",
    "of",
    "of_",
    "each",
    "told",
    "said",
    "known",
    "given",
    "asked",
    "made",
    "wanted",
    "ours",
    "seen",
    "shown",
    "named",
    "left",
    "beside",
    "what",
    "ways",
    "at",
    "here",
    "there",
    "taken",
    "held",
    "becomes",
    "happened",
    "supposed",
}
ALLOWED_FUNCTIONS = {"at"}
"""`Fleet.at(time)` is a phrase with its object."""
REGISTERS = {
    *("__init__", "__main__", "atomic_file", "enumeration", "explorer", "rendered_text", "source_register"),
    *("routing_methods", "placement_methods", "change_methods", "async_methods"),
}
"""Files that may be shorter than MIN_LINES, beside wiring patterns, exporter formats, changes and sources."""
MIN_LINES = 40


def _files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@cache
def _functions() -> list[tuple[str, str, set[str]]]:
    """Each function's file, its name, and the names of its parameters and what it stores."""
    return [
        (path.name, node.name, _arguments(node) | _stored(node))
        for path in _files()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def _arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    arguments = function.args
    return {argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}


def _stored(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    names = (node for node in ast.walk(function) if isinstance(node, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def test_a_class_name_has_one_definition() -> None:
    files = defaultdict(set)
    for path in _files():
        for name in CLASS.findall(path.read_text()):
            if not name.startswith("_"):
                files[name].add(path.name)
    assert len(files) > 100
    assert {name: paths for name, paths in files.items() if len(paths) > 1} == {}


def test_no_module_or_function_is_named_by_a_filler_word() -> None:
    assert [path for path in _files() if path.stem.strip("_") in FILLERS] == []
    names = [(file, name) for file, name, _ in _functions()]
    assert [name for name in names if name[1].strip("_") in FILLERS - ALLOWED_FUNCTIONS] == []


def test_no_filler_word_is_a_parameter_or_a_local_name() -> None:
    for file, name, names in _functions():
        assert not names & FILLERS, (file, name, names & FILLERS)


def test_no_file_is_a_fragment() -> None:
    short = [path for path in _files() if path.read_text().count("\n") < MIN_LINES]
    assert [
        path
        for path in short
        if path.stem not in REGISTERS and path.parent.name not in ("patterns", "formats", "changes", "sources")
    ] == []
