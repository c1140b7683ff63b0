"""Register the routing questions, one file each; a new file is a new question everywhere."""

import pkgutil
from collections.abc import Sequence
from functools import cache
from importlib import import_module

from trninv.routing.question import Question


@cache
def find(name: str) -> Question:
    """Return the question in the file of this name."""
    return load_question(__name__, name)


@cache
def all_questions() -> tuple[Question, ...]:
    """Return all questions in the order of their file names."""
    return tuple(map(find, question_files(__path__)))


def load_question(package: str, name: str) -> Question:
    """Return the question in a file of a package."""
    values = vars(import_module(f"{package}.{name}")).values()
    (question,) = (value for value in values if isinstance(value, Question))
    return question


def question_files(path: Sequence[str]) -> list[str]:
    """Return the names of a package's files, given its path, without `__main__`."""
    return [module.name for module in pkgutil.iter_modules(path) if not module.name.startswith("_")]
