"""What a format of another program is: how it is written, and how it is read back."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from trninv.errors import InternalError
from trninv.exporters.source import ExportSource

Record = tuple[object, ...]
"""One thing that a file says, such as a server's name and the switches above it."""

HASH_COMMENT: Final = "# {}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format of another program.

    Attributes
    ----------
    name
        What --as calls it; its file is called so too, with _ for -.
    suffix
        How the names of its files end.
    says
        What reads it, and what it holds, in a line.
    write
        Yields lines, without their ends. Raises NotExpressibleError for what the format can't say.
    read
        What lines say, by a reader that shares nothing with `write`.
    records
        What they must say, in the order of `read`.
    comment
        A comment of its own, with {} for its text; empty where the format has none.
    first
        A line that stands before all comments.

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
        """The whole file: where the format has comments, they say what it is made from and what is left out.

        Nothing is yielded before `write` has begun, so that what is refused leaves nothing behind.
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
        """Read lines back.

        Raises
        ------
        InternalError
            They don't say what the inventory does.

        """
        for actual, expected in zip_longest(self.read(lines), self.expected_records(source)):
            if actual != expected:
                raise InternalError(f"{self.name} reads back as {actual}, not as {expected}: please report this")

    def _header_comments(self, source: ExportSource) -> Iterator[str]:
        yield f"{source.place.address} as {self.name}, written by trninv as of event {source.event}"
        for server in source.omitted_servers:
            yield f"left out: {server.name} ({server.address}), {server.state}"
