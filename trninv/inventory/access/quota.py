"""Limit what a token may report in an hour.

The service charges each request that stores observations to the token's principal, whichever of its tokens it uses. The
counts are columns of the principal's row, so that all workers share them and a restart keeps them. Each hour starts at
zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, case, literal_column

from trninv.database.bulk_load import bulk_update
from trninv.database.sql_constructs import CurrentHour
from trninv.database.tables import TABLES
from trninv.errors import QuotaError
from trninv.units import format_timestamp

_HOUR: Final = timedelta(hours=1)
_TOKEN: Final = TABLES["token"]
_PRINCIPAL: Final = TABLES["principal"]


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
        """Read the current hour's usage from a row of ``principal``.

        If the clock was set back, the stored hour is later than the current one; its usage still counts.
        """
        hour = now.replace(minute=0, second=0, microsecond=0)
        if row.quota_hour is None or (stored_hour := datetime.fromisoformat(row.quota_hour)) < hour:
            return cls(hour)
        return cls(stored_hour, row.quota_rows, row.quota_bytes)

    def check(self, rows: int, size: int, quota: Quota, now: datetime) -> "Usage":
        """Return the usage after reporting `rows` more rows and `size` more bytes, or refuse them.

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


def save_usage(connection: Connection, usages: Mapping[str, Usage]) -> None:
    """Write the usage of principals, by their names, within the transaction that stores what they report."""
    rows = [
        {"name": name, "quota_hour": format_timestamp(used.hour), "quota_rows": used.rows, "quota_bytes": used.bytes}
        for name, used in sorted(usages.items())
    ]
    bulk_update(connection, _PRINCIPAL, "name", rows)


def reported_this_hour(unit: str) -> ColumnElement[int | None]:
    """Return the rows or bytes that a token's principal reported in this hour, in SQL; null if it may not report."""
    is_current, may_report = _PRINCIPAL.c.quota_hour >= CurrentHour(), _TOKEN.c.scope == literal_column("'observe'")
    reported = case((is_current, _PRINCIPAL.c[f"quota_{unit}"]), else_=literal_column("0"))
    return case((may_report, reported))
