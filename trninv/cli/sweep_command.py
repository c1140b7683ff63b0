"""Test every failure of a kind, in processes of this machine or on a Dask cluster (`sweep`)."""

from pathlib import Path
from typing import Any

import click

from trninv.cli.answer_output import print_answer
from trninv.cli.output import print_value
from trninv.cli.progress_line import Progress
from trninv.cli.question_commands import SCHEDULER_OPTION, build_command, dask_executor, question_arguments
from trninv.cli.scenario_options import open_scenario
from trninv.routing.questions import find

_SWEEP = find("sweep")


@click.pass_obj
def _run_sweep(  # one parameter per option
    database: str,
    /,
    down: tuple[str, ...],
    derate: tuple[str, ...],
    as_of: str | None,
    style: str,
    top: int,
    journal: Path | None,
    scheduler: str | None,
    **arguments: Any,  # the question's parameters
) -> None:
    with (
        open_scenario(database, down, derate, as_of) as fleet,
        dask_executor(scheduler) as executor,
        Progress("sweep", threaded=False) as progress,  # forking worker processes is unsafe with threads
    ):
        resources = {"executor": executor, "journal": journal, "progress": progress}
        answer = fleet.ask(_SWEEP, **question_arguments(_SWEEP, arguments), **resources)
    print_value(style, answer, lambda: print_answer(answer, max_rows=top))


sweep = build_command(
    _SWEEP,
    _run_sweep,
    click.Option(
        ["--top"], type=click.IntRange(1), default=20, show_default=True, help="Maximum number of rows per table."
    ),
    click.Option(
        ["--journal"],
        type=click.Path(dir_okay=False, path_type=Path),
        help="Store results in this file and resume from it.",
    ),
    SCHEDULER_OPTION,
)
