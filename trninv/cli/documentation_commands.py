"""Show the help of commands and the pages of the documentation: ``trninv help`` and ``trninv docs``."""

import sys
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
from trninv.cli.messages import print_hint
from trninv.cli.output import format_option, json_text, print_table, print_value
from trninv.errors import NotFoundError
from trninv.settings import is_service


@click.command("help")
@click.argument("command", metavar="[COMMAND|PAGE]...", nargs=-1)
@click.pass_context
def help_(context: click.Context, command: tuple[str, ...]) -> None:
    """Show what a command does, with examples, or a page of the documentation; without a name, all commands.

    \b
    trninv help path
    trninv help token create
    trninv help deploy
    """
    target = context.find_root()
    for index, name in enumerate(command):
        if not isinstance(target.command, click.Group):
            raise click.UsageError(f"{target.info_name} has no commands", target)
        try:
            _, part, _ = target.command.resolve_command(target, [name])
        except click.UsageError:
            if index == 0 and len(command) == 1 and (page := find_page(read_pages(), name)):
                _print_page(page)
                return
            raise
        assert part  # resolve_command raises for an unknown name
        target = click.Context(part, parent=target, info_name=name)
    click.echo(target.get_help())


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
    pages = read_pages()
    page = find_page(pages, words[0]) if len(words) == 1 and not is_search else None
    if is_web:
        if words and page is None:
            raise NotFoundError(f"there is no page {' '.join(words)[:80]}; trninv docs lists them")
        _open_page(page, context.obj)
    elif page:
        _print_page(page, style)
    else:
        _print_list(pages, words, style)


def _print_list(pages: Sequence[DocumentationPage], words: Sequence[str], style: str) -> None:
    """Print a line a page: those with some words, best first, or all."""
    matches = search_pages(pages, words) if words else [SearchMatch(page, page.title, 0) for page in pages]
    if not matches:
        raise NotFoundError(f"no page has {' and '.join(words)[:80]}; trninv docs lists all pages")
    rows = [{"page": match.page.name, "what": match.excerpt} for match in matches]
    print_value(style, rows, lambda: print_table(("page", "what"), [row.values() for row in rows]))
    if style == "table":
        print_hint(f"trninv docs {matches[0].page.name if words else 'PAGE'} shows a page")


def _print_page(page: DocumentationPage, style: str = "table") -> None:
    """Print a page: rendered on a terminal, in a pager if it is long, and as Markdown elsewhere."""
    if style == "json":
        click.echo(json_text({"page": page.name, "title": page.title, "text": page.text}))
        return
    if not sys.stdout.isatty():
        click.echo(page.text, nl=False)
        return
    from rich.console import Console  # noqa: PLC0415 # not needed if output is piped
    from rich.markdown import Markdown  # noqa: PLC0415 # as above

    console = Console()
    with console.capture() as captured:
        console.print(Markdown(page.text, hyperlinks=False))
    if captured.get().count("\n") < console.height:
        click.echo(captured.get(), nl=False)
    else:
        click.echo_via_pager(captured.get())


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
