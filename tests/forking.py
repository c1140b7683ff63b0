"""A service in a process that is forked from one which has imported everything: it starts in a tenth of the time."""

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager

from serving import await_answer, free_port

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["trninv.cli.main", "trninv.cli.serve_commands", "trninv.service.application"])


@contextmanager
def forked_service(database: str, port: int = 0, **environment: str) -> Iterator[str]:
    """Serve a database on a port, by default any free one; yield the URL once it answers."""
    port = port or free_port()
    process = _FORKS.Process(target=_serve, args=(database, port, environment), daemon=True)
    process.start()
    url = f"http://127.0.0.1:{port}"
    try:
        await_answer(url)
        yield url
    finally:
        process.terminate()
        process.join(20)


def port_of(url: str) -> int:
    """Return the port of a service's URL, for another one in its place."""
    return int(url.rsplit(":", 1)[1])


def _serve(database: str, port: int, environment: dict[str, str]) -> None:
    """Run `trninv serve` as users start it, silently."""
    from trninv.cli.main import main  # noqa: PLC0415 # not in the process that only asks for a fork

    os.environ.update(environment)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    main(["--database", database, "serve", "--port", str(port)])
