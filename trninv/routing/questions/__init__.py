"""The questions, one file each; a new file here is a new question everywhere."""

import pkgutil
from functools import cache
from importlib import import_module

from trninv.routing.question import Question


@cache
def find(name: str) -> Question:
    """The question in the file of that name."""
    declared = vars(import_module(f"{__name__}.{name}")).values()
    (found,) = (each for each in declared if isinstance(each, Question))
    return found


@cache
def every() -> tuple[Question, ...]:
    """All questions, by file name."""
    return tuple(find(module.name) for module in pkgutil.iter_modules(__path__))
