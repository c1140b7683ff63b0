"""The command ``trninv``: its commands by name, and what becomes of errors."""

import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from trninv import __version__
from trninv.characters import SAYS, refused
from trninv.cli import questions
from trninv.errors import TrninvError, UsageError
from trninv.settings import Settings

_COMMANDS = {
    "up": "admin",
    "status": "admin",
    "migrate": "admin",
    "systems": "admin",
    "seed": "admin",
    "unseed": "admin",
    "verify": "admin",
    "copy": "transfer",
    "set": "state",
    "events": "state",
    "show": "show",
    "facts": "show",
    "audit": "show",
    "sweep": "sweep",
    "report": "report",
    "sql": "report",
    "export": "report",
    "draw": "draw",
    "query": "serve",
    "schema": "serve",
    "serve": "serve",
    "token": "access",
}
"""Command and the module of `trninv.cli` that has it; a question's is made from its declaration."""


class _ReaderLeftError(Exception):
    """The reader of our pipe has gone. Of a BrokenPipeError click itself would make exit status 1."""


@contextlib.contextmanager
def _while_read() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise _ReaderLeftError from None


class _Lazy(click.Group):
    def make_context(self, *given: Any, **more: Any) -> click.Context:
        with _while_read():  # --help and --version print here
            return super().make_context(*given, **more)

    def invoke(self, ctx: click.Context) -> Any:
        with _while_read():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 # click's signature
        return [*_COMMANDS, *(name for name in questions.commands() if name not in _COMMANDS)]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in _COMMANDS:
            asked = questions.commands().get(name)
            return questions.command_of(asked) if asked else None
        module = vars(importlib.import_module(f"trninv.cli.{_COMMANDS[name]}"))
        command = module.get(name.replace("-", "_")) or module.get(f"{name}_")  # set_ is not Python's set
        return command if isinstance(command, click.Command) else None


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--database", metavar="URL", help="sqlite:///FILE or postgresql://…  [default: TRNINV_DATABASE_URL]")
@click.option("--debug", is_flag=True, help="Show the trace of an error.")
@click.version_option(__version__)
@click.pass_context
def trninv(context: click.Context, database: str | None, debug: bool) -> None:  # noqa: ARG001 # main reads --debug
    """Ask what AWS Trainium hardware is and how it is wired.

    \b
    trninv migrate && trninv seed
    trninv path u-trn2x64/d0/s0/c0 u-trn2x64/d0/s2/c10
    """
    context.obj = Settings.load().database_url if database is None else database


def _say_no_more() -> None:
    """Let what is still to be printed go nowhere, rather than fail once more when Python ends."""
    with contextlib.suppress(OSError, ValueError):  # a stream in memory has no number
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command: exit status 0 fine, 1 a check failed or nothing found, 2 wrong use."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        if refused(words):
            raise UsageError(f"an argument {SAYS}")
        status = trninv.main(args=words, prog_name="trninv", standalone_mode=False)
    except click.exceptions.Exit as ended:
        status = ended.exit_code
    except click.Abort:
        click.echo("interrupted: nothing was left half done", err=True)
        status = 130
    except click.ClickException as error:
        error.show()
        status = 2
    except TrninvError as error:
        if "--debug" in words:
            raise
        click.echo(f"trninv: {error}", err=True)
        status = error.exit_status
    except _ReaderLeftError:
        _say_no_more()
        status = 0
    except OSError as error:
        if "--debug" in words:
            raise
        _say_no_more()
        click.echo(f"trninv: {error.filename or 'the output'}: {error.strerror or error}", err=True)
        status = 1
    gc.freeze()  # a last look at every module for what to collect would take a tenth of a short command's time
    sys.exit(status if isinstance(status, int) else 0)
