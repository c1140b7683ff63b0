"""Plan new servers for those that a job has lost, and give them to the job with --apply (`replace`)."""

from typing import TYPE_CHECKING, Any

import click

from trninv.cli.answer_output import print_answer
from trninv.cli.change_commands import DRY_RUN, author, author_options
from trninv.cli.messages import print_wrapped
from trninv.cli.output import print_revision, print_value
from trninv.cli.progress_line import Progress
from trninv.cli.question_commands import build_command, pop_job_options, question_arguments
from trninv.cli.scenario_options import open_scenario
from trninv.errors import UsageError
from trninv.placement.changes.replace_servers import replace_servers
from trninv.placement.questions import find
from trninv.units import pluralize

if TYPE_CHECKING:
    from trninv.placement.questions.replacement import ReplacementAnswer

_REPLACEMENT = find("replacement")


@click.pass_obj
def _run_replace(
    database: str,
    /,
    down: tuple[str, ...],
    derate: tuple[str, ...],
    as_of: str | None,
    style: str,
    who: str | None,
    why: str,
    *,
    apply: bool,
    dry_run: bool,
    **arguments: Any,
) -> None:
    jobs = pop_job_options(arguments)
    if apply and (down or derate or as_of or any(jobs)):
        raise UsageError("--apply changes the current fleet; omit --down, --derate, --at, --with and --without")
    extra_lines = list[str]()
    with open_scenario(database, down, derate, as_of, *jobs) as fleet:
        with fleet.snapshot() as snapshot:
            with Progress("replace"):
                plan: ReplacementAnswer = snapshot.ask(_REPLACEMENT, **question_arguments(_REPLACEMENT, arguments))
            print_revision(snapshot.as_of())
        if apply and plan.is_satisfied():
            values = {"name": plan.job, "lost": plan.lost, "revision": plan.revision, "why": why}
            author_values = author(database, replace_servers, who)
            job = fleet.make_change(replace_servers, **values, **author_values, dry_run=dry_run)
            extra_lines = [f"{job.name} has {pluralize(job.chips, 'chip')} in {pluralize(job.servers, 'server')}"]
    print_value(style, plan, lambda: print_answer(plan, extra_lines=extra_lines))
    if apply and dry_run:
        print_wrapped("dry run: nothing was changed", err=True)
    if not plan.is_satisfied():
        raise click.exceptions.Exit(1)


replace = build_command(
    _REPLACEMENT,
    _run_replace,
    click.Option(["--apply"], is_flag=True, help="Give the job the new chips."),
    *author_options(replace_servers),
    DRY_RUN,
)
