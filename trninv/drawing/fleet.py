"""Every chip of a fleet as a square, domain by domain. web/src/overview.ts draws the same."""

from collections.abc import Iterator
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
    side = ceil(sqrt(max(part.chips_per_domain for part in of.parts)))
    columns = ceil(sqrt(of.domains * _ASPECT))
    width, height = (count * (side + 1) + 1 for count in (columns, ceil(of.domains / columns)))
    colours, palette = _colours(of, colouring)
    paths: dict[str, list[str]] = {}
    for domain, chips in enumerate(_by_domain(of, colours)):
        left, top = 1 + domain % columns * (side + 1), 1 + domain // columns * (side + 1)
        alike = len(chips) == side**2 and bool((chips == chips[0]).all())
        size = side if alike else 1
        for at, colour in enumerate(chips[:1] if alike else chips):
            x, y = left + at % side, top + at // side
            paths.setdefault(palette[colour], []).append(f"M{x} {y}h{size}v{size}h-{size}z")
    shapes = "".join(f'<path fill="{colour}" d="{"".join(paths[colour])}"/>' for colour in sorted(paths))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" shape-rendering="crispEdges">'
        f'<title>{of.cluster}</title><rect width="100%" height="100%" fill="{PAPER}"/>{shapes}</svg>\n'
    )


def _by_domain(of: Overview, chips: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    for part in of.parts:
        yield from chips[part.first_chip : part.first_chip + part.chips].reshape(part.domains, -1)


def _colours(of: Overview, colouring: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """A palette, and the index of each chip's colour in it."""
    match colouring:
        case "state":
            return np.frombuffer(of.states, np.uint8).astype(np.int64), _STATE
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
