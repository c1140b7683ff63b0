"""Find and show the pages of the documentation: ``trninv docs``."""

from collections.abc import Sequence
from typing import Any

import click

from trninv.cli.documentation_pages import (
    DocumentationPage,
    SearchMatch,
    find_page,
    read_pages,
    search_pages,
    site_file,
)
from trninv.cli.help_command import print_page
from trninv.cli.messages import print_hint
from trninv.cli.output import format_option, print_table, print_value
from trninv.errors import NotFoundError
from trninv.settings import is_service

_MAX_OTHERS = 4
"""The most other pages that are named below a page."""


@click.command()
@click.argument("words", metavar="[PAGE|WORD]...", nargs=-1)
@click.option("--search", "is_search", is_flag=True, help="List pages even if the word is the name of a page.")
@click.option("--web", "is_web", is_flag=True, help="Open the page in a browser: that of --service, or the file.")
@format_option
@click.pass_context
def docs(context: click.Context, words: tuple[str, ...], style: str, *, is_search: bool, is_web: bool) -> None:
    """Find and show pages of the documentation: all of them, those with some words, or one.

    The pages are those of this release and need no database.

    \b
    trninv docs                    # all pages
    trninv docs webhook signature  # pages with both words
    trninv docs how-to/deploy      # a page; deploy is enough
    trninv docs deploy --web       # the same in a browser
    """
    pages, words = read_pages(), tuple(word for text in words for word in text.split())  # also of a quoted phrase
    page = find_page(pages, words[0]) if len(words) == 1 and not is_search else None
    if is_web:
        if words and page is None:
            raise NotFoundError(f"there is no page {' '.join(words)[:80]}; trninv docs lists them")
        _open_page(page, context.obj)
    elif page:
        print_page(page, style)
        if style == "table":
            _hint_at_others(pages, page)
    else:
        _print_list(pages, words, style)


def _hint_at_others(pages: Sequence[DocumentationPage], page: DocumentationPage) -> None:
    """Name the other pages that have the word which names a page."""
    word = page.name.rpartition("/")[2]
    others = [match.page.name for match in search_pages(pages, [word]) if match.page is not page]
    if others:
        print_hint(f"other pages: {', '.join(others[:_MAX_OTHERS])}; trninv docs {word} --search lists all")


def _print_list(pages: Sequence[DocumentationPage], words: Sequence[str], style: str) -> None:
    """Print a line a page: those with some words, best first, or all."""
    matches = search_pages(pages, words) if words else [SearchMatch(page, "", page.title, 0) for page in pages]
    if not matches:
        raise NotFoundError(f"no page has {' and '.join(words)[:80]}; trninv docs lists all pages")
    rows = [
        {"page": match.page.name} | ({"section": match.section} if words else {}) | {"what": match.excerpt}
        for match in matches
    ]
    print_value(style, rows, lambda: print_table(tuple(rows[0]), [row.values() for row in rows]))
    if style == "table":
        print_hint(f"trninv docs {matches[0].page.name if words else 'PAGE'} shows a page")


def _open_page(page: DocumentationPage | None, target: Any) -> None:
    """Open a page, or the index, in a browser, and print its address."""
    file = site_file(page)
    if is_service(str(target)):
        address = f"{str(target).rstrip('/')}/docs/{page.site_path if page else ''}"
    elif file.is_file():
        address = file.as_uri()
    else:
        raise NotFoundError("the documentation site is not built; run ./run docs, or name a --service")
    click.launch(address)
    click.echo(address)
