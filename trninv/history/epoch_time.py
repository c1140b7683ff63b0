"""Convert the events' times to seconds and microseconds since 1970, in SQL."""

from typing import Final

from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from trninv.database.tables import BIGINT

_JULIAN_SECONDS_OF_1970: Final = 210_866_760_000
"""Seconds from the start of the count of Julian days to 1970."""


_SECONDS_OF_2000: Final = 946_684_800
"""Seconds from 1970 to 2000."""


class EpochSeconds(FunctionElement[int]):
    """Whole seconds since 1970 of a time in the events' text format."""

    inherit_cache = True
    type = BIGINT


@compiles(EpochSeconds, "sqlite")
def _seconds_on_sqlite(function: EpochSeconds, compiler: SQLCompiler, **options: object) -> str:
    time = compiler.process(function.clauses, **options)
    days = f"julianday({time})"  # strftime is slower, because it formats a text first
    # days are a float that is exact to a millisecond: without the fraction, it rounds to the second
    return f"(CAST({days} * 86400 - {_sqlite_microseconds(time)} * 1e-6 + 0.5 AS INTEGER) - {_JULIAN_SECONDS_OF_1970})"


@compiles(EpochSeconds, "postgresql")
def _seconds_on_postgresql(function: EpochSeconds, compiler: SQLCompiler, **options: object) -> str:
    time = f"CAST({compiler.process(function.clauses, **options)} AS timestamp)"
    return f"CAST(floor(date_part('epoch', {time})) AS bigint)"


class Microseconds(FunctionElement[int]):
    """Microseconds of a time in the events' text format.

    The oldest events have whole seconds, with the zone 00:00 where later events have microseconds; 00:00 counts as 0.
    """

    inherit_cache = True
    type = BIGINT


@compiles(Microseconds, "sqlite")
def _microseconds_on_sqlite(function: Microseconds, compiler: SQLCompiler, **options: object) -> str:
    return _sqlite_microseconds(compiler.process(function.clauses, **options))


def _sqlite_microseconds(time: str) -> str:
    return f"CAST(substr({time}, 21, 6) AS INTEGER)"  # up to the first character that is not a digit


@compiles(Microseconds, "postgresql")
def _microseconds_on_postgresql(function: Microseconds, compiler: SQLCompiler, **options: object) -> str:
    return f"CAST(replace(substr({compiler.process(function.clauses, **options)}, 21, 6), ':', '0') AS integer)"


class EpochMicroseconds(FunctionElement[int]):
    """Microseconds since 1970 of a time in the events' text format, as PostgreSQL stores a timestamp."""

    inherit_cache = True
    type = BIGINT


@compiles(EpochMicroseconds, "postgresql")
def _epoch_microseconds_on_postgresql(function: EpochMicroseconds, compiler: SQLCompiler, **options: object) -> str:
    # a timestamp is stored as microseconds since 2000
    return f"CAST({compiler.process(function.clauses, **options)} AS timestamp) + INTERVAL '{_SECONDS_OF_2000} seconds'"
