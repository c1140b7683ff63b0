"""Write rows to Parquet files and read them back, in chunks of bounded memory."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from importlib import import_module
from itertools import islice, repeat
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, Final

from sqlalchemy import Boolean, ColumnElement, Integer

from trninv.errors import UsageError, how_to_install

TIMES: Final = {"at": "time", "known_since": "since"}
"""For each column that has times as text, the name of an additional column of timestamps (UTC, microseconds)."""
_CHUNK_ROWS: Final = 20_000


def import_pyarrow() -> tuple[ModuleType, ModuleType]:
    """Import PyArrow and its Parquet module.

    Raises
    ------
    UsageError
        PyArrow is not installed.

    """
    try:
        import pyarrow as pa  # noqa: PLC0415 # an extra
        import pyarrow.parquet as files  # noqa: PLC0415
    except ImportError:
        raise UsageError(f"Parquet needs PyArrow: {how_to_install('parquet')}") from None
    return pa, files


def import_filesystems() -> ModuleType:
    """Import PyArrow's file systems.

    Raises
    ------
    UsageError
        PyArrow is not installed.

    """
    import_pyarrow()
    return import_module("pyarrow.fs")


def write_rows(file: Path, columns: Sequence[ColumnElement[Any]], rows: Iterable[Sequence[Any]]) -> int:
    """Write rows with the additional columns of `TIMES`, and return the number of rows."""
    pa, files = import_pyarrow()
    names = [column.key or "" for column in columns]
    time_names = [name for name in names if name in TIMES]
    fields = [(name, _arrow_type(pa, column)) for name, column in zip(names, columns, strict=True)]
    schema = pa.schema([*fields, *((TIMES[name], pa.timestamp("us")) for name in time_names)])
    number, remaining = 0, iter(rows)
    with files.ParquetWriter(file, schema, compression="zstd") as writer:
        while chunk := list(islice(remaining, _CHUNK_ROWS)):
            values = list(zip(*chunk, strict=True))  # by column
            values += [tuple(map(_utc_time, values[names.index(name)])) for name in time_names]
            arrays = [pa.array(column_values, field.type) for column_values, field in zip(values, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            number += len(chunk)
    return number


def read_rows(source: BinaryIO, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the values of columns for each row of a file; None for columns that the file lacks."""
    _, files = import_pyarrow()
    with files.ParquetFile(source) as file:
        present = [name for name in columns if name in file.schema_arrow.names]
        for batch in file.iter_batches(_CHUNK_ROWS, columns=present):
            values = batch.to_pydict()
            yield from zip(*(values.get(name, repeat(None, batch.num_rows)) for name in columns), strict=True)


def count_rows(source: BinaryIO) -> int:
    """Return the number of rows in a file's metadata."""
    _, files = import_pyarrow()
    number: int = files.read_metadata(source).num_rows
    return number


def _arrow_type(pa: ModuleType, column: ColumnElement[Any]) -> Any:
    if isinstance(column.type, Boolean):
        return pa.bool_()
    return pa.int64() if isinstance(column.type, Integer) else pa.string()


def _utc_time(text: str) -> datetime:
    """Return a recorded time in UTC without its zone, as Arrow's timestamps without a zone require."""
    time = datetime.fromisoformat(text)
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time
