"""Write a manual page for each command, from its help: ``python docs/site/man_pages.py DIRECTORY``."""

import re
import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click
from click_man.core import get_short_help_str
from click_man.man import ManPage

import trninv
from trninv.cli.command_index import shorten
from trninv.cli.main import trninv as root_command

_SUMMARY_LENGTH = 70


def write_pages(target: Path) -> None:
    """Write the page of each command into a directory."""
    target.mkdir(parents=True, exist_ok=True)
    for context in _contexts(click.Context(root_command, info_name="trninv")):
        name = context.command_path.replace(" ", "-")
        (target / f"{name}.1").write_text(render_page(context))


def render_page(context: click.Context) -> str:
    """Return the page of a command."""
    command = context.command
    page = ManPage(context.command_path)
    page.version, page.date = trninv.__version__, ""
    page.short_help = _escape(shorten(command.help or "", _SUMMARY_LENGTH))
    page.synopsis = _escape(" ".join(command.collect_usage_pieces(context)))
    page.description = _description(command.help or "")
    page.options = [
        tuple(map(_escape, record))
        for parameter in command.get_params(context)
        if isinstance(parameter, click.Option) and (record := parameter.get_help_record(context))
    ]
    page.commands = [(part.info_name, _escape(get_short_help_str(part.command))) for part in _parts(context)]
    return str(page)


def _contexts(context: click.Context) -> Iterator[click.Context]:
    yield context
    for part in _parts(context):
        yield from _contexts(part)


def _parts(context: click.Context) -> Iterator[click.Context]:
    """Yield a context of each command of a group."""
    group = context.command
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            if command := group.get_command(context, name):
                yield click.Context(command, info_name=name, parent=context)


def _description(text: str) -> str:
    r"""Return a command's help, with paragraphs after ``\b`` not filled, as click prints them."""
    paragraphs = [paragraph.strip("\n") for paragraph in cleandoc(text).split("\n\n")]
    return "\n\n".join(
        f".nf\n{_escape(paragraph.removeprefix(chr(8)).strip())}\n.fi"
        if paragraph.startswith("\b")
        else _escape(paragraph)
        for paragraph in paragraphs
    )


def _escape(text: str) -> str:
    """Escape what troff would read as requests; ManPage escapes the hyphens of options."""
    return re.sub(r"^([.'])", r"\\&\1", text.replace("\\", r"\e"), flags=re.MULTILINE)


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
