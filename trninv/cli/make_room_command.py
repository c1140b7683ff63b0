"""Plan moves that make room, and carry them out with --apply."""

from typing import TYPE_CHECKING, Any

import click

from trninv.cli.output import print_answer, print_revision, print_value
from trninv.cli.progress_line import Progress
from trninv.cli.question_commands import build_command, pop_job_options, question_arguments
from trninv.cli.scenario_options import open_scenario
from trninv.cli.set_command import current_user
from trninv.errors import StalePlanError, UsageError
from trninv.placement.placement_fleet import Fleet
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
    apply: bool,
    who: str | None,
    why: str,
    revision: str | None,
    **arguments: Any,
) -> None:
    jobs = pop_job_options(arguments)
    if apply and (down or derate or as_of or any(jobs)):
        raise UsageError("--apply moves jobs of the present fleet; omit --down, --derate, --at, --with and --without")
    with open_scenario(database, down, derate, as_of, *jobs) as fleet:
        with fleet.snapshot() as snapshot:
            with Progress("make-room"):
                plan: MakeRoomAnswer = snapshot.ask(_MAKE_ROOM, **question_arguments(_MAKE_ROOM, arguments))
            print_revision(snapshot.as_of())
        if revision not in (None, plan.revision):
            raise StalePlanError(
                f"the plan is of revision {revision:.40}, the fleet is at {plan.revision}; make a new plan"
            )
        moved_jobs = (
            fleet.move_jobs(plan, who=who or current_user(), why=why) if apply and isinstance(fleet, Fleet) else []
        )
    print_value(
        style,
        plan,
        lambda: print_answer(plan, extra_lines=[f"moved {pluralize(len(moved_jobs), 'job')}"] if apply else ()),
    )
    if not plan.is_satisfied():
        raise click.exceptions.Exit(1)


make_room = build_command(
    _MAKE_ROOM,
    _run_make_room,
    click.Option(["--apply"], is_flag=True, help="Move the jobs, all or none."),
    click.Option(["--who"], metavar="TEXT", show_default="you", help="Who moves them."),
    click.Option(["--why"], metavar="TEXT", default="", help="The reason, recorded with the events."),
    click.Option(["--revision"], metavar="REVISION", help="Plan only if the fleet is still at this revision."),
)
