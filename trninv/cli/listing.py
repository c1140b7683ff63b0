"""Names of commands and what they do, read from their sources, so that to list them imports none of them."""

import ast
from collections.abc import Iterator
from pathlib import Path

_HERE = Path(__file__).parent
_QUESTIONS = tuple(_HERE.parent / room / "questions" for room in ("routing", "jobs"))


def commands_in(module: str) -> dict[str, str]:
    """What the commands of a module of `trninv.cli` do, by name."""
    return dict(_declared(_HERE / f"{module}.py"))


def questions(first: str = "") -> Iterator[tuple[str, Path, str]]:
    """Command and file of each question and what it asks, by file; one file may be read before the others."""
    found = (file for folder in _QUESTIONS for file in folder.glob("[!_]*.py"))
    for file in sorted(found, key=lambda file: (file.stem != first, file.name)):
        for name, says in _declared(file):
            yield name, file, says


def brief(says: str, most: int) -> str:
    """The first sentence in so many characters: whole, or up to a mark that ends a clause, or else as it is."""
    first = says.partition("\n\n")[0].partition(". ")[0].strip().rstrip(".")
    if len(first) <= most:
        return first
    for marks in (";", ":"), (",",):
        if (at := max(first.rfind(mark, 0, most + 1) for mark in marks)) > 0:
            return first[:at]
    return first


def _declared(file: Path) -> Iterator[tuple[str, str]]:
    for node in ast.parse(file.read_bytes()).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            match decorator:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="click"), attr="command" | "group"), args=named):
                    pass
                case ast.Call(func=ast.Name(id="question"), keywords=given):
                    named = [each.value for each in given if each.arg == "command"]
                case _:
                    continue
            written = [each.value for each in named if isinstance(each, ast.Constant)]
            yield str(*written) or node.name.replace("_", "-"), ast.get_docstring(node) or ""
