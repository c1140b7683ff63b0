"""Public names of every room say what they are."""

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import trninv

PACKAGE = Path(trninv.__file__).parent
ROOMS = sorted(of.name for of in PACKAGE.iterdir() if (of / "__init__.py").exists())
ENOUGH = 0.9

Defined = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def public(body: list[ast.stmt], owner: str = "") -> Iterator[tuple[str, Defined]]:
    """Public classes, functions and methods by their qualified names."""
    for node in body:
        if isinstance(node, Defined) and not node.name.startswith("_"):
            yield owner + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from public(node.body, f"{owner}{node.name}.")


def is_described(node: Defined) -> bool:
    """Whether a decorator describes it, as those of GraphQL fields do."""
    calls = [each for each in node.decorator_list if isinstance(each, ast.Call)]
    return any(argument.arg == "description" for call in calls for argument in call.keywords)


def inherits(module: str, name: str) -> bool:
    """Whether a method has the docstring of the one that it overrides."""
    found: object = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return "." in name and bool(inspect.getdoc(found))


@pytest.mark.parametrize("room", ROOMS)
def test_public_names_of_a_room_are_documented(room: str) -> None:
    names, bare = 0, []
    for file in sorted((PACKAGE / room).rglob("*.py")):
        module = ".".join(("trninv", *file.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        for name, node in public(ast.parse(file.read_text()).body):
            names += 1
            if not (ast.get_docstring(node) or is_described(node) or inherits(module, name)):
                bare.append(f"{module}.{name}")
    assert len(bare) <= (1 - ENOUGH) * names, f"{len(bare)} of {names} have no docstring: {bare}"
