"""sweep: every failure of a kind, on processes of this machine or on a Dask cluster."""

from pathlib import Path
from typing import Any

import click

from trninv.cli.executors import SCHEDULER, executor_at
from trninv.cli.output import show, tell
from trninv.cli.progress import Progress
from trninv.cli.questions import made, values
from trninv.cli.supposing import asking
from trninv.routing.questions import find

_SWEEP = find("sweep")


@click.pass_obj
def _run(  # an option each
    database: str,
    /,
    down: tuple[str, ...],
    derate: tuple[str, ...],
    at: str | None,
    style: str,
    top: int,
    journal: Path | None,
    scheduler: str | None,
    **given: Any,  # as the question declares
) -> None:
    with (
        asking(database, down, derate, at) as fleet,
        executor_at(scheduler) as executor,
        Progress("sweep", waits=False) as progress,
    ):
        means = {"executor": executor, "journal": journal, "progress": progress}
        answer = fleet.ask(_SWEEP, **values(_SWEEP, given), **means)
    show(style, answer, lambda: tell(answer, rows_at_most=top))


sweep = made(
    _SWEEP,
    _run,
    click.Option(["--top"], type=click.IntRange(1), default=20, show_default=True, help="Rows that a table shows."),
    click.Option(["--journal"], type=click.Path(dir_okay=False, path_type=Path), help="Keep results; go on from them."),
    SCHEDULER,
)
