"""Write files atomically and sync them to disk."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_write(file: Path, *, durable: bool = False) -> Iterator[Path]:
    """Yield the temporary path of a file, which gets its name once it is complete.

    Parameters
    ----------
    durable
        Sync the file and its name to disk, so that both survive a power failure.
    """
    part = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        yield part
        if durable:
            fsync(part)
        part.replace(file)
        if durable:
            fsync(file.parent)
    finally:
        part.unlink(missing_ok=True)


def fsync(file: Path) -> None:
    """Sync a file, or the names in a directory, to disk."""
    number = os.open(file, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
