"""Print every message that a user may read: errors, refusals, help and descriptions, with file and line.

python tests/every_message.py errors [ROOM…]
python tests/every_message.py texts [ROOM…]
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "trninv"
_TEXT_ARGUMENTS = ("description", "help", "short_help", "metavar")


def errors(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and text of each raised error, and of each error that a function returns or makes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func).endswith(("Error", "Failure")) and node.args:
            yield node.lineno, ast.unparse(node)


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and text of each help text and description."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg in _TEXT_ARGUMENTS and isinstance(keyword.value, ast.Constant | ast.JoinedStr):
                    yield node.lineno, f"{keyword.arg}: {ast.unparse(keyword.value)}"
            if _name(node.func) == "Argument" and node.args:
                yield node.lineno, ast.unparse(node.args[0])
        if isinstance(node, ast.Subscript) and _name(node.value) == "Annotated" and isinstance(node.slice, ast.Tuple):
            for element in node.slice.elts[1:]:
                if isinstance(element, ast.Constant | ast.JoinedStr):
                    yield node.lineno, ast.unparse(element)


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def main(kind: str, *rooms: str) -> None:
    """Print the messages of all rooms, or of some."""
    find = {"errors": errors, "texts": texts}[kind]
    for file in sorted(PACKAGE.rglob("*.py")):
        path = file.relative_to(PACKAGE.parent)
        if not rooms or path.parts[1].removesuffix(".py") in rooms:
            for line, text in sorted(find(ast.parse(file.read_text()))):
                print(f"{path}:{line}: {text}")  # noqa: T201 # a list for people


if __name__ == "__main__":
    main(*sys.argv[1:])
