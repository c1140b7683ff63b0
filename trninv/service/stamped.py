"""Which state of the database an answer was read from, as a header."""

from typing import Final

from trninv.inventory.pinned import AsOf

HEADER: Final = "X-As-Of"


def as_of(found: AsOf | None) -> dict[str, str]:
    """X-As-Of: the time, and the revision where it is known, as in 2026-11-22T07:20:00.000Z; revision=0f3a…."""
    if found is None:
        return {}
    said = found.fields()
    return {HEADER: f"{said['time']}; revision={said['revision']}" if said["revision"] else str(said["time"])}
