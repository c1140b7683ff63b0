"""Define an export format, how to write and verify it, and find all formats by name."""

import pkgutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import zip_longest
from typing import Final

from trninv.errors import InternalError
from trninv.exporters import formats as package
from trninv.exporters.export_source import ExportSource

Record = tuple[object, ...]
"""One statement of a file, such as a server's name and the switches above it."""
HASH_COMMENT: Final = "# {}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format of another program.

    Attributes
    ----------
    name
        Its name in --as; its module has the same name, with _ for -.
    suffix
        The suffix of its files' names.
    description
        What it contains and which programs read it, in one line.
    write
        Yields lines without line ends. Raises NotExpressibleError for anything the format can't express.
    read
        Parses lines to records, with a reader that shares no code with `write`.
    expected_records
        The records that `read` must return, in its order.
    comment_template
        A comment line with {} for its text; empty if the format has no comments.
    header_line
        A line before all comments.

    """

    name: str
    suffix: str
    description: str
    write: Callable[[ExportSource], Iterator[str]]
    read: Callable[[Iterable[str]], Iterable[Record]]
    expected_records: Callable[[ExportSource], Iterable[Record]]
    comment_template: str = HASH_COMMENT
    header_line: str = ""

    def lines(self, source: ExportSource) -> Iterator[str]:
        """Yield the whole file, with comments, if the format has them, on its source and the omitted servers.

        Nothing is yielded before `write` has yielded its first line, so that a refusal leaves no partial file.
        """
        body = self.write(source)
        first_line = next(body)
        if self.header_line:
            yield self.header_line
        if self.comment_template:
            yield from map(self.comment_template.format, self._header_comments(source))
        yield first_line
        yield from body

    def verify(self, source: ExportSource, lines: Iterable[str]) -> None:
        """Read lines back and compare them to the inventory.

        Raises
        ------
        InternalError
            They differ.

        """
        for actual, expected in zip_longest(self.read(lines), self.expected_records(source)):
            if actual != expected:
                raise InternalError(f"{self.name} reads back as {actual}, not as {expected}; please report this")

    def _header_comments(self, source: ExportSource) -> Iterator[str]:
        yield f"{source.place.address} as {self.name}, written by trninv as of event {source.event}"
        for server in source.omitted_servers:
            yield f"omitted: {server.name} ({server.address}), {server.state}"


def format_names() -> tuple[str, ...]:
    """Return the names of all formats in order."""
    return tuple(sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(package.__path__)))


@cache
def find_format(name: str) -> Format:
    """Return the format of one of the names.

    Raises
    ------
    InternalError
        Its module declares no Format of that name.

    """
    declared = getattr(import_module(f"{package.__name__}.{name.replace('-', '_')}"), "FORMAT", None)
    if isinstance(declared, Format) and declared.name == name:
        return declared
    raise InternalError(f"exporters/formats: FORMAT is not a Format called {name!r}")
