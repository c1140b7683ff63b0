"""Write files atomically and sync them to disk, for exports and archives."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_write(file: Path, *, durable: bool = False) -> Iterator[Path]:
    """Yield a temporary path to write to; rename it to `file` on success, delete it on failure.

    Parameters
    ----------
    durable
        Sync the file and its directory entry to disk, so that both survive a power failure.
    """
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        yield temporary
        if durable:
            fsync(temporary)
        temporary.replace(file)
        if durable:
            fsync(file.parent)
    finally:
        temporary.unlink(missing_ok=True)


def fsync(file: Path) -> None:
    """Sync a file's content, or a directory's entries, to disk."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
