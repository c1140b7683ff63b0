"""Find the routing questions; each file of this package declares one question.

The command line, GraphQL and `Fleet` look questions up here, so a new file adds a question to all of them.
"""

import pkgutil
from collections.abc import Sequence
from functools import cache
from importlib import import_module

from trninv.routing.question import Question


@cache
def find(name: str) -> Question:
    """Return the question that the file of this name declares, such as ``path``."""
    return load_question(__name__, name)


@cache
def all_questions() -> tuple[Question, ...]:
    """Return all questions in the order of their file names."""
    return tuple(map(find, question_names()))


def question_names() -> list[str]:
    """Return the names of all routing questions, without importing their files."""
    return question_files(__path__)


def load_question(package: str, name: str) -> Question:
    """Import a file of a package and return the question that it declares."""
    values = vars(import_module(f"{package}.{name}")).values()
    (question,) = (value for value in values if isinstance(value, Question))
    return question


def question_files(path: Sequence[str]) -> list[str]:
    """Return the names of the modules in a package's directories, without those that start with an underscore."""
    return [module.name for module in pkgutil.iter_modules(path) if not module.name.startswith("_")]
