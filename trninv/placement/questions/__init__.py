"""Register the placement questions, one file each."""

from functools import cache

from trninv.routing.question import Question
from trninv.routing.questions import load_question, question_files

NAMES = tuple(question_files(__path__))
"""Names of their files."""


@cache
def find(name: str) -> Question:
    """Return the question declared in the file of that name."""
    return load_question(__name__, name)


@cache
def all_questions() -> tuple[Question, ...]:
    """All questions, by file name."""
    return tuple(map(find, NAMES))
