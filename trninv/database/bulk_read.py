"""Read many rows: past SQLAlchemy, which takes four times as long to hand over a row, or by batches of their keys."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

import orjson
from sqlalchemy import Boolean, Connection, Select, SelectBase, Table, select
from sqlalchemy.exc import DBAPIError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH_SIZE: Final = 5_000
_ARRAY_HEADER: Final = 20
"""Bytes before the elements of an array in PostgreSQL's binary format (`array_send`)."""
Rows = Sequence[tuple[Any, ...]]
T = TypeVar("T")


def batches(items: Iterable[T], size: int = BATCH_SIZE) -> Iterator[list[T]]:
    """Yield items in batches that fit in one statement, as databases limit the number of its parameters."""
    remaining = iter(items)
    while batch := list(islice(remaining, size)):  # itertools.batched is new in Python 3.12
        yield batch


def read_batches(connection: Connection, table: Table) -> Iterator[Rows]:
    """Yield all rows of a table in the order of their keys, in batches of BATCH_SIZE.

    Both databases yield equal values for equal rows.
    """
    return read_query_batches(connection, select(table).order_by(*table.primary_key))


def read_query_batches(connection: Connection, query: Select[Any], batch_size: int = BATCH_SIZE) -> Iterator[Rows]:
    """Yield the rows of a query without parameters, in batches."""
    statement = str(query.compile(connection, compile_kwargs={"literal_binds": True}))
    flags = [index for index, column in enumerate(query.selected_columns) if isinstance(column.type, Boolean)]
    driver: Any = connection.connection.driver_connection
    is_sqlite = connection.dialect.name == "sqlite"
    # without a name, the cursor of PostgreSQL's driver would hold all rows in memory
    with (
        closing(driver.cursor() if is_sqlite else driver.cursor("read_batches")) as cursor,
        _wrapped_errors(connection, statement),
    ):
        cursor.execute(statement)
        while rows := cursor.fetchmany(batch_size):
            yield [_with_flags(row, flags) for row in rows] if flags and is_sqlite else rows


@contextmanager
def _wrapped_errors(connection: Connection, statement: str) -> Iterator[None]:
    """Raise the driver's errors as SQLAlchemy would, so that callers can tell why."""
    try:
        yield
    except connection.dialect.loaded_dbapi.Error as error:
        raise DBAPIError(statement, None, error) from error


def read_integers(connection: Connection, query: SelectBase) -> "list[NDArray[np.int64]]":
    """Return each column of a query without parameters as an array, on PostgreSQL.

    The columns are never null and have eight bytes: they are BIGINT or timestamps, in microseconds since 2000.
    """
    import numpy as np  # noqa: PLC0415 # slow to import

    statement = str(query.compile(connection, compile_kwargs={"literal_binds": True}))
    names = [f"c{index}" for index in range(len(query.selected_columns))]
    arrays = ", ".join(f"array_agg({name})" for name in names)
    driver: Any = connection.connection.driver_connection
    with closing(driver.cursor()) as cursor, _wrapped_errors(connection, statement):
        cursor.execute(f"SELECT {arrays} FROM ({statement}) AS integers ({', '.join(names)})", binary=True)  # noqa: S608 # our own names
        values = [cursor.pgresult.get_value(0, index) or b"" for index in range(len(names))]
    # the driver would make a list: an array has a header, then the size and the value of each element
    element = np.dtype([("size", ">i4"), ("value", ">i8")])
    return [np.frombuffer(value[_ARRAY_HEADER:], element)["value"].astype(np.int64) for value in values]


def _with_flags(row: tuple[Any, ...], flags: Sequence[int]) -> tuple[Any, ...]:
    """Return a row of SQLite, which has no booleans, with booleans at some positions."""
    values = list(row)
    for index in flags:
        values[index] = bool(values[index])
    return tuple(values)


class RowDigest:
    """A digest of rows in their order, which is equal for equal rows of different databases."""

    def __init__(self) -> None:
        self._digest, self.rows = blake2b(digest_size=32), 0

    def add(self, rows: Rows) -> None:
        """Add a batch; a digest depends on how rows are divided into batches."""
        self._digest.update(orjson.dumps(rows))
        self.rows += len(rows)

    def value(self) -> bytes:
        """Return the digest of all rows so far."""
        return self._digest.digest()
