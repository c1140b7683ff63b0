"""Importing many modules, as a command does when it starts."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Collect no garbage: modules are none, and to look for it among them takes a sixth of a short command's time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
