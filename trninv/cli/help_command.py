"""Show the help of commands, or a page of the documentation: ``trninv help``."""

import sys

import click

from trninv.cli.documentation_pages import DocumentationPage, find_page, read_pages


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
    for name in command:
        if not isinstance(target.command, click.Group):
            raise click.UsageError(f"{target.info_name} has no commands", target)
        try:
            _, part, _ = target.command.resolve_command(target, [name])
        except click.UsageError:
            if len(command) == 1 and (page := find_page(read_pages(), name)):
                print_page(page)
                return
            raise
        assert part  # resolve_command raises for an unknown name
        target = click.Context(part, parent=target, info_name=name)
    click.echo(target.get_help())


def print_page(page: DocumentationPage, style: str = "table") -> None:
    """Print a page: rendered on a terminal, in a pager if it is long, and as Markdown elsewhere."""
    if style == "json":
        from trninv.cli.output import json_text  # noqa: PLC0415 # help of a command does not need it

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
