"""List commands and their summaries without importing them."""

import ast
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CLI_DIRECTORY = Path(__file__).parent
_QUESTION_DIRECTORIES = tuple(_CLI_DIRECTORY.parent / room / "questions" for room in ("routing", "placement"))


def read_commands(module: str) -> dict[str, str]:
    """Return the docstrings of the commands in a module of `trninv.cli`, by name."""
    return dict(_read_declarations(_CLI_DIRECTORY / f"{module}.py"))


def read_questions(first: str = "") -> Iterator[tuple[str, Path, str]]:
    """Yield command, file and description of each question, by file name; the file with stem `first` comes first."""
    files = (file for folder in _QUESTION_DIRECTORIES for file in folder.glob("[!_]*.py"))
    for file in sorted(files, key=lambda file: (file.stem != first, file.name)):
        for name, description in _read_declarations(file):
            yield name, file, description


def shorten(description: str, max_length: int) -> str:
    """Return the first sentence; if it is longer than `max_length`, cut it at a clause if it has one."""
    sentence = description.partition("\n\n")[0].partition(". ")[0].strip().rstrip(".")
    if len(sentence) <= max_length:
        return sentence
    for marks in (";", ":"), (",",):
        if (index := max(sentence.rfind(mark, 0, max_length + 1) for mark in marks)) > 0:
            return sentence[:index]
    return sentence


def _read_declarations(file: Path) -> Iterator[tuple[str, str]]:
    for node in ast.parse(file.read_bytes()).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            match decorator:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="click"), attr="command" | "group"), args=arguments):
                    pass
                case ast.Call(func=ast.Name(id="question"), keywords=keywords):
                    arguments = [argument.value for argument in keywords if argument.arg == "command"]
                case _:
                    continue
            names = [argument.value for argument in arguments if isinstance(argument, ast.Constant)]
            name = str(*names) or node.name.replace("_", "-")
            if " " not in name:  # `place --nearest` is an option of another question's command
                yield name, ast.get_docstring(node) or ""


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Turn garbage collection off during imports, where it finds nothing.

    Modules stay for good, and scanning them would take a sixth of a short command's time.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
