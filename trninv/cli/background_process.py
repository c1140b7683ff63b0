"""Run commands of trninv beside the service, in processes of their own, so that they never delay answers."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Final

import click

from trninv.settings import Settings

_RESTART_SECONDS: Final = 10
"""Seconds after which a process that ended is started again."""


@contextmanager
def background_processes(settings: Settings) -> Iterator[None]:
    """Pull targets, evaluate checks and send webhooks, as far as the settings say, while the code in this context runs.

    Processes that are started in this context find the results of checks by TRNINV_CHECK_RESULTS.
    """
    with ExitStack() as stack:
        if settings.discover:
            every = ["--every", settings.discover_every]
            stack.enter_context(_background_process("discover", [*settings.discover, *every]))
        if settings.checks:
            directory = stack.enter_context(TemporaryDirectory(prefix="trninv-checks-"))
            results = str(settings.check_results or Path(directory) / "results.json")
            os.environ["TRNINV_CHECK_RESULTS"] = results
            stack.enter_context(_background_process("check", [str(settings.checks), "--watch", results]))
        if settings.webhooks:
            stack.enter_context(_background_process("webhooks", ["send"]))
        yield


@contextmanager
def _background_process(command: str, arguments: Sequence[str]) -> Iterator[None]:
    """Keep a process running `trninv COMMAND` while the code in this context runs."""
    process = _Process(command, arguments)
    try:
        yield
    finally:
        process.stop()


class _Process:
    """A process that is started again when it ends, until it is stopped."""

    def __init__(self, command: str, arguments: Sequence[str]) -> None:
        safe_path = ["-P"] if sys.flags.safe_path else []
        self._name = command
        self._command = [sys.executable, *safe_path, "-m", "trninv", command, *arguments]
        self._is_stopping, self._child = Event(), self._start()
        self._thread = Thread(target=self._watch, name=command)
        self._thread.start()

    def _start(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(self._command, stdin=subprocess.DEVNULL)  # noqa: S603 # our own module

    def _watch(self) -> None:
        while not self._is_stopping.is_set():
            status = self._child.wait()
            if not self._is_stopping.wait(_RESTART_SECONDS):
                click.echo(f"trninv {self._name} ended with status {status}; starting it again", err=True)
                self._child = self._start()
        self._child.terminate()  # it may have been started while `stop` ended the one before
        self._child.wait()

    def stop(self) -> None:
        """End the process."""
        self._is_stopping.set()
        self._child.terminate()
        self._thread.join()
