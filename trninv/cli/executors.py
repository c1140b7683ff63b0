"""Connect to a Dask cluster for commands that can use one."""

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

import click

from trninv.errors import UsageError, WorkerError

SCHEDULER_OPTION = click.Option(
    ["--scheduler"], metavar="TCP://…", help="A Dask cluster that does the work (pip install trninv[dask])."
)


@contextmanager
def dask_executor(scheduler: str | None) -> Iterator[Executor | None]:
    """Yield the executor of a Dask cluster, or None if no scheduler is given: work then runs in local processes."""
    if scheduler is None:
        yield None
        return
    try:
        from distributed import Client  # noqa: PLC0415 # an optional dependency
    except ImportError:
        raise UsageError("--scheduler needs Dask: pip install 'trninv[dask]'") from None
    try:
        client = Client(scheduler, timeout=10)
    except (OSError, TimeoutError, ValueError) as error:
        raise WorkerError(f"no Dask scheduler at {scheduler}: {str(error).partition(chr(10))[0]}") from None
    with client:
        yield client.get_executor()
