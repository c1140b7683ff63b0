"""The reference page of all questions: ``python -m trninv.jobs.reference > docs/reference/questions.md`` writes it."""

from trninv.jobs import questions as of_jobs
from trninv.routing import questions as of_routing
from trninv.routing import reference


def page() -> str:
    """The page as Markdown."""
    return reference.page([*of_routing.every(), *of_jobs.every()])


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201 # a page for a file
