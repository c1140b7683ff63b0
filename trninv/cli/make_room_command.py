"""Plan moves of jobs that make room for a new one, and carry them out with --apply (`make-room`)."""

from typing import TYPE_CHECKING, Any

import click

from trninv.cli.answer_output import print_answer
from trninv.cli.change_commands import DRY_RUN, author, author_options
from trninv.cli.messages import print_wrapped
from trninv.cli.output import print_revision, print_value
from trninv.cli.progress_line import Progress
from trninv.cli.question_commands import build_command, pop_job_options, question_arguments
from trninv.cli.scenario_options import open_scenario
from trninv.errors import StalePlanError, UsageError
from trninv.placement.changes.move_jobs import move_jobs
from trninv.placement.questions import find
from trninv.units import pluralize

if TYPE_CHECKING:
    from trninv.placement.questions.make_room import MakeRoomAnswer

_MAKE_ROOM = find("make_room")


@click.pass_obj
def _run_make_room(
    database: str,
    /,
    down: tuple[str, ...],
    derate: tuple[str, ...],
    as_of: str | None,
    style: str,
    revision: str | None,
    who: str | None,
    why: str,
    *,
    apply: bool,
    dry_run: bool,
    **arguments: Any,
) -> None:
    jobs = pop_job_options(arguments)
    if apply and (down or derate or as_of or any(jobs)):
        raise UsageError("--apply moves jobs of the current fleet; omit --down, --derate, --at, --with and --without")
    extra_lines = list[str]()
    with open_scenario(database, down, derate, as_of, *jobs) as fleet:
        with fleet.snapshot() as snapshot:
            with Progress("make-room"):
                plan: MakeRoomAnswer = snapshot.ask(_MAKE_ROOM, **question_arguments(_MAKE_ROOM, arguments))
            print_revision(snapshot.as_of())
        if revision not in (None, plan.revision):
            raise StalePlanError(
                f"the plan is for revision {revision:.40}, the fleet is at {plan.revision}; make a new plan"
            )
        if apply:
            values = {"scope": plan.scope, "moves": plan.moves, "revision": plan.revision, "why": why}
            moved = fleet.make_change(move_jobs, **values, **author(database, move_jobs, who), dry_run=dry_run)
            extra_lines = [f"moved {pluralize(len(moved), 'job')}"]
    print_value(style, plan, lambda: print_answer(plan, extra_lines=extra_lines))
    if apply and dry_run:
        print_wrapped("dry run: nothing was changed", err=True)
    if not plan.is_satisfied():
        raise click.exceptions.Exit(1)


make_room = build_command(
    _MAKE_ROOM,
    _run_make_room,
    click.Option(["--apply"], is_flag=True, help="Move the jobs, all or none."),
    click.Option(["--revision"], metavar="REVISION", help="Plan only if the fleet is still at this revision."),
    *author_options(move_jobs),
    DRY_RUN,
)
