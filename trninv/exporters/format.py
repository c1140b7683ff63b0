"""Define what an export format is, and find formats by name for ``trninv topology``.

Each module in `formats` declares one `Format`. A written file can be verified: it is read back, usually by a library,
and compared with the values in the inventory.
"""

import io
import pkgutil
import reprlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import zip_longest
from typing import Any, Final, TextIO
from xml.parsers.expat import ExpatError

from trninv.errors import InternalError, InvalidArgumentError, ScopeTooLargeError, UsageError, suggestion
from trninv.exporters import formats as package
from trninv.exporters.export_source import ExportSource
from trninv.exporters.serialization import Syntax
from trninv.inventory.address.hostnames import DEFAULT_TEMPLATE
from trninv.inventory.address.lookup import resolve_place
from trninv.routing.snapshot import Snapshot

_END: Final = "the end of the file"
MAX_TEXT: Final = 32 * 2**20
"""The most characters of a text that is made in memory, as a service does."""
_SHORT: Final = reprlib.Repr()
"""Abbreviates values of any size for error messages."""
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxother = 3, 120, 120


class Comment(str):
    """A comment among the values of a file."""

    __slots__ = ()


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
    syntax
        Writes values and reads them back.
    content
        Yields the values and comments of a file. Raises NotExpressibleError for anything the format can't express.

    """

    name: str
    suffix: str
    description: str
    syntax: Syntax
    content: Callable[[ExportSource], Iterable[Any]]

    def lines(self, source: ExportSource) -> Iterator[str]:
        """Yield the lines of the file; if the format has comments, they name the scope and the omitted servers.

        Nothing is yielded before the first line of content is known, so that a refusal leaves no partial file.
        """
        body = self._body_lines(source)
        first_line = next(body)
        yield from self.syntax.header_lines
        if self.syntax.comment_template:
            yield from map(self.syntax.comment_template.format, self._header_comments(source))
        yield first_line
        yield from body

    def verify(self, source: ExportSource, file: TextIO) -> None:
        """Read a file back and compare it with the inventory.

        Raises
        ------
        InternalError
            The file differs from the inventory, or can't be read.

        """
        for actual, expected in zip_longest(self._read_values(file), self._values(source), fillvalue=_END):
            if actual != expected:
                where, actual_part, expected_part = _first_difference(actual, expected, "")
                raise InternalError(
                    f"{self.name} reads back as {_SHORT.repr(actual_part)}, not as {_SHORT.repr(expected_part)}"
                    f"{where and f', at {where}'}; please report this"
                )

    def _body_lines(self, source: ExportSource) -> Iterator[str]:
        for value in self.content(source):
            if isinstance(value, Comment):
                yield self.syntax.comment_template.format(value)
            else:
                yield from self.syntax.write(value)

    def _values(self, source: ExportSource) -> Iterator[Any]:
        for value in self.content(source):
            if not isinstance(value, Comment):
                yield from self.syntax.flatten(value)

    def _read_values(self, file: TextIO) -> Iterator[Any]:
        try:
            yield from self.syntax.read(file)
        except (ValueError, LookupError, RecursionError, ExpatError, UsageError) as error:
            raise InternalError(f"{self.name} can't be read back: {error}; please report this") from None

    def _header_comments(self, source: ExportSource) -> Iterator[str]:
        yield f"{source.place.address} as {self.name}, written by trninv as of event {source.event}"
        for server in source.omitted_servers:
            yield f"omitted: {server.name} ({server.address}), {server.state}"


def _first_difference(actual: Any, expected: Any, where: str) -> tuple[str, Any, Any]:
    """Return the path to the first part in which two values differ, and that part of each value."""
    pairs: Iterable[tuple[Any, Any, Any]] = ()
    if isinstance(actual, dict) and isinstance(expected, dict) and actual.keys() == expected.keys():
        pairs = ((key, actual[key], expected[key]) for key in expected)
    elif isinstance(actual, list) and isinstance(expected, list) and len(actual) == len(expected):
        pairs = zip(range(len(expected)), actual, expected, strict=True)
    for key, actual_part, expected_part in pairs:
        if actual_part != expected_part:
            return _first_difference(actual_part, expected_part, f"{where}[{key!r}]")
    return where, actual, expected


def format_names() -> tuple[str, ...]:
    """Return the sorted names of all formats."""
    return tuple(sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(package.__path__)))


@cache
def find_format(name: str) -> Format:
    """Return the format with a name.

    Raises
    ------
    InternalError
        The module of this name declares no Format with the name.

    """
    declared = getattr(import_module(f"{package.__name__}.{name.replace('-', '_')}"), "FORMAT", None)
    if isinstance(declared, Format) and declared.name == name:
        return declared
    raise InternalError(f"exporters/formats: FORMAT is not a Format called {name!r}")


def topology_text(
    snapshot: Snapshot,
    scope: str,
    name: str,
    hostname: str | None = None,
    *,
    include_down: bool = False,
    coarse: bool = False,
    check: bool = False,
) -> str:
    """Return a place in the format of a name; if `check` is True, read it back and compare it with the inventory.

    Raises
    ------
    ScopeTooLargeError
        The text has more than `MAX_TEXT` characters.

    """
    if name not in format_names():
        raise InvalidArgumentError(f"no format {name!r:.60}: {suggestion(name[:60], format_names())}")
    output_format, place = find_format(name), resolve_place(snapshot.connection, scope)
    source = ExportSource(
        snapshot, place, DEFAULT_TEMPLATE if hostname is None else hostname, include_down=include_down, coarse=coarse
    )
    text = io.StringIO()
    for line in output_format.lines(source):
        text.write(f"{line}\n")
        if text.tell() > MAX_TEXT:
            raise ScopeTooLargeError(
                f"{place.address} has more than {MAX_TEXT:,} characters in the format {name}: name a smaller place, or "
                "run trninv topology on the database"
            )
    if check:
        text.seek(0)
        output_format.verify(source, text)
    return text.getvalue()
