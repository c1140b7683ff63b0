"""sweep: every failure of a kind, on processes of this machine or on a Dask cluster."""

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from trninv.cli.output import Progress, show, tell
from trninv.cli.questions import made, values
from trninv.cli.supposing import asking
from trninv.errors import UsageError, WorkerError
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
        _executor(scheduler) as executor,
        Progress(given["of"]) as progress,
    ):
        means = {"executor": executor, "journal": journal, "progress": progress}
        answer = fleet.ask(_SWEEP, **values(_SWEEP, given), **means)
    show(style, answer, lambda: tell(answer, rows_at_most=top))


sweep = made(
    _SWEEP,
    _run,
    click.Option(["--top"], type=click.IntRange(1), default=20, show_default=True, help="Rows that a table shows."),
    click.Option(["--journal"], type=click.Path(dir_okay=False, path_type=Path), help="Keep results; go on from them."),
    click.Option(
        ["--scheduler"], metavar="TCP://…", help="A Dask cluster that does the work (pip install trninv[dask])."
    ),
)


@contextmanager
def _executor(scheduler: str | None) -> Iterator[Executor | None]:
    """A Dask cluster's executor, or None for local processes."""
    if scheduler is None:
        yield None
        return
    try:
        from distributed import Client  # noqa: PLC0415 # an extra
    except ImportError:
        raise UsageError("--scheduler needs Dask: pip install 'trninv[dask]'") from None
    try:
        client = Client(scheduler, timeout=10)
    except (OSError, TimeoutError, ValueError) as error:
        raise WorkerError(f"no Dask scheduler at {scheduler}: {str(error).partition(chr(10))[0]}") from None
    with client:
        yield client.get_executor()
