"""Spool a table to a temporary file at the database's speed and send it at the client's, for the route /export.

A slow client therefore does not occupy a database connection or block a writer.
"""

import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import IO, cast

from trninv.database.snapshot import SharedSnapshot
from trninv.errors import TrninvError
from trninv.reports.row_formats import stream_rows

MAX_EXPORT_BYTES = 8 * 2**30
"""Maximum bytes of one export."""
_TIME_LIMIT_SECONDS = 3600.0
_PIECE_SIZE = 2**18
"""Maximum bytes that are sent at a time."""


class ExportSpool:
    """An export spooled to a file: `open` starts a thread that reads the database, `pieces` yields the bytes.

    Parameters
    ----------
    name
        The table or view.
    columns
        Names separated by commas, or * for all columns.
    cluster
        The cluster to which rows are limited; None exports all rows.

    """

    def __init__(self, name: str, file_format: str, columns: str = "*", cluster: str | None = None) -> None:
        from sqlglot import exp  # noqa: PLC0415 # takes 8 MB

        names = [exp.column(part.strip()) if part.strip() != "*" else exp.Star() for part in columns.split(",")]
        query = exp.select(*names).from_(name)
        if cluster is not None:
            # in v_cluster, the address is the name of the cluster
            column = "address" if name == "v_cluster" else "cluster"
            query = query.where(exp.EQ(this=exp.column(column), expression=exp.Literal.string(cluster)))
        self._file_format, self._query = file_format, query.sql(dialect="postgres")
        self._database, self._file = ExitStack(), cast("IO[bytes]", None)
        self._changed = threading.Condition()
        self._size, self._is_complete, self._is_closed = 0, False, False
        # the error to raise if reading ends early; None once all rows have been read
        self._failure: TrninvError | None = TrninvError("the export was aborted")

    def open(self, snapshot: SharedSnapshot) -> None:
        """Start to read the database, so that an early failure occurs here and not in the middle of the response.

        The snapshot may be closed before the last row is read.
        """
        from trninv.reports.query_compiler import compile_query  # noqa: PLC0415 # as above

        query = compile_query(self._query, snapshot.engine.dialect.name)
        pieces = self._database.enter_context(
            stream_rows(snapshot, query, self._file_format, seconds=_TIME_LIMIT_SECONDS)
        )
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 # the thread closes it
        threading.Thread(target=self._fill, args=(pieces,), name="trninv-export", daemon=True).start()

    def _fill(self, pieces: Iterator[bytes]) -> None:
        """Write all pieces to the file, then keep it open until `close`."""
        with closing(self._file), self._database:
            try:
                if all(map(self._add, pieces)):
                    self._failure = None
                self._database.close()
            except (TrninvError, OSError) as error:
                self._failure = TrninvError(f"the export failed: {error}; discard what was received")
            finally:
                self._wait_for_client()

    def _wait_for_client(self) -> None:
        """Mark the export as complete, and wait until `close` is called."""
        with self._changed:
            self._is_complete = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_closed)

    def _add(self, piece: bytes) -> bool:
        """Append a piece to the file; return False if the export is too large or closed."""
        with self._changed:
            if self._size + len(piece) > MAX_EXPORT_BYTES:
                self._failure = TrninvError(
                    f"the export is too large, over {MAX_EXPORT_BYTES:,} bytes; select fewer columns or one cluster"
                )
                return False
            if not self._is_closed:
                self._file.seek(self._size)
                self._file.write(piece)
                self._size += len(piece)
                self._changed.notify_all()
            return not self._is_closed

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes, waiting for those that are not in the file yet.

        Raises
        ------
        TrninvError
            Reading the database failed, so the response must be cut off instead of ending normally.

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
        """Stop reading the database and delete the file."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
