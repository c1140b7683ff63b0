"""Name the servers and chips of a placement."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

_MAX_NAMES: Final = 8


def abbreviate_places(places: Sequence[str]) -> str:
    """Addresses for people: chips by their servers, and how many there are more than the first few."""
    names = group_chips(places)
    remaining = len(names) - _MAX_NAMES
    return ", ".join([*names[:_MAX_NAMES], *([f"{remaining:,} more"] if remaining > 0 else [])])


def group_chips(places: Sequence[str]) -> list[str]:
    """Addresses with the chips of a server as one, which `trninv.inventory.ranges.each_of` writes out again."""
    return [
        name
        for parent, members in groupby(places, _server_of)
        for name in ([_format_chips(parent, members)] if parent else members)
    ]


def _server_of(place: str) -> str:
    """Return the server of a chip, or an empty result for any other part."""
    server, _, last = place.rpartition("/")
    return server if last.startswith("c") else ""


def _format_chips(server: str, chips: Iterator[str]) -> str:
    numbers = [int(chip.rpartition("/c")[2]) for chip in chips]
    runs = [[n for _, n in run] for _, run in groupby(enumerate(numbers), lambda each: each[1] - each[0])]
    return f"{server}/c" + ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
