"""capacity: what is left of a fleet when parts fail, drawn by this process, by several, or by a Dask cluster."""

from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from trninv.cli.executors import SCHEDULER, executor_at
from trninv.cli.output import show, tell, tell_state
from trninv.cli.progress import Progress
from trninv.cli.questions import alone, jobs_in, made, values
from trninv.cli.supposing import asking
from trninv.errors import UsageError
from trninv.jobs.questions import find

_CAPACITY = find("capacity")
_MOST_WORKERS = 256


@click.pass_obj
def _run(  # an option each
    database: str,
    /,
    down: tuple[str, ...],
    derate: tuple[str, ...],
    at: str | None,
    style: str,
    workers: int,
    scheduler: str | None,
    rates: str | None,
    **given: Any,  # as the question declares
) -> None:
    jobs = jobs_in(given)
    given["rates"] = None if rates is None else _read(Path(rates))
    with (
        _executor(workers, scheduler) as executor,
        asking(database, down, derate, at, *jobs) as fleet,
        fleet.in_one_state() as one,
    ):
        with Progress("capacity", waits=False) as progress:
            asked = values(_CAPACITY, alone(one, given))
            answer = one.ask(_CAPACITY, **asked, executor=executor, progress=progress)
        tell_state(one.as_of())
    show(style, answer, lambda: tell(answer))


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise UsageError(f"can't read rates from {file}: {said}") from None


@contextmanager
def _executor(workers: int, scheduler: str | None) -> Iterator[Executor | None]:
    if scheduler is not None:
        with executor_at(scheduler) as cluster:
            yield cluster
    else:
        with ProcessPoolExecutor(workers) as pool:
            yield pool


capacity = made(
    _CAPACITY,
    _run,
    click.Option(
        ["--workers"], type=click.IntRange(1, _MOST_WORKERS), default=1, show_default=True, help="Processes that draw."
    ),
    SCHEDULER,
    needs_place=False,
)
