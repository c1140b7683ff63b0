"""Estimate what failures leave: a fleet's capacity, in processes or on Dask (`capacity`); a job's ETTR (`ettr`)."""

from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from trninv.cli.answer_output import print_answer
from trninv.cli.output import print_revision, print_value
from trninv.cli.progress_line import Progress
from trninv.cli.question_commands import (
    SCHEDULER_OPTION,
    ask_and_print,
    build_command,
    dask_executor,
    default_cluster,
    pop_job_options,
    question_arguments,
)
from trninv.cli.scenario_options import open_scenario
from trninv.errors import UsageError
from trninv.placement.failure_rates import SOURCES
from trninv.placement.questions import find

_CAPACITY, _TRAINING_TIME = find("capacity"), find("training_time_ratio")
_MAX_WORKERS = 256


@click.pass_obj
def _run_capacity(  # one parameter per option
    database: str,
    /,
    down: tuple[str, ...],
    derate: tuple[str, ...],
    as_of: str | None,
    style: str,
    workers: int,
    scheduler: str | None,
    rates: str | None,
    **arguments: Any,  # the question's parameters
) -> None:
    jobs = pop_job_options(arguments)
    arguments["rates"] = None if rates is None else _read_rates(rates)
    with (
        _open_executor(workers, scheduler) as executor,
        open_scenario(database, down, derate, as_of, *jobs) as fleet,
        fleet.snapshot() as snapshot,
    ):
        with Progress("capacity", threaded=False) as progress:  # forking worker processes is unsafe with threads
            parsed_arguments = question_arguments(_CAPACITY, default_cluster(snapshot, arguments))
            answer = snapshot.ask(_CAPACITY, **parsed_arguments, executor=executor, progress=progress)
        print_revision(snapshot.as_of())
    print_value(style, answer, lambda: print_answer(answer))


@click.pass_obj
def _run_training_time(
    database: str,
    /,
    down: tuple[str, ...],
    derate: tuple[str, ...],
    as_of: str | None,
    style: str,
    rates: str,
    **arguments: Any,  # the question's parameters
) -> None:
    with open_scenario(database, down, derate, as_of, *pop_job_options(arguments)) as fleet:
        ask_and_print(fleet, _TRAINING_TIME, arguments | {"rates": _read_rates(rates)}, style)


def _read_rates(rates: str) -> str:
    """Return the name of a source of rates as it is, and otherwise the content of the file of that name."""
    if rates.lower() in SOURCES:
        return rates
    file = Path(rates)
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"can't read rates from {file}: {reason}") from None


@contextmanager
def _open_executor(workers: int, scheduler: str | None) -> Iterator[Executor | None]:
    if scheduler is not None:
        with dask_executor(scheduler) as cluster:
            yield cluster
    else:
        with ProcessPoolExecutor(workers) as pool:
            yield pool


capacity = build_command(
    _CAPACITY,
    _run_capacity,
    click.Option(
        ["--workers"], type=click.IntRange(1, _MAX_WORKERS), default=1, show_default=True, help="Worker processes."
    ),
    SCHEDULER_OPTION,
    requires_place=False,
)
ettr = build_command(_TRAINING_TIME, _run_training_time)
