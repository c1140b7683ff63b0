"""Print the reference page of all changes (docs/reference/changes.md)."""

from trninv.inventory import change
from trninv.placement.changes import all_changes


def render_page() -> str:
    """Return the page as Markdown."""
    return change.render_page(all_changes())


if __name__ == "__main__":
    print(render_page(), end="")  # noqa: T201 # the output is redirected to the page
