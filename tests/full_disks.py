"""A file system of its own with little space, which a test can fill up and empty again; needs root on Linux."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

needs_mount = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a file system")
_PAGE = 4096


class SmallDisk:
    """A file system in memory at a path."""

    def __init__(self, path: Path) -> None:
        self.path, self._ballast = path, path / ".ballast"

    def fill(self, pages: int = 0) -> None:
        """Leave only a number of pages free."""
        with self._ballast.open("ab", buffering=0) as file:
            free = os.statvfs(self.path).f_bavail * os.statvfs(self.path).f_frsize // _PAGE
            for _ in range(free - pages):
                file.write(bytes(_PAGE))

    def empty(self) -> None:
        """Free what `fill` took."""
        self._ballast.unlink(missing_ok=True)


@contextmanager
def small_disk(path: Path, megabytes: int, options: str = "mode=0755") -> Iterator[SmallDisk]:
    """Mount a file system in memory on a directory that exists."""
    words = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,{options}", "tmpfs", str(path)]
    subprocess.run(words, check=True)
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)
