"""make-room: which jobs to move so that the next one fits; and, where it is told to, moving them."""

from typing import TYPE_CHECKING, Any

import click

from trninv.cli.output import show, tell, tell_state
from trninv.cli.progress import Progress
from trninv.cli.questions import jobs_in, made, values
from trninv.cli.state import you
from trninv.cli.supposing import asking
from trninv.errors import StalePlanError, UsageError
from trninv.jobs.fleet import Fleet
from trninv.jobs.questions import find
from trninv.units import counted

if TYPE_CHECKING:
    from trninv.jobs.questions.make_room import RoomAnswer

_MAKE_ROOM = find("make_room")


@click.pass_obj
def _run(
    database: str,
    /,
    down: tuple[str, ...],
    derate: tuple[str, ...],
    at: str | None,
    style: str,
    apply: bool,
    who: str | None,
    why: str,
    revision: str | None,
    **given: Any,
) -> None:
    jobs = jobs_in(given)
    if apply and (down or derate or at or any(jobs)):
        raise UsageError("--apply moves jobs of the fleet as it is: leave --down, --derate, --at and --with(out) out")
    with asking(database, down, derate, at, *jobs) as fleet:
        with fleet.in_one_state() as one:
            with Progress("make-room"):
                plan: RoomAnswer = one.ask(_MAKE_ROOM, **values(_MAKE_ROOM, given))
            tell_state(one.as_of())
        if revision not in (None, plan.revision):
            raise StalePlanError(f"the plan is of revision {revision:.40}, the fleet is at {plan.revision}: ask anew")
        moved = fleet.relocate(plan, who=who or you(), why=why) if apply and isinstance(fleet, Fleet) else []
    show(style, plan, lambda: tell(plan, more=[f"moved {counted(len(moved), 'job')}"] if apply else ()))
    if not plan.succeeded():
        raise click.exceptions.Exit(1)


make_room = made(
    _MAKE_ROOM,
    _run,
    click.Option(["--apply"], is_flag=True, help="Move them, all or none."),
    click.Option(["--who"], metavar="TEXT", show_default="you", help="Who moves them."),
    click.Option(["--why"], metavar="TEXT", default="", help="The reason, kept with the events."),
    click.Option(
        ["--revision"], metavar="REVISION", help="Only if the fleet is as it was for the plan of this revision."
    ),
)
