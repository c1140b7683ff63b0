"""What a token of scope observe may report in an hour of UTC: rows, and bytes of bodies, that the database keeps.

The counts stand in the token's row, so that all workers share them and a restart forgets none. Each hour begins anew.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any, Final

from sqlalchemy import Connection, Row, select, update

from trninv.errors import QuotaError
from trninv.inventory.schema import TABLES
from trninv.timestamps import format_timestamp

_HOUR: Final = timedelta(hours=1)
_TOKEN: Final = TABLES["token"]
_COLUMNS: Final = tuple(_TOKEN.c[name] for name in ("quota_hour", "quota_rows", "quota_bytes"))


@dataclass(frozen=True, slots=True)
class Quota:
    """How much a token may report in an hour."""

    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Usage:
    """What a token has reported since the beginning of an hour."""

    hour: datetime
    rows: int = 0
    bytes: int = 0

    @classmethod
    def of(cls, row: Row[Any], now: datetime) -> "Usage":
        """Return what a row of ``token`` says of this hour; a clock that went back begins no hour again."""
        hour = now.replace(minute=0, second=0, microsecond=0)
        if row.quota_hour is None or (began := datetime.fromisoformat(row.quota_hour)) < hour:
            return cls(hour)
        return cls(began, row.quota_rows, row.quota_bytes)

    def check(self, rows: int, size: int, quota: Quota, now: datetime) -> "Usage":
        """Return it with more rows and bytes.

        Raises
        ------
        QuotaError
            That is more than the quota.

        """
        end = self.hour + _HOUR
        for unit, used, more, most in (
            ("rows", self.rows, rows, quota.rows),
            ("bytes", self.bytes, size, quota.bytes),
        ):
            if used + more > most:
                says = (
                    f"this token has reported {used:,} {unit} since {self.hour:%H:%M} UTC, and {more:,} more are above"
                )
                wait = f"try again at {end:%H:%M} UTC, or have TRNINV_OBSERVE_{unit.upper()} raised"
                raise QuotaError(f"{says} the {most:,} of an hour: {wait}", unit, ceil((end - now).total_seconds()))
        return Usage(self.hour, self.rows + rows, self.bytes + size)


def charge(connection: Connection, name: str, rows: int, size: int, quota: Quota, now: datetime) -> None:
    """Count what a token reports, within the transaction that keeps it.

    Raises
    ------
    QuotaError
        It is too much for this hour.

    """
    row = connection.execute(select(*_COLUMNS).where(_TOKEN.c.name == name)).one()
    used = Usage.of(row, now).check(rows, size, quota, now)
    values = {"quota_hour": format_timestamp(used.hour), "quota_rows": used.rows, "quota_bytes": used.bytes}
    connection.execute(update(_TOKEN).where(_TOKEN.c.name == name).values(**values))
