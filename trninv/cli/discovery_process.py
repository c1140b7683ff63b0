"""Run `trninv discover --every` beside the service, in a process of its own, so that pulls never delay answers."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final

import click

from trninv.discovery.provider import find_provider
from trninv.discovery.target import parse_target
from trninv.errors import UsageError
from trninv.importers.collection_schedule import parse_duration

_RESTART_SECONDS: Final = 10
"""Seconds after which a process that ended is started again."""


def check_targets(targets: Sequence[str], every: str) -> None:
    """Refuse targets or an interval that `trninv discover` would refuse.

    Raises
    ------
    UsageError
        A setting is wrong.

    """
    for target in targets:
        find_provider(parse_target(target))
    if not parse_duration(every, "TRNINV_DISCOVER_EVERY"):
        raise UsageError("TRNINV_DISCOVER_EVERY=0s is no interval; write for example 5m")


@contextmanager
def run_discovery(targets: Sequence[str], every: str) -> Iterator[None]:
    """Keep a process pulling the targets while the code in this context runs; nothing without targets."""
    if not targets:
        yield
        return
    process = _Process([*targets, "--every", every])
    try:
        yield
    finally:
        process.stop()


class _Process:
    """A process that is started again when it ends, until it is stopped."""

    def __init__(self, arguments: Sequence[str]) -> None:
        safe_path = ["-P"] if sys.flags.safe_path else []
        self._command = [sys.executable, *safe_path, "-m", "trninv", "discover", *arguments]
        self._is_stopping, self._child = Event(), self._start()
        self._thread = Thread(target=self._watch, name="discovery")
        self._thread.start()

    def _start(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(self._command, stdin=subprocess.DEVNULL)  # noqa: S603 # our own module

    def _watch(self) -> None:
        while not self._is_stopping.is_set():
            status = self._child.wait()
            if not self._is_stopping.wait(_RESTART_SECONDS):
                click.echo(f"trninv discover ended with status {status}; starting it again", err=True)
                self._child = self._start()
        self._child.terminate()  # it may have been started while `stop` ended the one before
        self._child.wait()

    def stop(self) -> None:
        """End the process."""
        self._is_stopping.set()
        self._child.terminate()
        self._thread.join()
