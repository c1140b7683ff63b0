"""List commands and their descriptions by parsing source files, because importing them all would slow down help."""

import ast
import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CLI_DIRECTORY = Path(__file__).parent
_DECLARATION_DIRECTORIES = tuple(
    _CLI_DIRECTORY.parent / directory
    for directory in (
        *("routing/questions", "placement/questions"),
        *("inventory/changes", "reconcile/changes", "placement/changes"),
    )
)


def read_commands(module: str) -> dict[str, str]:
    """Return the docstrings of the commands in a module of `trninv.cli`, by the command's name."""
    return dict(_read_declarations(_CLI_DIRECTORY / f"{module}.py"))


def read_declared(first: str = "") -> Iterator[tuple[str, Path, str]]:
    """Yield command, file and description of questions and changes, those of the file `first` before all others."""
    files = (file for folder in _DECLARATION_DIRECTORIES for file in folder.glob("[!_]*.py"))
    for file in sorted(files, key=lambda file: (file.stem != first, file.name)):
        for name, description in _read_declarations(file):
            yield name, file, description


def shorten(description: str, max_length: int) -> str:
    """Return the first sentence; if it is longer than `max_length`, cut it before a clause, if that is possible."""
    sentence = description.partition("\n\n")[0].partition(". ")[0].strip().rstrip(".")
    if len(sentence) <= max_length:
        return sentence
    for marks in (";", ":"), (",",):
        if (index := max(sentence.rfind(mark, 0, max_length + 1) for mark in marks)) > 0:
            return sentence[:index]
    return sentence


_DECLARATION = re.compile(
    r'^@(?:click\.(?:command|group)|question|change)\(.*?^def .*?^    """.*?"""$', re.MULTILINE | re.DOTALL
)
"""The source of such a function, from its decorator to the end of its docstring."""


def _read_declarations(file: Path) -> Iterator[tuple[str, str]]:
    """Yield name and docstring of each function that is a click command, or a question or change with a command."""
    # parsing whole files would take two thirds of the time of `trninv --help`
    for node in ast.parse("\n".join(_DECLARATION.findall(file.read_text("utf-8")))).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            match decorator:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="click"), attr="command" | "group"), args=arguments):
                    pass
                case ast.Call(func=ast.Name(id="question" | "change"), keywords=keywords):
                    arguments = [argument.value for argument in keywords if argument.arg == "command"]
                case _:
                    continue
            names = [argument.value for argument in arguments if isinstance(argument, ast.Constant)]
            name = str(names[0]) if names else node.name.replace("_", "-")
            if name and " " not in name:  # `place --nearest` is an option of another question's command
                yield name, ast.get_docstring(node) or ""


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Turn garbage collection off during imports, whose modules are never freed.

    Scanning them would take a sixth of a short command's time.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
