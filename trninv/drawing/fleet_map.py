"""Draw every chip of a cluster as a square, grouped by domain and server, for `trninv draw`.

web/src/fleet/svg.ts draws the same picture in the browser. All coordinates are in cells; a chip is one cell.
"""

from collections.abc import Iterator
from math import ceil, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from trninv.database.tables import STATES
from trninv.drawing.svg import DEGRADED, DOWN, MAINTENANCE, PAPER, UP, resolve_tokens
from trninv.routing.cluster_overview import ClusterOverview, DomainRange

COLORINGS: Final = ("state", "pool", "rack", "domain")
"""What decides the color of healthy chips: their state, the size of their memory pool, their rack or domain."""
_STATE_COLORS: Final = {"up": UP, "degraded": DEGRADED, "down": DOWN, "maintenance": MAINTENANCE}
_POOL_COLORS: Final = tuple(f"var(--pool-{fifth})" for fifth in range(5))
"""Colors of pool sizes in fifths of a domain, the smallest first."""
_ALTERNATING_COLORS: Final = (_POOL_COLORS[4], _POOL_COLORS[2])
"""Colors of racks or domains with even and odd numbers."""
_ASPECT_RATIO: Final = 1.6
"""Columns per row of the grid of domains."""


def draw_fleet(overview: ClusterOverview, coloring: str = "state") -> str:
    """Return an SVG with one path per color; a domain of a single color whose chips fill its square is one square."""
    side = max(_domain_side(domain_range) for domain_range in overview.ranges)
    columns = min(overview.domains, ceil(sqrt(overview.domains * _ASPECT_RATIO)))
    width, height = (count * (side + 1) + 1 for count in (columns, ceil(overview.domains / columns)))
    colors, palette = _chip_colors(overview, coloring)
    paths: dict[str, list[str]] = {}
    for domain, (domain_range, chip_colors) in enumerate(_by_domain(overview, colors)):
        domain_x, domain_y = 1 + domain % columns * (side + 1), 1 + domain // columns * (side + 1)
        is_uniform = len(chip_colors) == side**2 and bool((chip_colors == chip_colors[0]).all())
        size = side if is_uniform else 1
        for index, color in enumerate(chip_colors[:1] if is_uniform else chip_colors):
            x, y = _cell_of(domain_range, index)
            paths.setdefault(palette[color], []).append(f"M{domain_x + x} {domain_y + y}h{size}v{size}h-{size}z")
    colors_used = sorted(paths, key=resolve_tokens)
    shapes = "".join(f'<path fill="{color}" d="{"".join(paths[color])}"/>' for color in colors_used)
    return resolve_tokens(
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
    """Return the cell (x, y) within its domain of the chip at an index in the domain."""
    width, height, servers_per_row = _server_grid(domain_range)
    server, ordinal = divmod(chip, domain_range.chips_per_server)
    server_row, server_column = divmod(server, servers_per_row)
    y, x = divmod(ordinal, width)
    return server_column * width + x, server_row * height + y


def _by_domain(overview: ClusterOverview, values: NDArray[np.int64]) -> Iterator[tuple[DomainRange, NDArray[np.int64]]]:
    """Yield each domain's range and the values of its chips, given one value per chip of the cluster."""
    for domain_range in overview.ranges:
        range_values = values[domain_range.first_chip : domain_range.first_chip + domain_range.chips]
        for domain_values in range_values.reshape(domain_range.domains, -1):
            yield domain_range, domain_values


def _chip_colors(overview: ClusterOverview, coloring: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return the index of each chip's color and the palette; unhealthy chips always have their state's color."""
    states = np.frombuffer(overview.states, np.uint8).astype(np.int64)
    state_palette = tuple(_STATE_COLORS[state] for state in STATES)
    if coloring == "state":
        return states, state_palette
    values, palette = _color_values(overview, coloring)
    return np.where(states == STATES.index("up"), len(state_palette) + values, states), state_palette + palette


def _color_values(overview: ClusterOverview, coloring: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return the index of each chip's color, regardless of its state, and the palette."""
    match coloring:
        case "pool":
            domain_sizes = np.concatenate(
                [np.full(domain_range.chips, domain_range.chips_per_domain) for domain_range in overview.ranges]
            )
            fifths = 5 * np.frombuffer(overview.pool_sizes, np.uint8).astype(np.int64) // domain_sizes
            return np.minimum(4, fifths), _POOL_COLORS
        case "rack":
            racks = [
                domain_range.first_rack
                + np.arange(domain_range.chips) // (domain_range.chips_per_server * domain_range.servers_per_rack)
                for domain_range in overview.ranges
            ]
            return np.concatenate(racks) % len(_ALTERNATING_COLORS), _ALTERNATING_COLORS
        case _:  # by domain
            domains = [
                domain_range.first_domain + np.arange(domain_range.chips) // domain_range.chips_per_domain
                for domain_range in overview.ranges
            ]
            return np.concatenate(domains) % len(_ALTERNATING_COLORS), _ALTERNATING_COLORS
