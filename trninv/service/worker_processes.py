"""Serve with several processes, which share what they import and get the same number of connections.

The parent imports the application once and forks the workers, so that they share its memory. It accepts each connection
and passes it to the workers in turn: if they all accepted from one socket, the first to wake would take a burst of
connections as a whole, and the kernel's own distribution (SO_REUSEPORT) is random.
"""

import asyncio
import multiprocessing
import selectors
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import Any, Final

import uvicorn
from uvicorn.config import STARTUP_FAILURE

_FORK: Final = multiprocessing.get_context("fork")
_RESTART_PAUSE: Final = 0.5
"""Seconds before a worker that died is replaced."""
_MESSAGE: Final = b"c"
"""Accompanies a connection, since a socket can't be passed without data."""


class PassedConnectionServer(uvicorn.Server):
    """uvicorn's server for connections that arrive over a channel; it stops when the channel is closed."""

    def __init__(self, config: uvicorn.Config, channel: socket.socket) -> None:
        super().__init__(config)
        self._channel, self._opening = channel, set[asyncio.Task[Any]]()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002 # as uvicorn's
        """Start without listening, and take connections from the channel."""
        await super().startup(sockets=[])
        self._channel.setblocking(False)
        asyncio.get_running_loop().add_reader(self._channel, self._take_connections)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002 # as uvicorn's
        """Stop taking connections, and end those that are open."""
        asyncio.get_running_loop().remove_reader(self._channel)
        await super().shutdown(sockets=[])

    def _take_connections(self) -> None:
        with suppress(BlockingIOError):
            while True:
                data, descriptors, _, _ = socket.recv_fds(self._channel, len(_MESSAGE), 1)
                if not data:  # the parent has ended
                    asyncio.get_running_loop().remove_reader(self._channel)
                    self.should_exit = True
                    return
                for descriptor in descriptors:
                    self._open(socket.socket(fileno=descriptor))

    def _open(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        loop = asyncio.get_running_loop()
        task = loop.create_task(loop.connect_accepted_socket(self._create_protocol, connection))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    def _create_protocol(self) -> asyncio.Protocol:
        protocol_class: Any = self.config.http_protocol_class
        protocol: asyncio.Protocol = protocol_class(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol


class _Worker:
    """A worker process and the parent's end of its channel."""

    def __init__(self, config: uvicorn.Config, inherited: list[socket.socket]) -> None:
        self.channel, channel = socket.socketpair()
        with channel:
            # the child gets its own copies of all sockets; those that it must not keep open are passed to be closed
            arguments = config, channel, [*inherited, self.channel]
            self.process = _FORK.Process(target=_serve, args=arguments)
            self.process.start()
        self.channel.setblocking(False)

    def pass_connection(self, connection: socket.socket) -> bool:
        """Pass a connection; return False if the worker does not take it now."""
        try:
            socket.send_fds(self.channel, [_MESSAGE], [connection.fileno()])
        except OSError:  # it is too busy, or has ended
            return False
        return True


def _serve(config: uvicorn.Config, channel: socket.socket, inherited: list[socket.socket]) -> None:
    """Serve in a worker process."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for other in inherited:
        other.close()
    PassedConnectionServer(config, channel).run()


class WorkerProcesses:
    """The workers of a service; a worker that dies is replaced.

    Create it with the application imported, and before any thread or database connection exists.
    """

    def __init__(self, config: uvicorn.Config, listener: socket.socket) -> None:
        self._config, self._listener = config, listener
        self._is_stopping = self._has_failed = False
        self._wakeup, self._signals = socket.socketpair()
        self._workers = list[_Worker]()
        self._next = 0

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM; exit with STARTUP_FAILURE if a worker can't start."""
        for end in (self._wakeup, self._signals, self._listener):
            end.setblocking(False)
        signal.set_wakeup_fd(self._signals.fileno())
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # wakes the loop below
        for _ in range(self._config.workers):
            self._workers.append(self._start_worker())
        with selectors.DefaultSelector() as selector:
            for readable in (self._wakeup, self._listener):
                selector.register(readable, selectors.EVENT_READ)
            while not self._is_stopping:
                for key, _ in selector.select():
                    if key.fileobj is self._listener:
                        self._accept()
                    else:
                        self._wakeup.recv(1_000)
                self._replace_dead_workers()
        self._end_workers()
        if self._has_failed:
            sys.exit(STARTUP_FAILURE)

    def _stop(self, *_: object) -> None:
        self._is_stopping = True

    def _start_worker(self) -> _Worker:
        channels = [worker.channel for worker in self._workers]
        return _Worker(self._config, [self._listener, self._wakeup, self._signals, *channels])

    def _accept(self) -> None:
        """Accept the connections that wait, and pass each to the next worker."""
        with suppress(BlockingIOError, ConnectionError):
            while True:
                with self._listener.accept()[0] as connection:
                    self._pass_on(connection)

    def _pass_on(self, connection: socket.socket) -> None:
        for _ in self._workers:  # the connection is closed if all refuse it
            worker = self._workers[self._next % len(self._workers)]
            self._next += 1
            if worker.pass_connection(connection):
                return

    def _replace_dead_workers(self) -> None:
        for index, worker in enumerate(self._workers):
            if self._is_stopping or worker.process.is_alive():
                continue
            if worker.process.exitcode == STARTUP_FAILURE:  # another would fail in the same way
                self._is_stopping = self._has_failed = True
                return
            time.sleep(_RESTART_PAUSE)
            worker.channel.close()
            self._workers[index] = self._start_worker()

    def _end_workers(self) -> None:
        signal.set_wakeup_fd(-1)
        for worker in self._workers:
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join()
            worker.channel.close()
