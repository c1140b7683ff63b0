"""Which state of the database an answer was read from, as headers."""

from typing import Final

from trninv.inventory.pinned import AsOf

HEADER: Final = "X-As-Of"
LEFT_OUT: Final = "X-Left-Out"


def as_of(found: AsOf | None) -> dict[str, str]:
    """X-As-Of: the time, and the revision where it is known, as in 2026-11-22T07:20:00.000Z; revision=0f3a….

    X-Left-Out: the clusters of which nothing is known at that time, if there are any, with commas between them.
    """
    if found is None:
        return {}
    said = found.fields()
    left_out = {LEFT_OUT: ", ".join(each.slug for each in found.left_out)} if found.left_out else {}
    state = f"{said['time']}; revision={said['revision']}" if said["revision"] else str(said["time"])
    return {HEADER: state} | left_out
