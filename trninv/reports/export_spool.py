"""Spool a table to a file at the database's speed and send it at the client's.

So a slow client does not keep a lock or a connection of the database.
"""

import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import IO, cast

from sqlalchemy import Engine
from sqlglot import exp

from trninv.errors import TrninvError
from trninv.reports.query_compiler import compile_query
from trninv.reports.row_formats import stream_rows

MAX_EXPORT_BYTES = 8 * 2**30
"""Most bytes of one export."""
_TIME_LIMIT_SECONDS = 3600.0
_PIECE_SIZE = 2**18


class ExportSpool:
    """An export spooled to a file: `open` starts a thread that reads the database, `pieces` yields the bytes."""

    def __init__(self, name: str, file_format: str, columns: str = "*", cluster: str | None = None) -> None:
        names = [exp.column(part.strip()) if part.strip() != "*" else exp.Star() for part in columns.split(",")]
        query = exp.select(*names).from_(name)
        if cluster is not None:
            column = "address" if name == "v_cluster" else "cluster"
            query = query.where(exp.EQ(this=exp.column(column), expression=exp.Literal.string(cluster)))
        self._file_format, self._query = file_format, query.sql(dialect="postgres")
        self._database, self._file = ExitStack(), cast("IO[bytes]", None)
        self._changed = threading.Condition()
        self._size, self._is_complete, self._is_closed = 0, False, False
        self._failure: TrninvError | None = TrninvError("the export was aborted")

    def open(self, engine: Engine) -> None:
        """Start to read the database, so that an early failure occurs here and not in the middle of the response."""
        query = compile_query(self._query, engine.dialect.name)
        pieces = self._database.enter_context(
            stream_rows(engine, query, self._file_format, seconds=_TIME_LIMIT_SECONDS)
        )
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 # the thread closes it
        threading.Thread(target=self._fill, args=(pieces,), name="trninv-export", daemon=True).start()

    def _fill(self, pieces: Iterator[bytes]) -> None:
        with closing(self._file), self._database:
            try:
                if all(map(self._add, pieces)):
                    self._failure = None
                self._database.close()
            except (TrninvError, OSError) as error:
                self._failure = TrninvError(f"the export was aborted: {error}")
            finally:
                self._wait_for_client()

    def _wait_for_client(self) -> None:
        with self._changed:
            self._is_complete = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_closed)

    def _add(self, piece: bytes) -> bool:
        """Append a piece; return whether to go on."""
        with self._changed:
            if self._size + len(piece) > MAX_EXPORT_BYTES:
                self._failure = TrninvError("the export is too large")
                return False
            if not self._is_closed:
                self._file.seek(self._size)
                self._file.write(piece)
                self._size += len(piece)
                self._changed.notify_all()
            return not self._is_closed

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes, waiting for those that have not been read yet.

        Raises
        ------
        TrninvError
            Reading failed: the response must not end as if it were complete.

        """
        offset = 0
        while piece := self._read_piece(offset):
            offset += len(piece)
            yield piece
        if self._failure is not None:
            raise self._failure

    def _read_piece(self, offset: int) -> bytes:
        with self._changed:
            self._changed.wait_for(lambda: self._size > offset or self._is_complete or self._is_closed)
            if self._is_closed or self._size == offset:
                return b""
            self._file.seek(offset)
            return self._file.read(min(_PIECE_SIZE, self._size - offset))

    @property
    def is_complete(self) -> bool:
        """Whether reading the database has ended, successfully or not."""
        return self._is_complete

    def close(self) -> None:
        """Stop reading and discard the bytes."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
