"""Plan moves of jobs, and carry them out with --apply (`make-room`, `drain-impact`, `replace`)."""

import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from trninv.cli.change_commands import DRY_RUN, author, author_options
from trninv.cli.messages import print_wrapped
from trninv.cli.question_commands import ask_and_print, build_command, pop_job_options
from trninv.cli.scenario_options import open_scenario
from trninv.errors import StalePlanError, UsageError
from trninv.inventory.change import Change
from trninv.placement.allocations.job_allocations import Job
from trninv.placement.changes.move_jobs import move_jobs
from trninv.placement.changes.replace_servers import replace_servers
from trninv.placement.questions import find
from trninv.placement.questions.make_room import first_obstacle
from trninv.units import pluralize

if TYPE_CHECKING:
    from trninv.placement.questions.drain_impact import DrainImpactAnswer
    from trninv.placement.questions.make_room import MakeRoomAnswer
    from trninv.placement.questions.replacement import ReplacementAnswer


def _build_plan_command(
    file: str,
    change: Change[..., Any],
    apply_help: str,
    change_values: Callable[[Any], Mapping[str, Any]],
    render_result: Callable[[Any], str],
    remaining_jobs: Callable[[Any], list[str]] = lambda _: [],
    next_step: Callable[[Any], list[str]] = lambda _: [],
) -> click.Command:
    """Return the command of a question that plans a change; with --apply, it also makes the change.

    Parameters
    ----------
    change_values
        Returns the arguments of the change from the plan.
    render_result
        Returns a line about the change's result.
    remaining_jobs
        Returns lines about jobs that the plan leaves although they must go; if there are any, --apply exits with 1.
    next_step
        Returns a line that says how to carry out the plan, if it can be carried out.

    """
    question = find(file)

    @click.pass_obj
    def run(
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
        is_assumed = bool(down or derate or as_of or any(jobs))
        if apply and is_assumed:
            raise UsageError("--apply changes the current fleet; omit --down, --derate, --at, --with and --without")
        remaining = list[str]()

        def make_change(plan: Any) -> list[str]:
            if revision not in (None, plan.revision):
                raise StalePlanError(
                    f"the plan is for revision {revision:.40}, the fleet is at {plan.revision}; make a new plan"
                )
            if not apply:
                return [] if is_assumed else next_step(plan)
            if not plan.is_satisfied():
                return []
            values = {**change_values(plan), "revision": plan.revision, "why": why}
            result = fleet.make_change(change, **values, **author(database, change, who), dry_run=dry_run)
            remaining.extend(remaining_jobs(plan))
            return [f"{'dry run: ' if dry_run else ''}{render_result(result)}", *remaining]

        with open_scenario(database, down, derate, as_of, *jobs) as fleet:
            ask_and_print(fleet, question, arguments, style, make_change)
        if apply and dry_run:
            print_wrapped("dry run: nothing was changed", err=True)
        if remaining:
            raise click.exceptions.Exit(1)

    return build_command(
        question,
        run,
        click.Option(["--apply"], is_flag=True, help=apply_help),
        click.Option(["--revision"], metavar="REVISION", help="Plan only if the fleet is still at this revision."),
        *author_options(change),
        DRY_RUN,
    )


def _moves(plan: "MakeRoomAnswer | DrainImpactAnswer") -> Mapping[str, Any]:
    # a drained place may be a link, which is no scope; moveJobs takes any place of the cluster
    return {"scope": plan.scope.partition("/")[0], "moves": plan.moves}


def _render_moved(jobs: list[Job]) -> str:
    return f"moved {pluralize(len(jobs), 'job')}"


def _replacement(plan: "ReplacementAnswer") -> Mapping[str, Any]:
    return {"name": plan.job, "lost": plan.lost}


def _render_replaced(job: Job) -> str:
    return f"{job.name} has {pluralize(job.chips, 'chip')} in {pluralize(job.servers, 'server')}"


def _remaining_jobs(plan: "DrainImpactAnswer") -> list[str]:
    unplaced = sum(not job.destination for job in plan.jobs)
    lines = [f"{pluralize(unplaced, 'job')} got no new place"] if unplaced else []
    return [*lines, f"{pluralize(plan.unplanned, 'more job')} must go: run it again"] if plan.unplanned else lines


def _how_to_move(plan: "DrainImpactAnswer") -> list[str]:
    if not plan.moves or first_obstacle(plan.moves):
        return []
    command = shlex.join(["trninv", "drain-impact", plan.scope, "--apply"])
    return [f"to move {'it' if len(plan.moves) == 1 else 'them'}: {command}"]


make_room = _build_plan_command("make_room", move_jobs, "Move the jobs, all or none.", _moves, _render_moved)
drain_impact = _build_plan_command(
    "drain_impact",
    move_jobs,
    "Move the jobs that have a place, all or none.",
    _moves,
    _render_moved,
    _remaining_jobs,
    _how_to_move,
)
replace = _build_plan_command(
    "replacement", replace_servers, "Give the job the new chips.", _replacement, _render_replaced
)
