"""Draw the fabric of a cluster with many domains: a row for each network node of a middle tier.

Along a row are the domains below the node, darker where more servers are allocated. What is unhealthy has a mark of at
least 16 pixels, whatever the width of a domain, and beside each row is the over-subscription of the node's uplink.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

from trninv.drawing.fabric_contents import Fabric, FabricDomain
from trninv.drawing.svg import (
    DEGRADED,
    INACTIVE,
    MUTED,
    PANEL_FILL,
    PAPER,
    UP,
    Coordinates,
    add_element,
    add_link,
    draw_label,
    draw_line,
)
from trninv.drawing.symbols import (
    SEVERITY,
    STATE_STYLES,
    body_style,
    describe_parts,
    draw_state_symbol,
    text_color,
)
from trninv.units import Bandwidth, pluralize

_MAX_ROWS, _SHADES = 60, 5
_NAME_WIDTH, _RATIO_WIDTH, _AXIS_HEIGHT, _ROW_GAP = 58.0, 118.0, 24.0, 2.0
_MIN_ROW_HEIGHT, _MAX_ROW_HEIGHT, _HEIGHT = 14.0, 26.0, 520.0
_MARK_RADIUS, _MERGE_DISTANCE = 9.0, 20.0
_EVEN_WIDTH, _OVER = 46.0, 1.005
"""Width of the bar of the ratio 1 : 1, and the ratio from which a bar is marked."""
_NARROW = 600
_TICK_STEPS = [digit * 10**power for power in range(7) for digit in (1, 2, 5)]
_MAX_TICKS, _LAST_LABEL_WIDTH = 6, 100.0


class _Mark(NamedTuple):
    """What is unhealthy near a place of a row: its state, what it says and where it leads."""

    x: float
    state: str
    text: str
    path: str


class _Row(NamedTuple):
    """A network node and the domains below it, each with the node of the lowest tier that it is attached to."""

    node: Any
    domains: Sequence[tuple[FabricDomain, int]]


def draw_rows(root: Element, fabric: Fabric, corner: Coordinates, width: float) -> float:
    """Draw the rows below ``corner`` and return the bottom y."""
    rows = list(_rows(fabric))
    is_narrow = width < _NARROW
    start_x, right = corner[0] + _NAME_WIDTH, width - (0 if is_narrow else _RATIO_WIDTH)
    height = min(max(_HEIGHT / len(rows), _MIN_ROW_HEIGHT), _MAX_ROW_HEIGHT)
    most = max(len(row.domains) for row in rows)
    pitch, top = (right - start_x) / most, corner[1] + _AXIS_HEIGHT
    bottom = top + height * len(rows)
    _draw_axis(root, (start_x, right), (corner[1], bottom), most)
    if not is_narrow:
        _draw_ratio_axis(root, right + 16, (corner[1], bottom))
    for index, row in enumerate(rows):
        y = top + index * height
        _draw_row(root, fabric, row, (start_x, y, pitch, height - _ROW_GAP))
        if not is_narrow:
            _draw_ratio(root, fabric, row.node, (right + 16, y, height - _ROW_GAP))
    occupied: list[tuple[float, float, float, float]] = []
    for index, row in enumerate(rows):
        center = top + index * height + (height - _ROW_GAP) / 2
        for mark in _marks(fabric, row, start_x, pitch):
            _draw_mark(root, mark, center, (start_x, right), occupied)
    return bottom + 8


def _rows(fabric: Fabric) -> Iterator[_Row]:
    """Yield the nodes of the lowest tier above the leaves that is not too large, with the domains below."""
    leaf_tier = max(node.tier for node in fabric.nodes)
    sizes = Counter(node.tier for node in fabric.nodes)
    tier = next((tier for tier in range(leaf_tier - 1, 0, -1) if sizes[tier] <= _MAX_ROWS), 1)
    below: dict[int, list[tuple[FabricDomain, int]]] = {node.id: [] for node in fabric.nodes if node.tier == tier}
    by_id = {node.id: node for node in fabric.nodes}
    for leaf, domains in sorted(fabric.domains.items()):
        above = leaf
        while by_id[above].tier > tier and above in fabric.uplinks:
            above = fabric.uplinks[above].b_id
        if above in below:
            below[above] += [(domain, leaf) for domain in domains]
    return (_Row(by_id[node], domains) for node, domains in below.items() if domains)


def _draw_axis(root: Element, span: tuple[float, float], heights: tuple[float, float], domains: int) -> None:
    step = next(step for step in _TICK_STEPS if domains / step < _MAX_TICKS)
    for tick in range(0, domains, step):
        x = span[0] + (span[1] - span[0]) * tick / domains
        draw_line(root, (x, heights[0] + _AXIS_HEIGHT - 5), (x, heights[1]), stroke="var(--line)", stroke_width=1.0)
        if x < span[1] - _LAST_LABEL_WIDTH or not tick:
            draw_label(root, (x, heights[0] + 13), str(tick), 11, MUTED, text_anchor="middle" if tick else "start")
    draw_label(root, (span[1], heights[0] + 13), f"{domains} domains", 11, MUTED, text_anchor="end")


def _draw_ratio_axis(root: Element, x: float, heights: tuple[float, float]) -> None:
    even = x + _EVEN_WIDTH
    draw_label(root, (even, heights[0] + 13), "ratio 1 : 1", 11, MUTED, text_anchor="middle")
    draw_line(
        root, (even, heights[0] + 18), (even, heights[1]), stroke=INACTIVE, stroke_width=1.0, stroke_dasharray="2 3"
    )


def _draw_row(root: Element, fabric: Fabric, row: _Row, area: tuple[float, float, float, float]) -> None:
    """Draw a node's name and its domains at ``area`` (x, y, width of a domain, height), runs of one shade as one."""
    x, y, pitch, height = area
    node, address = row.node, f"{fabric.address}/t{row.node.tier}/n{row.node.ordinal}"
    link = add_link(root, f"at/{address}", f"{address}, {node.state}: {pluralize(len(row.domains), 'domain')}")
    name = f"t{node.tier}/n{node.ordinal}"
    draw_label(link, (x - 8, y + height / 2 + 4), name, 11, text_color(node.state, MUTED), text_anchor="end")
    style = body_style(node.state) if node.state != "up" else {"fill": PANEL_FILL}
    add_element(link, "rect", x=x, y=y, width=pitch * len(row.domains), height=height, **style)
    shades = [round(domain.allocated_share * (_SHADES - 1)) for domain, _ in row.domains]
    start = 0
    for shade, run in groupby(shades):
        count = len(list(run))
        if shade:
            box = {"x": x + pitch * start, "y": y, "width": pitch * count, "height": height}
            add_element(link, "rect", **box, fill=UP, fill_opacity=shade / (_SHADES - 1))
        start += count


def _draw_ratio(root: Element, fabric: Fabric, node: Any, area: tuple[float, float, float]) -> None:
    """Draw over-subscription as a bar at ``area`` (x, y, height); more than 1 : 1 in words too."""
    x, y, height = area
    if node.id not in fabric.uplinks:
        return
    capacity, below = fabric.capacities[node.id], fabric.carried.get(node.id, 0)
    ratio = below / capacity if capacity else 0.0
    title = f"{Bandwidth(below)} from below, {Bandwidth(capacity)} upward"
    is_over = ratio > _OVER or not capacity
    width = _EVEN_WIDTH * min(ratio, 1.5) if capacity else 4.0
    fill = DEGRADED if is_over else UP
    add_element(root, "rect", title, x=x, y=y + height / 4, width=width, height=height / 2, fill=fill)
    if is_over:
        state = "degraded" if capacity else "down"
        draw_state_symbol(root, (x + width + 9, y + height / 2), state)
        label = f"{ratio:.2f} : 1" if capacity else "carries nothing"
        draw_label(root, (x + width + 18, y + height / 2 + 4), label, 11, text_color(state))


def _marks(fabric: Fabric, row: _Row, start_x: float, pitch: float) -> Iterator[_Mark]:
    """Yield what is unhealthy along a row, from left to right; near each other, they become one mark."""
    cluster = fabric.address.split("/")[0]
    leaves = {node.id: node for node in fabric.nodes if node.state != "up"}
    for leaf, group in groupby(enumerate(row.domains), lambda item: item[1][1]):
        positions = [index for index, _ in group]
        if leaf in leaves:
            node = leaves[leaf]
            name = f"t{node.tier}/n{node.ordinal}"
            x = start_x + pitch * (positions[0] + positions[-1] + 1) / 2
            yield _Mark(x, node.state, f"{name}: {node.state}", f"at/{fabric.address}/{name}")
    near: list[tuple[float, FabricDomain]] = []
    for index, (domain, _) in enumerate(row.domains):
        if domain.worst_state == "up":
            continue
        x = start_x + pitch * (index + 0.5)
        if near and x - near[0][0] > _MERGE_DISTANCE:
            yield _merge(near, cluster)
            near = []
        near.append((x, domain))
    if near:
        yield _merge(near, cluster)


def _merge(near: Sequence[tuple[float, FabricDomain]], cluster: str) -> _Mark:
    state = min((domain.worst_state for _, domain in near), key=SEVERITY.index)
    worst = next(domain for _, domain in near if domain.worst_state == state)
    counts = sum((Counter(domain.counts) for _, domain in near), Counter[tuple[str, str]]())
    parts = describe_parts(counts, state)
    name = f"d{worst.ordinal}" if len(near) == 1 else pluralize(len(near), "domain")
    return _Mark(sum(x for x, _ in near) / len(near), state, f"{name}: {parts}", f"domain/{cluster}/d{worst.ordinal}")


def _draw_mark(
    root: Element, mark: _Mark, y: float, span: tuple[float, float], occupied: list[tuple[float, float, float, float]]
) -> None:
    """Draw a mark, and what it says on the side where there is space, if there is."""
    link = add_link(root, mark.path, f"{mark.text}, {mark.state}")
    style = STATE_STYLES[mark.state]
    add_element(link, "circle", cx=mark.x, cy=y, r=_MARK_RADIUS, fill=PAPER, stroke=style.stroke, stroke_width=1.4)
    draw_state_symbol(link, (mark.x, y), mark.state)
    occupied.append((mark.x - _MARK_RADIUS, y - _MARK_RADIUS, mark.x + _MARK_RADIUS, y + _MARK_RADIUS))
    width = 6.2 * len(mark.text) + 12
    for x in (mark.x + _MARK_RADIUS + 3, mark.x - _MARK_RADIUS - 3 - width):
        box = (x, y - 9, x + width, y + 9)
        if x < span[0] or box[2] > span[1] or any(_overlap(box, other) for other in occupied):
            continue
        occupied.append(box)
        add_element(link, "rect", x=x, y=y - 9, width=width, height=18.0, rx=4.0, fill=PAPER)
        draw_label(link, (x + 6, y + 4), mark.text, 11, text_color(mark.state))
        return


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
