"""Write rows to Parquet files and read them back, in chunks of bounded memory."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice, repeat
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from sqlalchemy import Boolean, ColumnElement, Integer

from trninv.errors import UsageError

TIMES: Final = {"at": "time", "known_since": "since"}
"""Columns of time as text, and the timestamp columns (UTC, microseconds) that are written in addition."""
_CHUNK: Final = 20_000


def import_pyarrow() -> tuple[ModuleType, ModuleType]:
    """Import PyArrow and its Parquet module.

    Raises
    ------
    UsageError
        It is not installed.

    """
    try:
        import pyarrow as pa  # noqa: PLC0415 # an extra
        import pyarrow.parquet as files  # noqa: PLC0415
    except ImportError:
        raise UsageError("Parquet needs PyArrow: pip install 'trninv[parquet]'") from None
    return pa, files


def write_rows(file: Path, columns: Sequence[ColumnElement[Any]], rows: Iterable[Sequence[Any]]) -> int:
    """Write rows with the additional columns of `TIMES`; return how many there were."""
    pa, files = import_pyarrow()
    names = [column.key or "" for column in columns]
    timed = [name for name in names if name in TIMES]
    kinds = [(name, _arrow_type(pa, column)) for name, column in zip(names, columns, strict=True)]
    schema = pa.schema([*kinds, *((TIMES[name], pa.timestamp("us")) for name in timed)])
    number, remaining = 0, iter(rows)
    with files.ParquetWriter(file, schema, compression="zstd") as writer:
        while some := list(islice(remaining, _CHUNK)):
            values = list(zip(*some, strict=True))
            values += [tuple(map(_utc_time, values[names.index(name)])) for name in timed]
            arrays = [pa.array(column_values, field.type) for column_values, field in zip(values, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            number += len(some)
    return number


def read_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a file in these columns; a column that an earlier version did not write is None."""
    _, files = import_pyarrow()
    with files.ParquetFile(path) as file:
        present = [name for name in columns if name in file.schema_arrow.names]
        for batch in file.iter_batches(_CHUNK, columns=present):
            columns_ = batch.to_pydict()
            yield from zip(*(columns_.get(name, repeat(None, batch.num_rows)) for name in columns), strict=True)


def count_rows(path: Path) -> int:
    """Return the number of rows in a file's metadata."""
    _, files = import_pyarrow()
    number: int = files.read_metadata(path).num_rows
    return number


def _arrow_type(pa: ModuleType, column: ColumnElement[Any]) -> Any:
    if isinstance(column.type, Boolean):
        return pa.bool_()
    return pa.int64() if isinstance(column.type, Integer) else pa.string()


def _utc_time(text: str) -> datetime:
    """Parse a recorded time, without its zone (UTC)."""
    time = datetime.fromisoformat(text)
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time
