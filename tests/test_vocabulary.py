"""Names come from the field: one class a name, no filler words, no fragments of files (CONTRIBUTING)."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from examples import ROOT

PACKAGE = ROOT / "trninv"
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


def _files() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path, ast.parse(path.read_text())


def _functions() -> Iterator[tuple[Path, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for path, tree in _files():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield path, node


def _arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    arguments = function.args
    return {argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}


def test_a_class_name_has_one_definition() -> None:
    files = defaultdict(set)
    for path, tree in _files():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files[node.name].add(path.name)
    assert {name: paths for name, paths in files.items() if len(paths) > 1} == {}


def test_no_module_or_function_is_named_by_a_filler_word() -> None:
    assert [path for path, _ in _files() if path.stem.strip("_") in FILLERS] == []
    names = [(path.name, node.name) for path, node in _functions()]
    assert [name for name in names if name[1].strip("_") in FILLERS - ALLOWED_FUNCTIONS] == []


def test_no_filler_word_is_a_parameter_or_a_local_name() -> None:
    for path, node in _functions():
        stored = {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
        assert not (stored | _arguments(node)) & FILLERS, (path, node.name, (stored | _arguments(node)) & FILLERS)


def test_no_file_is_a_fragment() -> None:
    short = [path for path, _ in _files() if path.read_text().count("\n") < MIN_LINES]
    assert [
        path
        for path in short
        if path.stem not in REGISTERS and path.parent.name not in ("patterns", "formats", "changes", "sources")
    ] == []
