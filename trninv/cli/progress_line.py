"""Show the progress of a slow command on stderr, if it is a terminal."""

import sys
import threading
import time
from shutil import get_terminal_size
from typing import Final, Self

import click

from trninv.characters import escape_controls

_DELAY_SECONDS: Final = 1.0
"""Seconds before the line appears."""
_REFRESH_SECONDS: Final = 0.25
_MINUTE: Final = 60


class Progress:
    """Callback that shows an activity, its count and total, its speed and the time left.

    A thread updates the line between calls. Commands that fork processes set `threaded` to False, because forking is
    unsafe with threads; then only calls update the line. A new total or a smaller count starts a new phase, whose
    speed is measured anew.
    """

    def __init__(self, name: str, *, threaded: bool = True) -> None:
        self._name, self._threaded = name, threaded
        self._started_at = self._phase_started_at = self._drawn_at = time.monotonic()
        self._state: tuple[str, int, int | None] = ("", 0, None)
        self._is_shown, self._lock, self._stopped = False, threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self._threaded and sys.stderr.isatty():
            self._thread = threading.Thread(target=self._refresh_until_stopped, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        if self._thread:
            self._thread.join()
        with self._lock:
            self._clear()

    def __call__(self, activity: str, done: int = 0, total: int | None = None) -> None:
        """Set the activity, count and total to show; without a count, the line has only activity and elapsed time."""
        _, previous_done, previous_total = self._state
        if done < previous_done or total != previous_total:
            self._phase_started_at = time.monotonic()
        self._state = (activity, done, total)
        if not self._threaded and sys.stderr.isatty() and time.monotonic() - self._drawn_at > _REFRESH_SECONDS:
            self._draw()

    def print_above(self, line: str) -> None:
        """Print a line to stdout after clearing the progress line, which would otherwise precede it on the terminal."""
        with self._lock:
            self._clear()
            click.echo(line)

    def _refresh_until_stopped(self) -> None:
        while not self._stopped.wait(_REFRESH_SECONDS):
            self._draw()

    def _draw(self) -> None:
        self._drawn_at = time.monotonic()
        if self._drawn_at - self._started_at > _DELAY_SECONDS:
            with self._lock:
                columns = get_terminal_size().columns - 1  # a wrapped second line would not be cleared
                click.echo(f"\r\033[K{self.line()[:columns]}", err=True, nl=False)
                self._is_shown = True

    def _clear(self) -> None:
        if self._is_shown:
            click.echo("\r\033[K", err=True, nl=False)
            self._is_shown = False

    def line(self) -> str:
        """Return the text to show: activity, count, speed, and the time left or, if unknown, the elapsed time."""
        activity, done, total = self._state
        now = time.monotonic()
        rate = done / max(now - self._phase_started_at, 0.001)
        count = f"{done:,}{'' if total is None else f' of {total:,}'}" if done or total else ""
        speed = f"{rate:,.0f}/s" if done else ""
        time_left = (
            f"about {format_duration((total - done) / rate)} left"
            if total and done
            else format_duration(now - self._started_at)
        )
        return f"{self._name}: {', '.join(filter(None, (escape_controls(activity), count, speed, time_left)))}"


def format_duration(seconds: float) -> str:
    """Return a duration in seconds, or in minutes if it is two minutes or longer."""
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} min"
