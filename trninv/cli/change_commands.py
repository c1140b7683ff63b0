"""Build a command from the declaration of each change; `main` looks it up by the change's file.

`set` is built here too, because it also prints the states that do not change.
"""

import getpass
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import click

from trninv.cli.answer_output import print_blocks
from trninv.cli.database_connection import open_fleet, write_connection
from trninv.cli.messages import print_wrapped
from trninv.cli.output import format_option, print_value
from trninv.cli.parameter_options import build_options, help_text
from trninv.cli.progress_line import Progress
from trninv.errors import UsageError
from trninv.incidents.losses import job_name
from trninv.inventory.address.syntax import level_of
from trninv.inventory.change import Change
from trninv.inventory.changes.set_state import set_state
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import ConditionChange, overridden_by_server
from trninv.placement.allocations.job_allocations import Job, list_jobs
from trninv.placement.changes import find
from trninv.rendered_text import Rendered
from trninv.settings import is_service

R = TypeVar("R")


def change_command(file: str) -> click.Command:
    """Return the command that makes the change declared in a file."""
    change = find(file)

    @click.pass_obj
    def run(database: str, /, style: str, *, dry_run: bool, **values: Any) -> None:
        if is_service(database):
            result = request_change(database, change, values, dry_run=dry_run)
        else:
            with write_connection(database, commits=not dry_run) as (connection, progress):
                result = change(connection, **change_arguments(change, values, progress))
        print_result(style, result, change.render(result), dry_run=dry_run)

    return build_command(change, run)


def request_change(service: str, change: Change[..., R], values: Mapping[str, Any], *, dry_run: bool) -> R:
    """Have a service make a change with its command's values."""
    with open_fleet(service) as fleet, Progress(change.command):
        arguments = {**values, **author(service, change, values.get("who"))}
        if arguments.get("who") is None:
            arguments.pop("who", None)
        return fleet.make_change(change, dry_run=dry_run, **arguments)


def change_arguments(change: Change[..., Any], values: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Return the arguments of a change from its command's values; it reports to the progress line if it can."""
    extra: dict[str, Any] = {"progress": progress} if change.takes_progress else {}
    return change.coerce_values(**{**values, **extra, **author("", change, values.get("who"))})


def author(target: str, change: Change[..., Any], who: str | None) -> dict[str, str]:
    """Return the argument ``who`` of a change of a database or a service, if it takes one.

    It is the value of --who or else the user, who may have no name if the change needs none. To a service with a token,
    only --who is sent, since the service knows the token's name.
    """
    if not change.takes_author or (who is None and is_service(target) and _has_token()):
        return {}
    try:
        return {"who": current_user() if who is None else who}
    except UsageError:
        if change.needs_author:
            raise
        return {"who": ""}


def _has_token() -> bool:
    from trninv.importers.observation_sender import read_token  # noqa: PLC0415 # needed for services only

    return bool(read_token())


def print_result(style: str, result: Any, text: Rendered, *, dry_run: bool) -> None:
    """Print what a change did, or first that it was not made and then what it would do."""
    if dry_run:
        print_wrapped("dry run: nothing was changed", err=True)
    print_value(style, result, lambda: print_blocks(text))


def build_command(
    change: Change[..., Any], callback: Callable[..., None], *extra_parameters: click.Parameter
) -> click.Command:
    """Return a command with a change's parameters, extra ones, --who and --why if it records them, and --dry-run."""
    meanings = [
        f"{(parameter.argument.metavar or parameter.name.upper()).strip('[]')}: {parameter.description}"
        for parameter in change.parameters
        if parameter.is_required or parameter.argument.positional
    ]
    options = [option for parameter in change.parameters for option in build_options(parameter)]
    command = click.Command(
        change.command,
        params=[*options, *extra_parameters, *author_options(change), DRY_RUN],
        callback=callback,
        help=help_text("\n\n".join([change.description, *meanings]), change.examples),
    )
    return format_option(command)


DRY_RUN = click.Option(["--dry-run"], is_flag=True, help="Print what would change without changing anything.")


def author_options(change: Change[..., Any]) -> list[click.Option]:
    """Return --who and --why, as far as a change records them; `author` returns the value of --who."""
    who = click.Option(["--who"], show_default="you", help="Who makes the change.")
    if not change.takes_reason:
        return [who] if change.takes_author else []
    # click takes default=None for a value, so --why would not be required
    default: dict[str, Any] = {} if change.needs_reason else {"default": ""}
    help_line = "The reason, recorded with the change."
    return [click.Option(["--why"], required=change.needs_reason, help=help_line, **default), who]


def current_user() -> str:
    """Return the name of the user who runs the command.

    Raises
    ------
    UsageError
        The user has no name.

    """
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user may have no name
        raise UsageError("the current user has no name; add --who NAME") from None


@click.pass_obj
def _run_set(database: str, /, style: str, *, dry_run: bool, **values: Any) -> None:
    kept_states, hit_jobs = dict[str, Condition](), list[Job]()
    if is_service(database):
        changes = request_change(database, set_state, values, dry_run=dry_run)
        with open_fleet(database) as fleet:
            hit_jobs = jobs_on(changes, fleet.jobs)
    else:
        with write_connection(database, commits=not dry_run) as (connection, progress):
            changes = set_state(connection, **change_arguments(set_state, values, progress))
            kept_states = dict(overridden_by_server(connection, values["addresses"]))
            hit_jobs = jobs_on(changes, partial(list_jobs, connection, limit=MAX_JOBS))

    def lines() -> Iterator[str]:
        yield from (f"{change.address}: {change.before} → {change.after}" for change in changes)
        if not changes:
            condition = Condition.from_user(values["state"], values["factor"])
            yield f"{'it is' if len(values['addresses']) == 1 else 'all are'} already {condition}"
        yield from (f"{address} stays {kept} as long as its server is {kept}" for address, kept in kept_states.items())
        yield from render_hit_jobs(hit_jobs)

    rows = [{"address": entry.address, "before": str(entry.before), "after": str(entry.after)} for entry in changes]
    print_result(style, rows, lines(), dry_run=dry_run)


def jobs_on(changes: Sequence[ConditionChange], jobs_in: Callable[[str], Sequence[Job]]) -> list[Job]:
    """Return the first jobs with chips in servers and chips that went down or in maintenance."""
    lost = [
        change.address
        for change in changes[:_MAX_PLACES]
        if not change.after.carries and level_of(change.address) in ("server", "chip")
    ]
    return list({job.key: job for address in lost for job in jobs_in(address)}.values())[:MAX_JOBS]


def render_hit_jobs(jobs: Iterable[Job]) -> Iterator[str]:
    """Yield a line for each job that a change of states hits, with the command that says where it can go."""
    for name in map(job_name, jobs):
        yield f"this hits {name}; where it can go: {shlex.join(['trninv', 'replace', name])}"


_MAX_PLACES: Final = 50
"""The most places of a change whose jobs are read."""
MAX_JOBS: Final = 5
"""The most jobs that the output of a change names."""
set_ = build_command(set_state, _run_set)
