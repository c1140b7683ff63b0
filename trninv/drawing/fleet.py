"""Every chip of a fleet as a square: domain by domain, and in a domain servers as blocks.

web/src/fleet/svg.ts draws the same.
"""

from collections.abc import Iterator
from math import ceil, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from trninv.drawing.svg import BAD, PAPER, REPAIR, WORN
from trninv.inventory.schema import STATES
from trninv.routing.overview import Overview, Part

COLOURINGS: Final = ("state", "pool", "rack", "domain")
_STATE: Final = {"up": "#a9b7c8", "degraded": WORN, "down": BAD, "maintenance": REPAIR}
_POOL: Final = ("#0b4a8f", "#2a70b5", "#5b98d0", "#94bee3", "#c3dbf0")
"""Of the fifths of what a domain's chips can pool, the smallest first."""
_PLACE: Final = (_POOL[4], _POOL[2])
"""Of places with even and odd numbers."""
_ASPECT = 1.6


def picture(of: Overview, colouring: str = "state") -> str:
    """An SVG document: one path per colour, and one square for a domain that has a single colour."""
    side = max(_side(part) for part in of.parts)
    columns = min(of.domains, ceil(sqrt(of.domains * _ASPECT)))
    width, height = (count * (side + 1) + 1 for count in (columns, ceil(of.domains / columns)))
    colours, palette = _colours(of, colouring)
    paths: dict[str, list[str]] = {}
    for domain, (part, chips) in enumerate(_by_domain(of, colours)):
        left, top = 1 + domain % columns * (side + 1), 1 + domain // columns * (side + 1)
        alike = len(chips) == side**2 and bool((chips == chips[0]).all())
        size = side if alike else 1
        for at, colour in enumerate(chips[:1] if alike else chips):
            x, y = _cell(part, at)
            paths.setdefault(palette[colour], []).append(f"M{left + x} {top + y}h{size}v{size}h-{size}z")
    shapes = "".join(f'<path fill="{colour}" d="{"".join(paths[colour])}"/>' for colour in sorted(paths))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" shape-rendering="crispEdges">'
        f'<title>{of.cluster}</title><rect width="100%" height="100%" fill="{PAPER}"/>{shapes}</svg>\n'
    )


def _block(part: Part) -> tuple[int, int, int]:
    """How many cells wide and high a server is, and how many servers stand side by side."""
    wide = ceil(sqrt(part.chips_per_server))
    return wide, ceil(part.chips_per_server / wide), ceil(sqrt(part.servers_per_domain))


def _side(part: Part) -> int:
    """Cells along one side of a domain."""
    wide, high, across = _block(part)
    return max(wide * across, high * ceil(part.servers_per_domain / across))


def _cell(part: Part, chip: int) -> tuple[int, int]:
    """Of a chip, within its domain."""
    wide, high, across = _block(part)
    (below, beside), (y, x) = (
        divmod(at, many) for at, many in zip(divmod(chip, part.chips_per_server), (across, wide), strict=True)
    )
    return beside * wide + x, below * high + y


def _by_domain(of: Overview, chips: NDArray[np.int64]) -> Iterator[tuple[Part, NDArray[np.int64]]]:
    for part in of.parts:
        for domain in chips[part.first_chip : part.first_chip + part.chips].reshape(part.domains, -1):
            yield part, domain


def _colours(of: Overview, colouring: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """A palette, and the index of each chip's colour in it: what is not up has that of its state always."""
    states = np.frombuffer(of.states, np.uint8).astype(np.int64)
    known = tuple(_STATE[state] for state in STATES)
    if colouring == "state":
        return states, known
    values, palette = _values(of, colouring)
    return np.where(states == STATES.index("up"), len(known) + values, states), known + palette


def _values(of: Overview, colouring: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    match colouring:
        case "pool":
            most = np.concatenate([np.full(part.chips, part.chips_per_domain) for part in of.parts])
            fifth = 5 * np.frombuffer(of.pools, np.uint8).astype(np.int64) // most
            return np.minimum(4, fifth), _POOL
        case "rack":
            per_rack = [part.chips_per_server * part.servers_per_rack for part in of.parts]
            racks = [
                part.first_rack + np.arange(part.chips) // chips for part, chips in zip(of.parts, per_rack, strict=True)
            ]
            return np.concatenate(racks) % len(_PLACE), _PLACE
        case _:
            domains = [part.first_domain + np.arange(part.chips) // part.chips_per_domain for part in of.parts]
            return np.concatenate(domains) % len(_PLACE), _PLACE
