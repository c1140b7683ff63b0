"""Solve the tasks of a sweep in an executor and journal each result, so that a sweep can resume.

A task computes one measure, such as the bisection, of a graph with some failed parts (`trninv.solvers.graph_measures`).
"""

import json
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path

from trninv.errors import UsageError, WorkerError
from trninv.solvers.graph_measures import MeasureTask, measure_task

Progress = Callable[[str, int, int], None]
"""A function that is called with the name of the counted items, how many are done, and how many there are."""


def solve_tasks(
    tasks: Iterable[MeasureTask], executor: Executor | None, journal: Path | None, progress: Progress
) -> dict[str, tuple[int, int]]:
    """Return the lower and upper bound of each task, by its key.

    A task with a journaled result is not solved again, unless the result is inexact and the task now allows more search
    nodes. Each new result is appended to the journal at once.

    Raises
    ------
    UsageError
        The journal can't be read or written.
    WorkerError
        A worker process died.

    """
    task_by_key = {task.key: task for task in tasks}
    journaled = _read_journal(journal)
    values = {
        key: (lower, upper)
        for key, task in task_by_key.items()
        for lower, upper, nodes in journaled.get(key, ())
        if lower == upper or nodes >= task.max_nodes
    }
    remaining = [task for key, task in task_by_key.items() if key not in values]
    with _pool(executor, len(remaining)) as pool:
        futures: dict[Future[tuple[int, int]], str] = {pool.submit(measure_task, task): task.key for task in remaining}
        try:
            for finished in as_completed(futures):
                key = futures[finished]
                lower, upper = values[key] = finished.result()
                row = {"task": key, "lower": lower, "upper": upper, "nodes": task_by_key[key].max_nodes}
                _append(journal, json.dumps(row))
                progress("failures", len(values), len(task_by_key))
        except BrokenProcessPool:
            advice = (
                f"run it again: {journal} keeps the results so far" if journal else "a journal would keep the results"
            )
            raise WorkerError(f"a worker process died (out of memory?); {advice}") from None
        finally:
            for future in futures:
                future.cancel()
    return values


@contextmanager
def _pool(executor: Executor | None, tasks: int) -> Iterator[Executor]:
    """Yield the caller's executor, or a pool of one process per CPU, but of no more processes than tasks."""
    if executor is not None:
        yield executor
        return
    with ProcessPoolExecutor(max_workers=max(min(os.cpu_count() or 1, tasks), 1)) as own_pool:
        try:
            yield own_pool
        except BaseException:
            own_pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()  # a running solver does not see the shutdown
            raise


def _read_journal(journal: Path | None) -> dict[str, list[tuple[int, int, int]]]:
    """Return the lower bound, upper bound and search nodes of each journaled result, by task key.

    Lines that are not results are skipped, because a killed process may have cut a line short.
    """
    bounds_by_task: dict[str, list[tuple[int, int, int]]] = {}
    if journal is None:
        return bounds_by_task
    try:
        journal.touch()
        text = journal.read_text("utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"can't keep a journal in {journal}: {error.strerror}") from None
    if text and not text.endswith("\n"):  # a killed process cut the last line short
        _append(journal, "")
    for line in text.splitlines():
        try:
            row = json.loads(line)
            bounds = int(row["lower"]), int(row["upper"]), int(row["nodes"])
            bounds_by_task.setdefault(str(row["task"]), []).append(bounds)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            continue
    return bounds_by_task


def _append(journal: Path | None, line: str) -> None:
    """Append a line to the journal, if there is one."""
    if journal is not None:
        with journal.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
