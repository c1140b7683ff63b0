"""Read and write the files of an archive and their manifest, which stay consistent after a crash.

Each file is in the directory of its dataset and day. Only files that the manifest lists belong to the archive. A file
is written completely and synced before it gets its name; then a line is added to the manifest and synced. A file that
the manifest does not list was left by a run that was killed in between, or the manifest was replaced by an older copy.
The next run renames such a file, and writes a new one with the rows that the database still has. Archived files and
lines of the manifest never change.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from trninv.errors import InvalidFileError
from trninv.history.archive import parquet
from trninv.history.archive.archive_directory import ArchiveDirectory, open_directory

DATASETS: Final = (
    *("events", "states", "parts"),
    *("observation", "observed_server", "observed_chip", "observed_link"),
)
"""The directories of an archive. The last four have the names of the database tables that they archive."""
MANIFEST: Final = "manifest.ndjson"
"""The manifest's file name; each line is a `ManifestEntry` as JSON."""


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """A file of an archive: its path within the archive, its number of rows, size and digest."""

    path: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """A line of the manifest: files that were added to the archive together.

    Attributes
    ----------
    dataset
        One of DATASETS; the files of all tables of observations are in the entry of `observation`.
    day
        The day of the files, as YYYY-MM-DD; for the dataset `parts`, the number of the version, counted from 1.
    first, last
        The numbers of the first and the last event or observation. For states and parts, both are the number of the
        last event that the rows reflect, or 0 if there is none.
    said
        Further details by name, such as the digest of the last row. The name stays because existing manifests have it.

    """

    dataset: str
    day: str
    first: int
    last: int
    files: tuple[ArchiveFile, ...]
    said: dict[str, Any] = field(default_factory=dict)


class ArchiveStore:
    """An archive's directory and the entries of its manifest.

    Raises
    ------
    InvalidFileError
        The manifest is damaged.

    """

    def __init__(self, directory: ArchiveDirectory, manifest: bytes) -> None:
        self.directory, self._manifest = directory, manifest
        self.entries = list(_entries(self.name, manifest))

    @property
    def name(self) -> str:
        """The directory's path or URL."""
        return self.directory.name

    def recover(self) -> None:
        """Clean up after a killed run: repair the manifest's last line, delete partial files and rename unlisted ones.

        A complete file is never deleted, as it may be the only copy.
        """
        self.directory.check_unchanged(MANIFEST, self._manifest)  # otherwise, files of the other run would be renamed
        if len(self.entries) > self._manifest.count(b"\n"):
            self._add_to_manifest(b"\n")  # the last line lacks only its line end
        elif not self._manifest.endswith(b"\n"):
            self._manifest = self._manifest[: self._manifest.rfind(b"\n") + 1]
            self.directory.truncate(MANIFEST, self._manifest)
        listed = {file.path for entry in self.entries for file in entry.files}
        for path in _paths(self.directory):
            if path in listed:
                continue
            if path.rpartition("/")[2].startswith("."):
                self.directory.delete(path)
            else:
                self.directory.rename(path, f"{path}.unlisted-{self.directory.digest(path)[1][:16]}")

    def entries_of(self, dataset: str) -> list[ManifestEntry]:
        """Return the entries of a dataset in the order in which they were written."""
        return [entry for entry in self.entries if entry.dataset == dataset]

    def write(self, path: str, fill: Callable[[Path], int]) -> ArchiveFile:
        """Write a file by calling `fill`, which writes to the path that it is passed and returns the number of rows."""
        return ArchiveFile(path, *self.directory.write(path, fill))

    def append(self, entry: ManifestEntry) -> None:
        """Add an entry to the manifest, which makes its files part of the archive.

        Raises
        ------
        BusyError
            Another run has written to the manifest of an object store.

        """
        line = json.dumps(asdict(entry), ensure_ascii=False, separators=(",", ":"))
        self._add_to_manifest(f"{line}\n".encode())
        self.entries.append(entry)

    def check_manifest(self) -> None:
        """Read the manifest back.

        Raises
        ------
        InvalidFileError
            It is not what this run read and wrote.

        """
        if self.directory.read(MANIFEST) != self._manifest:
            raise InvalidFileError(f"{self.name}/{MANIFEST} is not as it was written; nothing was removed")

    def _add_to_manifest(self, line: bytes) -> None:
        self.directory.append(MANIFEST, line, self._manifest)
        self._manifest += line

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
        """Read a file back, and return what is wrong with it, or None if it matches the manifest."""
        try:
            if self.directory.digest(file.path) != (file.bytes, file.sha256):
                return "has changed since it was written"
        except FileNotFoundError:
            return "is missing"
        with self.directory.open(file.path) as source:
            return None if parquet.count_rows(source) == file.rows else "has a different number of rows"


def open_read_only(location: Path | str) -> ArchiveStore:
    """Open the archive at a path or URL for reading, without a lock.

    Raises
    ------
    InvalidFileError
        There is no archive, or its manifest is damaged.
    UsageError
        The URL has an unknown scheme.
    UnreachableError
        The place can't be read.

    """
    directory = open_directory(location)
    with directory.translate_errors():
        manifest = directory.read(MANIFEST)
    if manifest is None:
        raise InvalidFileError(f"{directory.name} has no archive; run trninv archive first")
    return ArchiveStore(directory, manifest)


@contextmanager
def open_for_writing(location: Path | str) -> Iterator[ArchiveStore]:
    """Open the archive at a path or URL for writing, or create it, and keep other runs away until the block ends.

    Raises
    ------
    BusyError
        Another run is writing to the archive.
    UnreachableError
        The place can't be written to.
    InvalidFileError
        The manifest is damaged, or is missing although the directory has archived files.
    UsageError
        The URL has an unknown scheme.

    """
    directory = open_directory(location)
    with directory.translate_errors(), directory.lock():
        manifest = directory.read(MANIFEST)
        if manifest is None:
            if any(_paths(directory)):
                problem = f"has files but no {MANIFEST}; restore it from a copy, or archive to another directory"
                raise InvalidFileError(f"{directory.name} {problem}")
            directory.create(MANIFEST)
        yield ArchiveStore(directory, manifest or b"")


def _entries(name: str, manifest: bytes) -> Iterator[ManifestEntry]:
    lines = manifest.split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            values = json.loads(line)
            values["files"] = tuple(ArchiveFile(**file_values) for file_values in values["files"])
            yield ManifestEntry(**values)
        except (ValueError, TypeError, KeyError):
            if number == len(lines):  # the last line is empty, or a killed run wrote only the start of it
                return
            problem = f"{name}/{MANIFEST}, line {number}: invalid entry; restore the file from a copy"
            raise InvalidFileError(problem) from None


_FILE_NAME: Final = re.compile(r"part-[^/]*\.parquet|\.part-[^/]*\.parquet\.[^/]*")
"""The name of a file that trninv wrote, or of a partial file of a killed run."""


def _paths(directory: ArchiveDirectory) -> Iterator[str]:
    """Yield the paths of the files that trninv wrote, including partial files of a killed run."""
    for dataset in DATASETS:
        yield from (path for path in directory.files(dataset) if _FILE_NAME.fullmatch(path.rpartition("/")[2]))
