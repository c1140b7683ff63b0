"""A service in a process that is forked from one which has imported everything: it starts in a tenth of the time."""

import multiprocessing
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from serving import await_answer, free_port

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["trninv.cli.main", "trninv.cli.serve_commands", "trninv.service.application"])


@contextmanager
def forked_service(database: str, port: int = 0, **environment: str) -> Iterator[str]:
    """Serve a database on a port, by default any free one; yield the URL once it answers.

    Failures that the service logs, of which its clients see an id only, fail the test at the end.
    """
    port = port or free_port()
    url = f"http://127.0.0.1:{port}"
    with tempfile.NamedTemporaryFile(suffix=".log") as log:
        process = _FORKS.Process(target=_serve, args=(database, port, log.name, environment), daemon=True)
        process.start()
        try:
            await_answer(url)
            yield url
        finally:
            process.terminate()
            process.join(20)
            failures = [line for line in Path(log.name).read_text().splitlines() if '"event":"failure"' in line]
            assert not failures, "\n".join(failures).replace("\\n", "\n")


def port_of(url: str) -> int:
    """Return the port of a service's URL, for another one in its place."""
    return int(url.rsplit(":", 1)[1])


def _serve(database: str, port: int, log: str, environment: dict[str, str]) -> None:
    """Run `trninv serve` as users start it, with its log in a file."""
    from trninv.cli.main import main  # noqa: PLC0415 # not in the process that only asks for a fork

    os.environ.update(environment)
    os.dup2(os.open(log, os.O_WRONLY | os.O_APPEND), 2)
    main(["--database", database, "serve", "--port", str(port)])
