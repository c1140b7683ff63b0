"""Files that get their name once they are complete."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(file: Path, *, lasting: bool = False) -> Iterator[Path]:
    """What a file is called until it is complete; lasting: it and its name then outlive the machine's power."""
    part = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        yield part
        if lasting:
            keep(part)
        part.replace(file)
        if lasting:
            keep(file.parent)
    finally:
        part.unlink(missing_ok=True)


def keep(file: Path) -> None:
    """Have the system write a file, or the names in a directory, to its disk."""
    number = os.open(file, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
