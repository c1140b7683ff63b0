"""Format the chips of a job as text, and parse such texts.

Events, and the recorded starts of a cluster's history, store the ids of a job's chips in this form:
"1-16,20;33" means that the job works on chips 1 to 16 and 20, with 33 as a spare.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

_MAX_CHIPS: Final = 10_000_000
"""The maximum number of chips of a job, since plain SQL may write a range that is too large for memory."""
_RANGES: Final = r"\d{1,18}(?:-\d{1,18})?(?:,\d{1,18}(?:-\d{1,18})?)*"
_FORM: Final = re.compile(rf"(?:{_RANGES})?(?:;{_RANGES})?", re.ASCII)


def format_chip_ids(roles: Mapping[int, str]) -> str:
    """Format chip ids, in ascending order, from their roles: "work" or "spare"."""
    work, spare = (
        _format_ranges(sorted(key for key, chip_role in roles.items() if chip_role == role))
        for role in ("work", "spare")
    )
    return f"{work};{spare}" if spare else work


def parse_chip_ids(text: str) -> dict[int, str] | None:
    """Return the role of each chip id in a text, or None if it is malformed or has too many chips."""
    if not _FORM.fullmatch(text):
        return None
    ranges_by_role = {role: _parse_ranges(part) for role, part in zip(("work", "spare"), text.split(";"), strict=False)}
    sizes = [last - first + 1 for ranges in ranges_by_role.values() for first, last in ranges]
    if min(sizes, default=1) < 1 or sum(sizes) > _MAX_CHIPS:
        return None
    roles = dict[int, str]()
    for role, ranges in ranges_by_role.items():
        for first, last in ranges:
            roles |= dict.fromkeys(range(first, last + 1), role)
    return roles


def _format_ranges(ids: Iterable[int]) -> str:
    ranges: list[list[int]] = []
    for key in ids:
        if ranges and key == ranges[-1][1] + 1:
            ranges[-1][1] = key
        else:
            ranges.append([key, key])
    return ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in ranges)


def _parse_ranges(text: str) -> list[tuple[int, int]]:
    """Return the first and the last id of each range."""
    ranges = (part.partition("-") for part in text.split(",") if part)
    return [(int(first), int(last or first)) for first, _, last in ranges]
