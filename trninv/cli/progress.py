"""How far a command is: one line on a terminal's stderr from its second second on, and nothing in a pipe."""

import sys
import threading
import time
from shutil import get_terminal_size
from typing import Final, Self

import click

from trninv.characters import plain

_PATIENCE: Final = 1.0
"""Seconds before anything is said."""
_BETWEEN: Final = 0.25
_MINUTE: Final = 60


class Progress:
    """Told what is being done, how much of it, and of how much, it shows that, how fast, and the time left.

    A thread shows how long it takes while nothing is told; `waits` is false where processes are forked, which threads
    do not bear. A total that is another, or less done than before, is another thing to do.
    """

    def __init__(self, name: str, *, waits: bool = True) -> None:
        self._name, self._waits = name, waits
        self._begun = self._since = self._drawn = time.monotonic()
        self._told: tuple[str, int, int | None] = ("", 0, None)
        self._is_shown, self._lock, self._over = False, threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self._waits and sys.stderr.isatty():
            self._thread = threading.Thread(target=self._wait, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread:
            self._thread.join()
        with self._lock:
            self._clear()

    def __call__(self, doing: str, done: int = 0, total: int | None = None) -> None:
        """Show from here on what is being done; 0 of None is not counted."""
        _, before, whole = self._told
        if done < before or total != whole:
            self._since = time.monotonic()
        self._told = (doing, done, total)
        if not self._waits and sys.stderr.isatty() and time.monotonic() - self._drawn > _BETWEEN:
            self._draw()

    def say(self, line: str) -> None:
        """Print a line to stdout, where the terminal would otherwise have it behind this one's."""
        with self._lock:
            self._clear()
            click.echo(line)

    def _wait(self) -> None:
        while not self._over.wait(_BETWEEN):
            self._draw()

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        if self._drawn - self._begun > _PATIENCE:
            with self._lock:
                wide = get_terminal_size().columns - 1  # what goes on in a second line would stay
                click.echo(f"\r\033[K{self.line()[:wide]}", err=True, nl=False)
                self._is_shown = True

    def _clear(self) -> None:
        if self._is_shown:
            click.echo("\r\033[K", err=True, nl=False)
            self._is_shown = False

    def line(self) -> str:
        """What is shown: what is being done, the count, a second's worth of it, the time left or that has passed."""
        doing, done, total = self._told
        now = time.monotonic()
        rate = done / max(now - self._since, 0.001)
        count = f"{done:,}{'' if total is None else f' of {total:,}'}" if done or total else ""
        speed = f"{rate:,.0f}/s" if done else ""
        left = f"about {lasting((total - done) / rate)} left" if total and done else lasting(now - self._begun)
        return f"{self._name}: {', '.join(filter(None, (plain(doing), count, speed, left)))}"


def lasting(seconds: float) -> str:
    """So long, in words."""
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} min"
