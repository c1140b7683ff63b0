"""Register the placement questions, one file each; the questions about wiring are in `trninv.routing.questions`.

The command line, GraphQL and `trninv.open` offer every question that is registered.
"""

from functools import cache

from trninv.routing.question import Question
from trninv.routing.questions import load_question, question_files

NAMES = tuple(question_files(__path__))
"""Names of the questions, which are those of their files."""


@cache
def find(name: str) -> Question:
    """Return the question that the file of this name declares."""
    return load_question(__name__, name)


@cache
def all_questions() -> tuple[Question, ...]:
    """Return all placement questions, by file name."""
    return tuple(map(find, NAMES))
