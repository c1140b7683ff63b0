"""Store the files of an archive in a directory of this machine or, through PyArrow, in S3 and other object stores.

In either place, a file appears only once it is complete. A local directory is locked against other runs and synced to
disk. Object stores have neither locks nor appends: a run locks out only those of its machine and stops when it finds
lines of another one, and the manifest is written to another name and moved over the old one.
"""

import fcntl
import os
import re
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, BinaryIO, Final, cast
from urllib.parse import SplitResult, unquote, urlsplit

from trninv.atomic_file import atomic_write, fsync
from trninv.errors import BusyError, UnreachableError, UsageError
from trninv.history.archive import parquet

SCHEMES: Final = {
    "file": "a directory of this machine",
    "s3": "Amazon S3, and stores with its interface (?endpoint_override=HOST:PORT)",
    "gs": "Google Cloud Storage",
    "abfs": "Azure Blob Storage",
    "hdfs": "Hadoop",
}
"""The schemes of URLs that an archive may have."""
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_UPLOAD_BYTES: Final = 8 * 2**20


class ArchiveDirectory(ABC):
    """A place with files, which are named by their paths below it.

    Attributes
    ----------
    name
        The path or URL, without credentials.

    """

    name: str

    @abstractmethod
    def open(self, path: str) -> BinaryIO:
        """Open a file for reading; raises FileNotFoundError."""

    @abstractmethod
    def files(self, directory: str) -> list[str]:
        """Return the paths of all files in the directories of a dataset."""

    @abstractmethod
    def write(self, path: str, fill: Callable[[Path], int]) -> tuple[int, int, str]:
        """Write a file by calling `fill` with a local path; return its rows, as `fill` does, its size and digest."""

    @abstractmethod
    def append(self, path: str, line: bytes, before: bytes) -> None:
        """Add a line to a file that has the content `before`."""

    def check_unchanged(self, path: str, content: bytes) -> None:
        """Refuse to go on if another run has changed a file, which has had this content."""
        if self.read(path) != content:
            raise BusyError(f"another trninv archive run has written to {self.name}; run it again when that has ended")

    @abstractmethod
    def truncate(self, path: str, content: bytes) -> None:
        """Cut a file down to the first part of its content."""

    @abstractmethod
    def create(self, path: str) -> None:
        """Create an empty file."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Delete a file."""

    @abstractmethod
    def rename(self, path: str, new_path: str) -> None:
        """Give a file another name."""

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other runs away, as far as the place can."""
        yield

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Turn errors of the place into an UnreachableError."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or str(error).strip().partition("\n")[0]
            raise UnreachableError(f"can't read or write {error.filename or self.name}: {reason}") from None

    def read(self, path: str) -> bytes | None:
        """Return a file's content, or None if there is no file."""
        try:
            with self.open(path) as file:
                return file.read()
        except FileNotFoundError:
            return None

    def digest(self, path: str) -> tuple[int, str]:
        """Read a file; return its size and digest."""
        with self.open(path) as file:
            digest = file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type] # PyArrow's files have readinto
            return file.tell(), digest


def open_directory(location: str | Path) -> ArchiveDirectory:
    """Return the directory at a path or URL; nothing is read or created yet.

    Raises
    ------
    UsageError
        The scheme of the URL is unknown, or the URL is not one of its scheme.

    """
    text = str(location)
    if isinstance(location, Path) or not _URL.match(text):
        return LocalDirectory(Path(location))
    parts = urlsplit(text)
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost"):
            raise UsageError(f"{text} names the host {parts.netloc}: write file:///DIRECTORY")
        return LocalDirectory(Path(unquote(parts.path)))
    if parts.scheme not in SCHEMES:
        schemes = ", ".join(f"{scheme}:// ({meaning})" for scheme, meaning in SCHEMES.items())
        raise UsageError(f"no archive at {parts.scheme}:// URLs; write a directory or one of {schemes}")
    if not parts.netloc and parts.scheme != "hdfs":
        raise UsageError(f"{text} names no bucket; write {parts.scheme}://BUCKET/DIRECTORY")
    return RemoteDirectory(text, parts)


class LocalDirectory(ArchiveDirectory):
    """A directory of this machine."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.name = directory, str(directory.absolute())

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading; raises FileNotFoundError."""
        return (self.directory / path).open("rb")

    def files(self, directory: str) -> list[str]:
        """Return the paths of all files in the directories of a dataset."""
        return [str(file.relative_to(self.directory)) for file in (self.directory / directory).glob("*/*")]

    def write(self, path: str, fill: Callable[[Path], int]) -> tuple[int, int, str]:
        """Write and sync a file."""
        file = self.directory / path
        _create_directory(file.parent)
        with atomic_write(file, durable=True) as temporary:
            return fill(temporary), *_size_and_digest(temporary)

    def append(self, path: str, line: bytes, before: bytes) -> None:  # noqa: ARG002 # the lock keeps others away
        """Add a line and sync it."""
        with (self.directory / path).open("ab") as out:
            out.write(line)
            out.flush()
            os.fsync(out.fileno())

    def truncate(self, path: str, content: bytes) -> None:
        """Cut a file down to the first part of its content."""
        os.truncate(self.directory / path, len(content))

    def create(self, path: str) -> None:
        """Create an empty file."""
        (self.directory / path).touch()
        fsync(self.directory)

    def delete(self, path: str) -> None:
        """Delete a file."""
        (self.directory / path).unlink()

    def rename(self, path: str, new_path: str) -> None:
        """Give a file another name."""
        (self.directory / path).replace(self.directory / new_path)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Create the directory and lock it."""
        _create_directory(self.directory)
        with _locked(self.directory / ".lock", self.name):
            yield


class RemoteDirectory(ArchiveDirectory):
    """A directory of an object store or another file system that PyArrow knows."""

    def __init__(self, url: str, parts: SplitResult) -> None:
        user, _, host = parts.netloc.rpartition("@")
        netloc = host if ":" in user else parts.netloc  # a password; what has none is a container of Azure
        self.name = f"{parts.scheme}://{netloc}{parts.path}".rstrip("/")
        filesystems = parquet.import_filesystems()
        try:
            self._store, self._root = filesystems.FileSystem.from_uri(url)
        except ValueError:  # the message repeats the URL, which may hold a password
            raise UsageError(f"{self.name}: PyArrow can't read this URL; its options may be misspelled") from None
        except OSError as error:
            raise UnreachableError(f"can't reach {self.name}: {error}") from None
        self._selector, self._file = filesystems.FileSelector, filesystems.FileType.File

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading; raises FileNotFoundError."""
        return cast("BinaryIO", self._store.open_input_file(self._path(path)))

    def files(self, directory: str) -> list[str]:
        """Return the paths of all files in the directories of a dataset."""
        selector = self._selector(self._path(directory), allow_not_found=True, recursive=True)
        infos = self._store.get_file_info(selector)
        return [info.path.removeprefix(self._path("")) for info in infos if info.type == self._file]

    def write(self, path: str, fill: Callable[[Path], int]) -> tuple[int, int, str]:
        """Write a file here, then upload it, so that an exception while it is written uploads nothing."""
        with tempfile.TemporaryDirectory() as directory:
            temporary = Path(directory, "file")
            rows = fill(temporary)
            with temporary.open("rb") as source, self._create(path) as target:
                while piece := source.read(_UPLOAD_BYTES):
                    target.write(piece)
            return rows, *_size_and_digest(temporary)

    def append(self, path: str, line: bytes, before: bytes) -> None:
        """Replace a file by one with a further line, unless another run has changed it."""
        self.check_unchanged(path, before)
        self.truncate(path, before + line)

    def truncate(self, path: str, content: bytes) -> None:
        """Replace a file at once: a move is a copy inside the store, which a kill leaves undone or done."""
        with self._create(f"{path}.new") as target:
            target.write(content)
        self._store.move(self._path(f"{path}.new"), self._path(path))

    def create(self, path: str) -> None:
        """Create an empty file."""
        self._create(path).close()

    def delete(self, path: str) -> None:
        """Delete a file."""
        self._store.delete_file(self._path(path))

    def rename(self, path: str, new_path: str) -> None:
        """Give a file another name."""
        self._store.move(self._path(path), self._path(new_path))

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock out the other runs of this machine; an object store can't lock out those of others."""
        key = sha256(self.name.encode()).hexdigest()[:32]
        with _locked(Path(tempfile.gettempdir(), f"trninv-archive-{os.getuid()}-{key}.lock"), self.name):
            yield

    def _create(self, path: str) -> Any:
        name = self._path(path)
        if self._store.type_name == "hdfs":  # object stores have no directories
            self._store.create_dir(name.rpartition("/")[0])
        return self._store.open_output_stream(name)

    def _path(self, path: str) -> str:
        return f"{self._root.rstrip('/')}/{path}"


@contextmanager
def _locked(file: Path, name: str) -> Iterator[None]:
    with file.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(f"another trninv archive run is writing to {name}; wait until it ends") from None
        yield


def _size_and_digest(file: Path) -> tuple[int, str]:
    with file.open("rb") as content:
        return file.stat().st_size, file_digest(content, "sha256").hexdigest()


def _create_directory(directory: Path) -> None:
    """Create a directory and its missing parents, and sync each of them to disk."""
    if not directory.exists():
        _create_directory(directory.parent)
        directory.mkdir(exist_ok=True)
        fsync(directory.parent)
