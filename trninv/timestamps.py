"""Format times for the database: UTC with microseconds, so that texts sort in the order of times."""

from datetime import UTC, datetime


def format_timestamp(time: datetime) -> str:
    """Return a time as the database stores it, such as ``2026-11-22T02:00:00.000000+00:00``."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def format_lower_bound(time: datetime) -> str:
    """Return the smallest text of a time, for ``>=`` and ``<`` on events.

    Events written before schema version 0017 have no fraction of a second, and are sealed in that form.
    """
    return time.astimezone(UTC).isoformat()


def current_timestamp() -> str:
    """Return the present time as the database stores it."""
    return format_timestamp(datetime.now(UTC))
