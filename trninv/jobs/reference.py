"""Render the reference page of all questions."""

from trninv.jobs import questions as placement_questions
from trninv.routing import questions as routing_questions
from trninv.routing import reference


def render_page() -> str:
    """Render the page as Markdown."""
    return reference.render_page([*routing_questions.all_questions(), *placement_questions.all_questions()])


if __name__ == "__main__":
    print(render_page(), end="")  # noqa: T201 # a page for a file
