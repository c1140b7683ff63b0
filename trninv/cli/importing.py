"""Import many modules quickly when a command starts."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Turn garbage collection off during imports, where it finds nothing.

    Modules stay for good, and scanning them would take a sixth of a short command's time.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
