"""What a format of another program is: how it is written, and how it is read back."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from trninv.errors import InternalError
from trninv.exporters.source import Source

Record = tuple[object, ...]
"""One thing that a file says, such as a server's name and the switches above it."""

HASH: Final = "# {}"


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
    says: str
    write: Callable[[Source], Iterator[str]]
    read: Callable[[Iterable[str]], Iterable[Record]]
    records: Callable[[Source], Iterable[Record]]
    comment: str = HASH
    first: str = ""

    def lines(self, source: Source) -> Iterator[str]:
        """The whole file: where the format has comments, they say what it is made from and what is left out.

        Nothing is yielded before `write` has begun, so that what is refused leaves nothing behind.
        """
        written = self.write(source)
        begin = next(written)
        if self.first:
            yield self.first
        if self.comment:
            yield from map(self.comment.format, self._header(source))
        yield begin
        yield from written

    def check(self, source: Source, lines: Iterable[str]) -> None:
        """Read lines back.

        Raises
        ------
        InternalError
            They don't say what the inventory does.

        """
        for found, wanted in zip_longest(self.read(lines), self.records(source)):
            if found != wanted:
                raise InternalError(f"{self.name} reads back as {found}, not as {wanted}: please report this")

    def _header(self, source: Source) -> Iterator[str]:
        yield f"{source.place.address} as {self.name}, written by trninv as of event {source.event}"
        for server in source.left_out:
            yield f"left out: {server.name} ({server.address}), {server.state}"
