"""Run a command in a process that can be killed: a fork of this process, so that it starts without delay."""

import os
import select
import signal
import time
from dataclasses import dataclass
from typing import NoReturn

from trninv.cli.main import main

LONGEST = 60.0
"""Seconds after which a command counts as hung."""
_END = b"\0"
"""Separates the command's output from its exit status."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The lines that a command printed, its exit status if it ended by itself, and its seconds."""

    output: list[str]
    status: int | None
    seconds: float


def run(words: list[str], kill_after: float | None = None) -> CommandResult:
    """Run a command, and kill it after a number of seconds, even if it has ended by then.

    Raises
    ------
    TimeoutError
        The command does not end, or leaves a process running.

    """
    reader, writer = os.pipe()
    start = time.perf_counter()
    child = os.fork()
    if not child:
        _run_child(words, writer)
    os.close(writer)
    try:
        if kill_after is not None:
            time.sleep(max(start + kill_after - time.perf_counter(), 0))
            os.kill(child, signal.SIGKILL)
        output = _read(reader)
    finally:
        seconds = time.perf_counter() - start
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    _wait_for_process_group(child)
    text, _, status = output.partition(_END)
    return CommandResult(text.decode().split("\n")[:-1], int(status) if status else None, seconds)


def _run_child(words: list[str], writer: int) -> NoReturn:
    """Run the command in the child, write its exit status, and wait to be killed."""
    os.setsid()
    os.dup2(writer, 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    status: object = -1
    try:
        main(words)
    except SystemExit as exit_request:
        status = exit_request.code
    finally:
        os.write(1, _END + str(status).encode())
        while True:
            signal.pause()


def _read(reader: int) -> bytes:
    output, end = b"", time.monotonic() + LONGEST
    while _END not in output:
        if not select.select([reader], [], [], max(end - time.monotonic(), 0))[0]:
            raise TimeoutError("a command does not end")
        if not (piece := os.read(reader, 2**16)):
            break
        output += piece
    return output


def _wait_for_process_group(leader: int) -> None:
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        try:
            os.killpg(leader, 0)
        except ProcessLookupError:
            return
        time.sleep(0.005)
    raise TimeoutError("a killed command left a process running")
