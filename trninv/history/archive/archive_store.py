"""Keep files and manifest consistent after a crash.

Files lie in directories of datasets and days; only those listed in the manifest belong to the archive. A file is
written completely and synced before it gets its name; then its line is appended to the manifest and synced. A file
without a line was left by a run that ended in between, or by a lost manifest: the next run renames it, and writes the
rows that the database still has. Archived files and lines never change.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import file_digest
from pathlib import Path
from typing import Any, Final

from trninv.atomic_file import atomic_write, fsync
from trninv.errors import BusyError, InvalidFileError, UnreachableError
from trninv.history.archive import parquet

DATASETS: Final = (
    *("events", "states", "parts"),
    *("observation", "observed_server", "observed_chip", "observed_link"),
)
MANIFEST: Final = "manifest.ndjson"


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """A file of an archive: its path within the archive, its number of rows, size and digest."""

    path: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """A line of the manifest: files that were added to the archive at once.

    Attributes
    ----------
    dataset
        One of DATASETS; the tables of observations share the line of `observation`.
    day
        The day of the files; for parts, their version number.
    first, last
        The numbers of the first and the last event or observation. For states and parts, both are the last event
        that they reflect, 0 if there is none.
    said
        Further details by name, such as the digest of the last row. The manifest on disk has this key.

    """

    dataset: str
    day: str
    first: int
    last: int
    files: tuple[ArchiveFile, ...]
    said: dict[str, Any] = field(default_factory=dict)


class ArchiveStore:
    """An archive's directory and the entries of its manifest."""

    def __init__(self, directory: Path, entries: list[ManifestEntry]) -> None:
        self.directory, self.entries = directory, entries

    def recover(self) -> None:
        """Clean up after a killed run: repair the manifest's last line, delete partial files and rename unlisted ones.

        A complete file is never deleted, as it may be the only copy.
        """
        manifest = self.directory / MANIFEST
        content = manifest.read_bytes()
        if len(self.entries) > content.count(b"\n"):
            with manifest.open("ab") as out:
                out.write(b"\n")
        else:
            os.truncate(manifest, content.rfind(b"\n") + 1)
        listed = {file.path for entry in self.entries for file in entry.files}
        for file in (self.directory / path for path in _paths(self.directory) if path not in listed):
            if file.name.startswith("."):
                file.unlink()
            else:
                file.replace(file.with_name(f"{file.name}.unlisted-{_digest(file)[:16]}"))

    def entries_of(self, dataset: str) -> list[ManifestEntry]:
        """Return the entries of a dataset in the order in which they were written."""
        return [entry for entry in self.entries if entry.dataset == dataset]

    def write(self, path: str, fill: Callable[[Path], int]) -> ArchiveFile:
        """Write a file with `fill`, which returns its number of rows; it gets its name once complete and synced."""
        file = self.directory / path
        _create_directory(file.parent)
        with atomic_write(file, durable=True) as part:
            number = fill(part)
            return ArchiveFile(path, number, part.stat().st_size, _digest(part))

    def append(self, entry: ManifestEntry) -> None:
        """Add an entry to the manifest, which makes its files part of the archive."""
        line = json.dumps(asdict(entry), ensure_ascii=False, separators=(",", ":"))
        with (self.directory / MANIFEST).open("ab") as out:
            out.write(f"{line}\n".encode())
            out.flush()
            os.fsync(out.fileno())
        self.entries.append(entry)

    def integrity_errors(self) -> Iterator[str]:
        """Yield an error for each file that does not match the manifest."""
        listed = {file.path: file for entry in self.entries for file in entry.files}
        for path in sorted(listed.keys() | set(_paths(self.directory))):
            error = (
                self.integrity_error(listed[path])
                if path in listed
                else "is not in the manifest; the next run renames it"
            )
            if error:
                yield f"{path} {error}"

    def integrity_error(self, file: ArchiveFile) -> str | None:
        """Return what is wrong with a file, or None if it matches the manifest."""
        path = self.directory / file.path
        if not path.exists():
            return "is gone"
        if (path.stat().st_size, _digest(path)) != (file.bytes, file.sha256):
            return "has changed since it was written"
        return None if parquet.count_rows(path) == file.rows else "has a different number of rows"


def open_read_only(directory: Path) -> ArchiveStore:
    """Open an archive to read it, without a lock.

    Raises
    ------
    InvalidFileError
        There is no archive, or its manifest is damaged.

    """
    manifest = directory / MANIFEST
    if not manifest.exists():
        raise InvalidFileError(f"{directory} has no archive; run trninv archive first")
    return ArchiveStore(directory, list(_entries(manifest)))


@contextmanager
def open_for_writing(directory: Path) -> Iterator[ArchiveStore]:
    """Open an archive for writing, or create it, and lock it until the block ends.

    Raises
    ------
    BusyError
        Another run writes to it.
    UnreachableError
        The directory can't be written.
    InvalidFileError
        The manifest is damaged, or is missing although there are files.

    """
    try:
        _create_directory(directory)
        with (directory / ".lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BusyError(f"another trninv archive run is writing to {directory}; wait until it ends") from None
            yield _open_directory(directory)
    except OSError as error:
        raise UnreachableError(f"can't write {error.filename or directory}: {error.strerror}") from None


def _open_directory(directory: Path) -> ArchiveStore:
    manifest = directory / MANIFEST
    if not manifest.exists():
        if any(_paths(directory)):
            says = f"has files but no {MANIFEST}; restore it from a copy, or archive to another directory"
            raise InvalidFileError(f"{directory} {says}")
        manifest.touch()
        fsync(directory)
    return open_read_only(directory)


def _entries(manifest: Path) -> Iterator[ManifestEntry]:
    lines = manifest.read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            values = json.loads(line)
            yield ManifestEntry(
                **values | {"files": tuple(ArchiveFile(**file_values) for file_values in values["files"])}
            )
        except (ValueError, TypeError, KeyError):
            if number == len(lines):  # empty, or cut off while being written
                return
            raise InvalidFileError(f"{manifest}, line {number}: invalid entry; restore the file from a copy") from None


def _paths(directory: Path) -> Iterator[str]:
    """Yield the paths of the files that trninv wrote, partial ones included."""
    for dataset in DATASETS:
        for name in ("part-*.parquet", ".part-*.parquet.*"):
            for file in (directory / dataset).glob(f"*/{name}"):
                yield str(file.relative_to(directory))


def _digest(path: Path) -> str:
    with path.open("rb") as content:
        return file_digest(content, "sha256").hexdigest()


def _create_directory(directory: Path) -> None:
    if not directory.exists():
        _create_directory(directory.parent)
        directory.mkdir(exist_ok=True)
        fsync(directory.parent)
