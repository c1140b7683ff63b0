"""A table or view, streamed over HTTP: the next piece is read once the last one has been sent."""

from collections.abc import Iterator
from contextlib import ExitStack

from sqlalchemy import Engine
from sqlglot import exp

from trninv.reports.guard import checked
from trninv.reports.output import lines
from trninv.reports.reader import stream

_SECONDS = 3600.0


class Pieces:
    """An iterator of bytes that closes its connection at the end, or when the client stops reading."""

    def __init__(self, engine: Engine, name: str, style: str, columns: str = "*", cluster: str | None = None) -> None:
        names = [exp.column(each.strip()) if each.strip() != "*" else exp.Star() for each in columns.split(",")]
        query = exp.select(*names).from_(name)
        if cluster is not None:
            column = "address" if name == "v_cluster" else "cluster"
            query = query.where(exp.EQ(this=exp.column(column), expression=exp.Literal.string(cluster)))
        self._engine, self._style, self._query = engine, style, query.sql()
        self._stack = ExitStack()
        self._lines: Iterator[bytes] = iter(())

    def open(self) -> None:
        """Begin to read, so that a failure occurs here and not in the middle of the answer."""
        query = checked(self._query, self._engine.dialect.name)
        found = self._stack.enter_context(stream(self._engine, query, seconds=_SECONDS))
        self._lines = lines(found, self._style)

    def __iter__(self) -> Iterator[bytes]:
        with self._stack:
            yield from self._lines
