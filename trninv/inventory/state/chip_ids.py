"""Write the chips of a job as text, and read them back."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

_MAX_CHIPS: Final = 10_000_000
"""The maximum number of chips of a job: plain SQL may write a range too large for memory."""
_RUNS: Final = r"\d{1,18}(?:-\d{1,18})?(?:,\d{1,18}(?:-\d{1,18})?)*"
_FORM: Final = re.compile(rf"(?:{_RUNS})?(?:;{_RUNS})?", re.ASCII)


def format_chip_ids(roles: Mapping[int, str]) -> str:
    """Write chip ids with their roles as text; equal chips give equal text."""
    work, spare = (
        _ranges(sorted(key for key, chip_role in roles.items() if chip_role == role)) for role in ("work", "spare")
    )
    return f"{work};{spare}" if spare else work


def parse_chip_ids(text: str) -> dict[int, str] | None:
    """Return the role of each chip id in a text, or None if `format_chip_ids` does not write such a text."""
    if not _FORM.fullmatch(text):
        return None
    runs = {role: _runs_of(part) for role, part in zip(("work", "spare"), text.split(";"), strict=False)}
    sizes = [last - first + 1 for role_runs in runs.values() for first, last in role_runs]
    if min(sizes, default=1) < 1 or sum(sizes) > _MAX_CHIPS:
        return None
    return {
        key: role for role, role_runs in runs.items() for first, last in role_runs for key in range(first, last + 1)
    }


def _ranges(ids: Iterable[int]) -> str:
    runs: list[list[int]] = []
    for key in ids:
        if runs and key == runs[-1][1] + 1:
            runs[-1][1] = key
        else:
            runs.append([key, key])
    return ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in runs)


def _runs_of(text: str) -> list[tuple[int, int]]:
    """Return the first and the last id of each range."""
    ranges = (run.partition("-") for run in filter(None, text.split(",")))
    return [(int(first), int(last or first)) for first, _, last in ranges]
