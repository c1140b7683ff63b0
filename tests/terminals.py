"""Terminals of any size, and what a program prints on one."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence

_UNSAID = ("COLUMNS", "LINES", "NO_COLOR")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in _UNSAID} | {"TERM": "xterm"}


def terminal(columns: int, lines: int) -> tuple[int, int]:
    """Both sides of a terminal of that size."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    return ours, theirs


def on_a_terminal(
    url: str, *words: str, size: tuple[int, int] = (80, 60), program: Sequence[str] = (), **environment: str
) -> str:
    """What a command, or a program, prints on a terminal of so many columns and lines."""
    ours, theirs = terminal(*size)
    command = program or [sys.executable, "-m", "trninv", "--database", url, *words]
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=ENVIRONMENT | environment
    ) as process:
        os.close(theirs)
        found = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux says so that the other side has closed
                part = b""
            if not part:
                break
            found += part
        os.close(ours)
    assert process.returncode == 0
    return found.decode().replace("\r\n", "\n")
