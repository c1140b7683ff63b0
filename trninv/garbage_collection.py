"""Limit full garbage collections, during which a service answers no request and a pull of machines does not go on.

A full collection visits every object. With 2,000 clients that post observations, one takes 150 ms, and Python would
start one every three seconds; they would take an eighth of a pull's time. Most cycles are found before that, in objects
that are young.
"""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

MAX_SHARE: Final = 1 / 300
"""Maximum share of the time that full collections take."""
NEVER: Final = 2**31 - 1
_YOUNG, _MIDDLE, _OLD = gc.get_threshold()


@contextmanager
def limited_full_collections(clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """Let the interpreter start a full collection only if the last one was long enough ago for `MAX_SHARE`.

    What exists now is not visited until the end.
    """
    start = next_full = clock()

    def watch(phase: str, info: dict[str, int]) -> None:
        nonlocal start, next_full
        if info["generation"] < 2:  # noqa: PLR2004 # the oldest
            if clock() >= next_full:
                gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
        elif phase == "start":
            start = clock()
        else:
            next_full = clock() + (clock() - start) / MAX_SHARE
            gc.set_threshold(_YOUNG, _MIDDLE, NEVER)

    gc.freeze()
    gc.callbacks.append(watch)
    try:
        yield
    finally:
        gc.callbacks.remove(watch)
        gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
        gc.unfreeze()
