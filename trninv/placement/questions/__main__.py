"""Print the reference page of all questions (docs/reference/questions.md)."""

from trninv.placement import questions as placement_questions
from trninv.routing import question
from trninv.routing import questions as routing_questions


def render_page() -> str:
    """Return the page as Markdown."""
    return question.render_page([*routing_questions.all_questions(), *placement_questions.all_questions()])


if __name__ == "__main__":
    print(render_page(), end="")  # noqa: T201 # the output is redirected to the page
