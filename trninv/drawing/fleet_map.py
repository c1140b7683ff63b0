"""Draw every chip of a fleet as a square, grouped by domain and server.

web/src/fleet/svg.ts draws the same.
"""

from collections.abc import Iterator
from math import ceil, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from trninv.database.tables import STATES
from trninv.drawing.svg import DEGRADED, DOWN, MAINTENANCE, PAPER
from trninv.routing.cluster_overview import ClusterOverview, DomainRange

COLORINGS: Final = ("state", "pool", "rack", "domain")
_STATE_COLORS: Final = {"up": "#a9b7c8", "degraded": DEGRADED, "down": DOWN, "maintenance": MAINTENANCE}
_POOL_COLORS: Final = ("#0b4a8f", "#2a70b5", "#5b98d0", "#94bee3", "#c3dbf0")
"""Colours of pool sizes in fifths of a domain, the smallest first."""
_ALTERNATING_COLORS: Final = (_POOL_COLORS[4], _POOL_COLORS[2])
"""Colours of racks or domains with even and odd numbers."""
_ASPECT_RATIO = 1.6


def draw_fleet(overview: ClusterOverview, coloring: str = "state") -> str:
    """Return an SVG with one path per colour; a domain of a single colour is one square."""
    side = max(_domain_side(domain_range) for domain_range in overview.ranges)
    columns = min(overview.domains, ceil(sqrt(overview.domains * _ASPECT_RATIO)))
    width, height = (count * (side + 1) + 1 for count in (columns, ceil(overview.domains / columns)))
    colors, palette = _chip_colors(overview, coloring)
    paths: dict[str, list[str]] = {}
    for domain, (domain_range, chips) in enumerate(_by_domain(overview, colors)):
        domain_x, domain_y = 1 + domain % columns * (side + 1), 1 + domain // columns * (side + 1)
        is_uniform = len(chips) == side**2 and bool((chips == chips[0]).all())
        size = side if is_uniform else 1
        for index, color in enumerate(chips[:1] if is_uniform else chips):
            x, y = _cell_of(domain_range, index)
            paths.setdefault(palette[color], []).append(f"M{domain_x + x} {domain_y + y}h{size}v{size}h-{size}z")
    shapes = "".join(f'<path fill="{color}" d="{"".join(paths[color])}"/>' for color in sorted(paths))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" shape-rendering="crispEdges">'
        f'<title>{overview.cluster}</title><rect width="100%" height="100%" fill="{PAPER}"/>{shapes}</svg>\n'
    )


def _server_grid(domain_range: DomainRange) -> tuple[int, int, int]:
    """Return the width and height of a server in cells, and the number of servers in a row."""
    width = ceil(sqrt(domain_range.chips_per_server))
    return width, ceil(domain_range.chips_per_server / width), ceil(sqrt(domain_range.servers_per_domain))


def _domain_side(domain_range: DomainRange) -> int:
    """Return the side of a domain's square in cells."""
    width, height, servers_per_row = _server_grid(domain_range)
    return max(width * servers_per_row, height * ceil(domain_range.servers_per_domain / servers_per_row))


def _cell_of(domain_range: DomainRange, chip: int) -> tuple[int, int]:
    """Return the cell (x, y) of a chip within its domain."""
    width, height, servers_per_row = _server_grid(domain_range)
    (server_row, server_column), (y, x) = (
        divmod(number, divisor)
        for number, divisor in zip(divmod(chip, domain_range.chips_per_server), (servers_per_row, width), strict=True)
    )
    return server_column * width + x, server_row * height + y


def _by_domain(overview: ClusterOverview, chips: NDArray[np.int64]) -> Iterator[tuple[DomainRange, NDArray[np.int64]]]:
    for domain_range in overview.ranges:
        for domain in chips[domain_range.first_chip : domain_range.first_chip + domain_range.chips].reshape(
            domain_range.domains, -1
        ):
            yield domain_range, domain


def _chip_colors(overview: ClusterOverview, coloring: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return the index of each chip's colour and the palette; unhealthy chips always have their state's colour."""
    states = np.frombuffer(overview.states, np.uint8).astype(np.int64)
    state_palette = tuple(_STATE_COLORS[state] for state in STATES)
    if coloring == "state":
        return states, state_palette
    values, palette = _color_values(overview, coloring)
    return np.where(states == STATES.index("up"), len(state_palette) + values, states), state_palette + palette


def _color_values(overview: ClusterOverview, coloring: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    match coloring:
        case "pool":
            domain_sizes = np.concatenate(
                [np.full(domain_range.chips, domain_range.chips_per_domain) for domain_range in overview.ranges]
            )
            fifths = 5 * np.frombuffer(overview.pool_sizes, np.uint8).astype(np.int64) // domain_sizes
            return np.minimum(4, fifths), _POOL_COLORS
        case "rack":
            per_rack = [
                domain_range.chips_per_server * domain_range.servers_per_rack for domain_range in overview.ranges
            ]
            racks = [
                domain_range.first_rack + np.arange(domain_range.chips) // chips
                for domain_range, chips in zip(overview.ranges, per_rack, strict=True)
            ]
            return np.concatenate(racks) % len(_ALTERNATING_COLORS), _ALTERNATING_COLORS
        case _:
            domains = [
                domain_range.first_domain + np.arange(domain_range.chips) // domain_range.chips_per_domain
                for domain_range in overview.ranges
            ]
            return np.concatenate(domains) % len(_ALTERNATING_COLORS), _ALTERNATING_COLORS
