"""Define the command ``trninv``: find its commands by name and turn errors into messages and exit statuses."""

import atexit
import contextlib
import gc
import os
import shlex
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from trninv import __version__
from trninv.characters import FORBIDDEN_MESSAGE, escape_controls, has_forbidden_characters
from trninv.cli import command_index
from trninv.cli.command_index import no_garbage_collection
from trninv.errors import SchemaOutdatedError, TrninvError, UnauthenticatedError, UsageError, explain_memory_error
from trninv.settings import Settings, is_service

_GROUPS = {
    "Look": {
        "incidents": "incident_commands",
        "watch": "incident_commands",
        "show": "show_commands",
        "list": "list_command",
        "events": "event_commands",
        "timeline": "chart_commands",
        "draw": "draw_command",
        "facts": "show_commands",
        "status": "status_command",
        "systems": "seed_commands",
    },
    "Ask": {
        "sweep": "sweep_command",
        "availability": "chart_commands",
        "collectives": "collectives_command",
        "expected": "expected_command",
        "check": "check_command",
    },
    "Live fleet": {
        "discover": "discover_command",
        "set": "change_commands",
        "import": "import_commands",
        "collect": "import_commands",
        "bindings": "listing",
        "drift": "drift_command",
    },
    "Jobs": {
        "jobs": "listing",
        "place": "place_command",
        "make-room": "plan_commands",
        "drain-impact": "plan_commands",
        "replace": "plan_commands",
        "capacity": "capacity_command",
        "ettr": "capacity_command",
        "cordons": "listing",
        "reservations": "listing",
    },
    "Report": {
        "report": "report_commands",
        "sql": "report_commands",
        "cypher": "report_commands",
        "query": "serve_commands",
        "schema": "serve_commands",
        "export": "report_commands",
        "topology": "topology_command",
        "audit": "show_commands",
    },
    "Run it": {
        "up": "seed_commands",
        "serve": "serve_commands",
        "mcp": "mcp_command",
        "token": "token_commands",
        "webhooks": "webhook_commands",
        "completion": "shell_completion",
        "docs": "docs_command",
        "help": "help_command",
    },
    "Administer": {
        "migrate": "database_commands",
        "seed": "seed_commands",
        "unseed": "seed_commands",
        "verify": "seed_commands",
        "grant": "grant_command",
        "copy": "database_commands",
        "archive": "archive_command",
    },
}
"""Commands by group of the help page, each with its module in `trninv.cli`."""
_GROUP_BY_PACKAGE = {"routing": "Ask", "inventory": "Live fleet", "reconcile": "Live fleet", "placement": "Jobs"}
"""The group of the help page for commands built from questions and changes, by the package that declares them."""
_SUMMARY_LENGTH = 60
"""Maximum length of a command's summary on the help page; a longer summary stays whole if it has no clause to cut."""
_TARGETS, _TARGETS_KEY = ("database", "service"), "trninv.targets"
"""Options that name what a command works on, and where click keeps their values."""
_MODULE_BY_COMMAND = {name: module for group in _GROUPS.values() for name, module in group.items()}


class _PipeClosedError(Exception):
    """The program that reads our output closed the pipe, as ``| head`` does.

    That is not a failure, but click turns BrokenPipeError into exit status 1.
    """


@contextlib.contextmanager
def _detect_closed_pipe() -> Iterator[None]:
    """Translate BrokenPipeError to _PipeClosedError before click sees it."""
    try:
        yield
    except BrokenPipeError:
        raise _PipeClosedError from None


class _LazyGroup(click.Group):
    """The command ``trninv``, which imports a subcommand's module only when the subcommand is used."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _detect_closed_pipe():  # --help and --version already print while the context is created
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _detect_closed_pipe():
            return super().invoke(ctx)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        with no_garbage_collection():
            return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 # click's signature
        return list(_build_command_list().commands)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        command = _load_command(name)
        if command is not None:
            _add_target_options(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        command_list = _build_command_list()
        for group, names in command_list.groups.items():
            with formatter.section(group):
                formatter.write_dl([(name, summary(command_list.descriptions[name])) for name in names])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        command_list = _build_command_list()
        return command_list.shell_complete(click.Context(command_list), incomplete) + click.Command.shell_complete(
            self, ctx, incomplete
        )


def _load_command(name: str) -> click.Command | None:
    """Import the module of a command, or build the command of a declared question or change."""
    if name in _MODULE_BY_COMMAND:
        module = vars(import_module(f"trninv.cli.{_MODULE_BY_COMMAND[name]}"))
        command = module.get(name.replace("-", "_")) or module.get(f"{name}_")  # set_ avoids hiding Python's set
        return command if isinstance(command, click.Command) else None
    # most commands have the name of their file, so the first file that is read is usually the right one
    declared = command_index.read_declared(first=name)
    file = next((file for command, file, _ in declared if command == name), None)
    if file is None:
        return None
    kind = file.parent.name.removesuffix("s")  # question or change
    build = vars(import_module(f"trninv.cli.{kind}_commands"))[f"{kind}_command"]
    built_command: click.Command = build(file.stem)
    return built_command


def _add_target_options(command: click.Command) -> None:
    """Let a command, and all commands of a group, take --database and --service, which help shows for trninv alone."""
    if any(isinstance(parameter, click.Option) and "--service" in parameter.opts for parameter in command.params):
        return
    command.params += [
        click.Option(
            [f"--{name}", f"target_{name}"],  # a name that no parameter of a command has
            help="As before the command.",
            hidden=True,
            expose_value=False,
            callback=_set_target,
        )
        for name in _TARGETS
    ]
    for part in command.commands.values() if isinstance(command, click.Group) else ():
        _add_target_options(part)


def _set_target(context: click.Context, parameter: click.Parameter, url: str | None) -> None:
    """Choose the database or service that an option after the command names."""
    if url is not None:
        name = str(parameter.name).removeprefix("target_")
        targets = context.meta[_TARGETS_KEY] | {name: url}
        context.meta[_TARGETS_KEY], context.obj = targets, _choose_target(**targets)


class _GroupedHelp(click.Group):
    """The names and summaries of all commands without their code, for help and completion."""

    def __init__(self, groups: Mapping[str, Sequence[str]], descriptions: Mapping[str, str]) -> None:
        self.groups, self.descriptions = groups, descriptions
        names = [name for group in groups.values() for name in group]
        super().__init__(commands=[click.Command(name, short_help=summary(descriptions[name])) for name in names])

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 # click's signature
        return list(self.commands)


def summary(description: str) -> str:
    """Shorten a description so that it fits next to the longest command name on 80 columns, if it can be cut."""
    return command_index.shorten(description, _SUMMARY_LENGTH)


def _build_command_list() -> _GroupedHelp:
    """Read all names and descriptions from the source files, without importing them."""
    descriptions, groups = dict[str, str](), {group: list(commands) for group, commands in _GROUPS.items()}
    for name, file, description in command_index.read_declared():
        descriptions[name] = description
        if name not in _MODULE_BY_COMMAND:
            groups[_GROUP_BY_PACKAGE[file.parent.parent.name]].append(name)
    for module in dict.fromkeys(_MODULE_BY_COMMAND.values()):
        descriptions |= command_index.read_commands(module)
    return _GroupedHelp(groups, descriptions)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.option(
    "--database",
    metavar="URL",
    help="The database: sqlite:///FILE or postgresql://…, before or after a command.  [default: TRNINV_DATABASE_URL]",
)
@click.option(
    "--service",
    metavar="URL",
    help="A service to ask instead, with its token in TRNINV_TOKEN or TRNINV_TOKEN_FILE.  [default: TRNINV_SERVICE]",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(__version__)
@click.pass_context
def trninv(
    context: click.Context,
    database: str | None,
    service: str | None,
    debug: bool,  # noqa: ARG001 # main reads it
) -> None:
    """Show what an AWS Trainium fleet is made of, how it is wired and what is unhealthy.

    \b
    trninv migrate && trninv seed         # first run: load documented systems
    trninv incidents                      # unhealthy parts by root cause
    trninv show u-trn2x64/d0/s0/c0
    trninv path u-trn2x64/d0/s0/c0 u-trn2x64/d0/s2/c10
    trninv help path                      # every command shows examples
    source <(trninv completion bash)      # the Tab key completes addresses
    """
    context.meta[_TARGETS_KEY] = {"database": database, "service": service}
    context.obj = _choose_target(database, service)
    if context.invoked_subcommand is None:
        from trninv.cli.status_command import print_overview  # noqa: PLC0415 # needed only here
        from trninv.database.engine import redacted_url  # noqa: PLC0415 # as above

        options = {"--database": database and redacted_url(database), "--service": service}
        print_overview(context.obj, [word for option, url in options.items() if url for word in (option, url)])


def _choose_target(database: str | None, service: str | None) -> str:
    """Return the URL of the database or service that commands use; an option counts before the environment."""
    if database is not None and service is not None:
        raise UsageError("--database and --service exclude each other; choose one")
    if database is None and service is None:
        service = os.environ.get("TRNINV_SERVICE", "").strip() or None
        if service and os.environ.get("TRNINV_DATABASE_URL", "").strip():
            raise UsageError(
                "TRNINV_SERVICE and TRNINV_DATABASE_URL are both set; unset one, or choose with --service or --database"
            )
    if service is not None:
        if not is_service(service):
            raise UsageError(f"--service {service[:80]}: write the service's URL, such as https://trninv.example")
        return service
    return Settings.load().database_url if database is None else database


def _silence_stdout() -> None:
    """Discard remaining output, because flushing it at exit would fail again."""
    with contextlib.suppress(OSError, ValueError):  # a stream in memory has no file descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_usage_error(error: click.ClickException) -> None:
    if isinstance(error, click.exceptions.NoArgsIsHelpError) or not isinstance(error, click.UsageError):
        error.show()
        return
    from trninv.cli.usage_errors import explain_usage_error  # noqa: PLC0415 # needed only for usage errors

    first, *more = explain_usage_error(error, lambda: _build_command_list().descriptions)
    _print_error(first)
    for line in more:  # not wrapped, so that they can be copied
        click.echo(escape_controls(line), err=True)


def _print_error(line: str) -> None:
    from trninv.cli.messages import print_wrapped  # noqa: PLC0415 # needed only for errors

    print_wrapped(escape_controls(line), err=True)


def _add_database_option(error: TrninvError, words: Sequence[str]) -> str:
    """Return an error's message, adding the user's --database to the `migrate` command that it suggests."""
    from trninv.database.engine import redacted_url  # noqa: PLC0415 # needed only for errors

    urls = [
        next_word if word == "--database" else word.partition("=")[2]
        for word, next_word in pairwise([*words, ""])
        if word.split("=")[0] == "--database"
    ]
    if not urls or not isinstance(error, SchemaOutdatedError):
        return str(error)
    return str(error).replace(
        "run trninv migrate", f"run trninv --database {shlex.quote(redacted_url(urls[-1]))} migrate"
    )


def _name_token_settings(error: TrninvError) -> str:
    """Return where a command takes the token from, if a service refuses a request without one."""
    if not isinstance(error, UnauthenticatedError) or any(map(os.environ.get, ("TRNINV_TOKEN", "TRNINV_TOKEN_FILE"))):
        return ""
    return "; set TRNINV_TOKEN or TRNINV_TOKEN_FILE"


def _system_reason(error: BaseException) -> str:
    """Return what an error of the system says, and of which file."""
    if isinstance(error, OSError):
        return f"{error.filename or 'the output'}: {error.strerror or error}"
    return str(error)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit: 0 is success, 1 a failed check, no result or other error, 2 a usage error, 130 Ctrl-C."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        if has_forbidden_characters(words):
            raise UsageError(f"an argument {FORBIDDEN_MESSAGE}")
        status = trninv.main(args=words, prog_name="trninv", standalone_mode=False)
    except click.exceptions.Exit as exit_request:
        status = exit_request.exit_code
    except click.Abort:
        from trninv.database.stored_changes import STORED  # noqa: PLC0415 # needed only here

        click.echo(f"interrupted: {STORED.describe()}", err=True)
        status = 130
    except click.ClickException as error:
        _print_usage_error(error)
        status = 2
    except TrninvError as error:
        if "--debug" in words:
            raise
        request = f" (request {error.request_id})" if error.request_id else ""
        _print_error(f"trninv: {_add_database_option(error, words)}{_name_token_settings(error)}{request}")
        status = error.exit_status
    except _PipeClosedError:
        _silence_stdout()
        status = 0
    except (OSError, MemoryError, ImportError, RuntimeError, SystemError) as error:
        explained = explain_memory_error(error)
        if "--debug" in words or not isinstance(explained, OSError | TrninvError):
            raise
        _silence_stdout()
        _print_error(f"trninv: {_system_reason(explained)}")
        status = 1
    gc.freeze()  # skip the last garbage collection, which takes a tenth of a short command's time
    sys.exit(status if isinstance(status, int) else 0)


def run() -> NoReturn:
    """Run the command of this process, and end the process without freeing its memory object by object.

    Freeing SQLAlchemy's objects takes a tenth of a short command's time.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # who started the process closed it
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    try:
        main()
    except SystemExit as request:
        if not isinstance(request.code, int) or threading.active_count() > 1:
            raise
        atexit._run_exitfuncs()  # noqa: SLF001 # the only way to run the handlers
        sys.stdout.flush()  # an error here ends the process in Python's usual way
        sys.stderr.flush()
        os._exit(request.code)
    raise AssertionError("main always exits")
