"""Format times for the database: UTC, six digits of a second, so that texts compare as the times do."""

from datetime import UTC, datetime


def format_timestamp(time: datetime) -> str:
    """Return a time as the database stores it, such as ``2026-11-22T02:00:00.000000+00:00``."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def format_lower_bound(time: datetime) -> str:
    """Return the least text of a time, for ``>=`` and ``<`` on events.

    Events of before revision 0017 are sealed as they were written, without a fraction of a second.
    """
    return time.astimezone(UTC).isoformat()


def current_timestamp() -> str:
    """Return the present time as the database stores it."""
    return format_timestamp(datetime.now(UTC))
