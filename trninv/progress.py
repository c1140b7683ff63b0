"""Declare the callback through which long operations report progress."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]


def silent(_table: str, _done: int, _total: int) -> None:
    """Ignore progress."""
