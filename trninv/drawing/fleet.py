"""Every chip of a fleet as a square, domain by domain. web/src/overview.ts draws the same."""

from math import ceil, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from trninv.drawing.svg import PAPER
from trninv.routing.overview import Overview

COLOURINGS: Final = ("state", "pool", "rack", "domain")
_STATE: Final = ("#3d9a73", "#e0a526", "#d6453d", "#8b6fc4")
_POOL: Final = ("#d6453d", "#e07b39", "#e0a526", "#9cc36b", "#3d9a73")
_PLACE: Final = ("#4269d0", "#efb118", "#3ca951", "#a463f2", "#ff725c", "#6cc5b0", "#9c6b4e", "#97bbf5")
_ASPECT = 1.6


def picture(of: Overview, colouring: str = "state") -> str:
    """An SVG document: one path per colour, and one square for a domain that has a single colour."""
    side = ceil(sqrt(of.chips_per_domain))
    columns = ceil(sqrt(of.domains * _ASPECT))
    width, height = (count * (side + 1) + 1 for count in (columns, ceil(of.domains / columns)))
    colours, palette = _colours(of, colouring)
    paths: dict[str, list[str]] = {}
    for domain, chips in enumerate(colours.reshape(of.domains, -1)):
        left, top = 1 + domain % columns * (side + 1), 1 + domain // columns * (side + 1)
        alike = of.chips_per_domain == side**2 and bool((chips == chips[0]).all())
        size = side if alike else 1
        for at, colour in enumerate(chips[:1] if alike else chips):
            x, y = left + at % side, top + at // side
            paths.setdefault(palette[colour], []).append(f"M{x} {y}h{size}v{size}h-{size}z")
    shapes = "".join(f'<path fill="{colour}" d="{"".join(paths[colour])}"/>' for colour in sorted(paths))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" shape-rendering="crispEdges">'
        f'<title>{of.cluster}</title><rect width="100%" height="100%" fill="{PAPER}"/>{shapes}</svg>\n'
    )


def _colours(of: Overview, colouring: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """A palette, and the index of each chip's colour in it."""
    chip = np.arange(of.chips)
    match colouring:
        case "state":
            return np.frombuffer(of.states, np.uint8).astype(np.int64), _STATE
        case "pool":
            fifth = 5 * np.frombuffer(of.pools, np.uint8).astype(np.int64) // of.chips_per_domain
            return np.minimum(4, fifth), _POOL
        case "rack":
            return chip // of.chips_per_server // of.servers_per_rack % len(_PLACE), _PLACE
        case _:
            return chip // of.chips_per_domain % len(_PLACE), _PLACE
