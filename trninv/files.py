"""Files that get their name once they are complete."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_write(file: Path, *, durable: bool = False) -> Iterator[Path]:
    """What a file is called until it is complete; lasting: it and its name then outlive the machine's power."""
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
    """Have the system write a file, or the names in a directory, to its disk."""
    number = os.open(file, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
