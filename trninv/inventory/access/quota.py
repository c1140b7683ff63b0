"""Limit what a token may report in an hour.

The counts are columns of the token's row: all workers share them and a restart keeps them. Each hour starts at zero.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any, Final

from sqlalchemy import Connection, Row, select, update

from trninv.database.tables import TABLES
from trninv.errors import QuotaError
from trninv.units import format_timestamp

_HOUR: Final = timedelta(hours=1)
_TOKEN: Final = TABLES["token"]
_COLUMNS: Final = tuple(_TOKEN.c[name] for name in ("quota_hour", "quota_rows", "quota_bytes"))


@dataclass(frozen=True, slots=True)
class Quota:
    """The maximum rows and bytes that a token may report per hour."""

    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Usage:
    """The rows and bytes that a token has reported since the start of an hour."""

    hour: datetime
    rows: int = 0
    bytes: int = 0

    @classmethod
    def from_row(cls, row: Row[Any], now: datetime) -> "Usage":
        """Read the current hour's usage from a row of ``token``; a clock set back does not start the hour again."""
        hour = now.replace(minute=0, second=0, microsecond=0)
        if row.quota_hour is None or (began := datetime.fromisoformat(row.quota_hour)) < hour:
            return cls(hour)
        return cls(began, row.quota_rows, row.quota_bytes)

    def check(self, rows: int, size: int, quota: Quota, now: datetime) -> "Usage":
        """Return the usage after reporting more, or refuse it.

        Raises
        ------
        QuotaError
            The sum exceeds the quota.
        """
        end = self.hour + _HOUR
        for unit, used, more, limit in (
            ("rows", self.rows, rows, quota.rows),
            ("bytes", self.bytes, size, quota.bytes),
        ):
            if used + more > limit:
                reported = f"this token has reported {used:,} {unit} since {self.hour:%H:%M} UTC"
                advice = f"try again at {end:%H:%M} UTC" if more <= limit else "report fewer at once"
                raise QuotaError(
                    f"{reported}, and {more:,} more exceed {limit:,} per hour: {advice}, "
                    f"or raise TRNINV_OBSERVE_{unit.upper()}",
                    unit,
                    ceil((end - now).total_seconds()),
                )
        return Usage(self.hour, self.rows + rows, self.bytes + size)


def charge(connection: Connection, name: str, rows: int, size: int, quota: Quota, now: datetime) -> None:
    """Add to a token's usage, within the transaction that stores what it reports.

    Raises
    ------
    QuotaError
        The sum exceeds the quota of this hour.
    """
    row = connection.execute(select(*_COLUMNS).where(_TOKEN.c.name == name)).one()
    used = Usage.from_row(row, now).check(rows, size, quota, now)
    values = {"quota_hour": format_timestamp(used.hour), "quota_rows": used.rows, "quota_bytes": used.bytes}
    connection.execute(update(_TOKEN).where(_TOKEN.c.name == name).values(**values))
