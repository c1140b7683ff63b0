"""The command ``trninv``: its commands by name, and what becomes of errors."""

import contextlib
import gc
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from trninv import __version__
from trninv.characters import SAYS, plain, refused
from trninv.cli import listing
from trninv.cli.importing import importing
from trninv.errors import NotMigratedError, TrninvError, UsageError
from trninv.settings import Settings

_GROUPS = {
    "Look": {
        "incidents": "incidents",
        "watch": "watch",
        "show": "show",
        "events": "events",
        "timeline": "timeline",
        "draw": "draw",
        "facts": "show",
        "status": "status",
        "systems": "admin",
    },
    "Ask": {"sweep": "sweep", "availability": "availability"},
    "Live fleet": {
        "set": "state",
        "import": "imports",
        "collect": "imports",
        "adopt": "adopt",
        "bindings": "binding",
        "bind": "binding",
        "unbind": "binding",
        "drift": "drift",
    },
    "Jobs": {
        "jobs": "jobs",
        "hold": "jobs",
        "release": "jobs",
        "fits": "fits",
        "make-room": "make_room",
        "capacity": "capacity",
        "close": "jobs",
        "open": "jobs",
    },
    "Report": {
        "report": "report",
        "sql": "report",
        "query": "serve",
        "schema": "serve",
        "export": "report",
        "topology": "exporting",
        "audit": "show",
    },
    "Run it": {
        "up": "admin",
        "serve": "serve",
        "token": "access",
        "completion": "completion",
    },
    "Administer": {
        "migrate": "admin",
        "seed": "admin",
        "unseed": "admin",
        "verify": "admin",
        "copy": "transfer",
        "archive": "archive",
    },
}
"""What people want, and the commands for it with the module of `trninv.cli` that has each."""
_QUESTIONS = {"routing": "Ask", "jobs": "Jobs"}
"""The group of a question's command, which is made from its declaration, by the room that declares it."""
_BRIEF = 60
_COMMANDS = {name: module for group in _GROUPS.values() for name, module in group.items()}


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

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        with importing():
            return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 # click's signature
        return list(_listed().commands)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name in _COMMANDS:
            module = vars(import_module(f"trninv.cli.{_COMMANDS[name]}"))
            command = module.get(name.replace("-", "_")) or module.get(f"{name}_")  # set_ is not Python's set
            return command if isinstance(command, click.Command) else None
        files = (file for command, file, _ in listing.questions(first=name) if command == name)
        if (file := next(files, None)) is None:
            return None
        found: click.Command = import_module("trninv.cli.questions").command_of(file.stem)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        listed = _listed()
        for group, names in listed.groups.items():
            with formatter.section(group):
                formatter.write_dl([(name, brief(listed.says[name])) for name in names])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        listed = _listed()
        return listed.shell_complete(click.Context(listed), incomplete) + click.Command.shell_complete(
            self, ctx, incomplete
        )


class _Listed(click.Group):
    """The commands as help and completion show them: their names by group, in that order."""

    def __init__(self, groups: Mapping[str, Sequence[str]], says: Mapping[str, str]) -> None:
        self.groups, self.says = groups, says
        names = [name for group in groups.values() for name in group]
        super().__init__(commands=[click.Command(name, short_help=brief(says[name])) for name in names])

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 # click's signature
        return list(self.commands)


def brief(says: str) -> str:
    """What help and completion say of a command: it fits beside the longest name on 80 columns."""
    return listing.brief(says, _BRIEF)


def _listed() -> _Listed:
    says, groups = dict[str, str](), {group: list(commands) for group, commands in _GROUPS.items()}
    for name, file, what in listing.questions():
        says[name] = what
        if name not in _COMMANDS:
            groups[_QUESTIONS[file.parent.parent.name]].append(name)
    for module in dict.fromkeys(_COMMANDS.values()):
        says |= listing.commands_in(module)
    return _Listed(groups, says)


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--database", metavar="URL", help="sqlite:///FILE or postgresql://…  [default: TRNINV_DATABASE_URL]")
@click.option("--debug", is_flag=True, help="Show the trace of an error.")
@click.version_option(__version__)
@click.pass_context
def trninv(context: click.Context, database: str | None, debug: bool) -> None:  # noqa: ARG001 # main reads --debug
    """What an AWS Trainium fleet is made of, how it is wired, what is not up.

    \b
    trninv migrate && trninv seed         # first: the documented systems
    trninv incidents                      # what is not up, since when, why
    trninv show u-trn2x64/d0/s0/c0
    trninv path u-trn2x64/d0/s0/c0 u-trn2x64/d0/s2/c10
    trninv path --help                    # every command shows examples
    source <(trninv completion bash)      # the Tab key completes addresses
    """
    context.obj = Settings.load().database_url if database is None else database


def _say_no_more() -> None:
    """Let what is still to be printed go nowhere, rather than fail once more when Python ends."""
    with contextlib.suppress(OSError, ValueError):  # a stream in memory has no number
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse(error: click.ClickException) -> None:
    if isinstance(error, click.exceptions.NoArgsIsHelpError) or not isinstance(error, click.UsageError):
        error.show()
        return
    from trninv.cli.refusal import refusal  # noqa: PLC0415 # only what is wrongly written needs it

    first, *more = refusal(error, lambda: _listed().says)
    _tell(first)
    for line in more:  # to be copied, so not folded
        click.echo(plain(line), err=True)


def _tell(line: str) -> None:
    from trninv.cli.prose import say  # noqa: PLC0415 # only what fails needs it

    say(plain(line), err=True)


def _repeated(error: TrninvError, words: Sequence[str]) -> str:
    """An error; the command that it says to run is of the database that was named."""
    from trninv.inventory.database import display  # noqa: PLC0415 # only what fails needs it

    named = [
        after if word == "--database" else word.partition("=")[2]
        for word, after in zip(words, [*words[1:], ""], strict=True)
        if word.split("=")[0] == "--database"
    ]
    if not named or not isinstance(error, NotMigratedError):
        return str(error)
    return str(error).replace("run trninv migrate", f"run trninv --database {shlex.quote(display(named[-1]))} migrate")


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
        _refuse(error)
        status = 2
    except TrninvError as error:
        if "--debug" in words:
            raise
        _tell(f"trninv: {_repeated(error, words)}")
        status = error.exit_status
    except _ReaderLeftError:
        _say_no_more()
        status = 0
    except OSError as error:
        if "--debug" in words:
            raise
        _say_no_more()
        _tell(f"trninv: {error.filename or 'the output'}: {error.strerror or error}")
        status = 1
    gc.freeze()  # a last look at every module for what to collect would take a tenth of a short command's time
    sys.exit(status if isinstance(status, int) else 0)
