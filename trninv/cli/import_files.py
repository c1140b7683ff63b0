"""Open the files of an import: copies of streams, progress, and the errors of invalid files."""

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Final

from trninv.characters import escape_controls
from trninv.cli.messages import print_wrapped
from trninv.cli.progress_line import Progress
from trninv.errors import InvalidFileError, UsageError
from trninv.importers.ingestion import ImportFile
from trninv.importers.json_value import MAX_TOTAL_BYTES
from trninv.units import pluralize

_CHUNK_BYTES: Final = 1 << 20


class ReadProgress:
    """Callback that shows which file is being read and how many of its servers have been read."""

    def __init__(self, progress: Progress, files: int) -> None:
        self._progress, self._index, self._files = progress, -1, files

    def start_file(self, name: str) -> None:
        self._index += 1
        self._progress(name, self._index, self._files)

    def __call__(self, name: str, servers: int) -> None:
        self._progress(f"{name}, {pluralize(servers, 'server')}", self._index, self._files)


def parse_time(text: str | None) -> datetime | None:
    """Parse the value of --taken-at."""
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        raise UsageError(f"--taken-at {text!r} is not a time; write it as 2026-11-22T02:10:00Z") from None


@contextmanager
def print_errors() -> Iterator[None]:
    """Print the errors of invalid files before the exception that counts them."""
    try:
        yield
    except InvalidFileError as error:
        for error_line in error.errors:
            print_wrapped(escape_controls(error_line), err=True)
        raise


def copy_streams(stack: ExitStack, names: Sequence[str]) -> dict[str, IO[bytes]]:
    """Return temporary copies of those of the named files that can be read only once, by name."""
    return {name: stack.enter_context(_copy_stream(name)) for name in names if not Path(name).is_file()}


@contextmanager
def _copy_stream(name: str) -> Iterator[IO[bytes]]:
    """Yield a temporary copy of a stream, which can be read twice and is complete before the database is locked."""
    bytes_left = MAX_TOTAL_BYTES + 1  # the reader refuses more than the maximum
    with tempfile.TemporaryFile() as copy:
        with sys.stdin.buffer if name == "-" else Path(name).open("rb") as stream:
            while chunk := stream.read(min(bytes_left, _CHUNK_BYTES)):
                bytes_left -= copy.write(chunk)
        yield copy


def open_files(names: Sequence[str], copies: Mapping[str, IO[bytes]], progress: ReadProgress) -> Iterator[ImportFile]:
    """Yield the named files, or their copies; each file is open only until the next one is requested."""
    for name in names:
        display_name = "stdin" if name == "-" else Path(name).name
        progress.start_file(display_name)
        if name in copies:
            copies[name].seek(0)
            yield ImportFile(display_name, copies[name])
        else:
            with Path(name).open("rb") as content:
                yield ImportFile(display_name, content)
