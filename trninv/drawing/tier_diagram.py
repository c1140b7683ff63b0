"""Draw a cluster's fabric, its EFA network, as tiers of network nodes, for the explorer and `trninv draw`.

Each node is as wide as what is attached to it, so that every uplink is a vertical line. Clusters with many domains are
drawn by `trninv.drawing.fabric_rows`.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from math import ceil, sqrt
from textwrap import wrap
from typing import Any, Final
from xml.etree.ElementTree import Element

from trninv.database.tables import CARRYING_STATES
from trninv.drawing.fabric_contents import Fabric, FabricDomain, FabricServer
from trninv.drawing.fabric_rows import draw_rows
from trninv.drawing.fabric_summary import describe_jobs, describe_tiers, format_ratio, summarize_tier
from trninv.drawing.job_lanes import JobLanes
from trninv.drawing.palette import job_color, job_letters, on_job_color
from trninv.drawing.svg import (
    INACTIVE,
    MUTED,
    PANEL_FILL,
    PAPER,
    UP,
    Coordinates,
    Sample,
    Style,
    SvgDocument,
    add_element,
    add_link,
    draw_label,
    draw_line,
    truncate,
)
from trninv.drawing.symbols import (
    SEVERITY,
    STATE_STYLES,
    body_style,
    describe_counts,
    draw_state_counts,
    draw_state_symbol,
    text_color,
)
from trninv.units import Bandwidth, pluralize

_BAR_HEIGHT, _UPLINK_HEIGHT, _GAP, _GUTTER, _LABEL_HEIGHT, _LINE_HEIGHT = 34.0, 38.0, 10.0, 14.0, 15.0, 17.0
_BLOCK_WIDTHS: Final = 140.0, 92.0
"""Least widths of a node: the usual one, and that of nodes which else need a second row."""
_SERVER_SIZES: Final = (30.0, 26.0, 22.0, 20.0, 18.0, 16.0, 14.0, 12.0, 10.0)
"""Sides of a server's square, the largest first, of which the first is taken whose picture is not too high."""
_MAX_HEIGHT, _MAX_NARROW_HEIGHT, _NARROW = 600.0, 1_000.0, 600.0
"""Height above which squares get smaller, and that of a picture which is narrower than the last."""
_MIN_SYMBOL_SIZE: Final = 12.0
"""Side of a square from which a job's letter fits into it."""
_MIN_CORNER_SIZE, _LARGE_SIZE = 18.0, 24.0
"""Sides from which a square has a mark in its corner above its job's letter, and from which that mark is larger."""
_MAX_NAMED_JOBS: Final = 8
"""Most jobs that the legend names."""
_MAX_LEAVES, _MAX_DOMAINS = 60, 400
"""Most nodes of the lowest tier and domains that are drawn one by one."""


def draw_fabric(fabric: Fabric, width: float = 900, *, has_tiers: bool = True) -> SvgDocument:
    """Return the tiers, the top one above, with the domains and servers below them and the jobs between them.

    Without ``has_tiers``, what each tier carries is left to the page that shows the picture.
    """
    tiers = describe_tiers(fabric)
    caption = "; ".join(map(summarize_tier, tiers)) if has_tiers else ""
    domains = sum(map(len, fabric.domains.values()))
    has_many = len(fabric.domains) > _MAX_LEAVES or domains > _MAX_DOMAINS
    for size in _SERVER_SIZES:
        document = SvgDocument(fabric.address, caption)
        y = _draw_counts(document.drawing, fabric, width)
        if has_many:
            y = draw_rows(document.drawing, fabric, (0, y), width)
            break
        drawing = _TierDrawing(fabric, document.drawing, size, width)
        for top in fabric.nodes:
            if top.id not in fabric.uplinks:
                y = drawing.draw_node(top, (1, y, width - 2)) + _GAP
        drawing.draw_jobs()
        if y <= (_MAX_HEIGHT if width >= _NARROW else _MAX_NARROW_HEIGHT):
            break
    document.legend = [
        *([(partial(_draw_sample, UP), "darker: more servers allocated")] if has_many else _job_samples(fabric)),
        (partial(_draw_sample, "var(--free)"), "free"),
        *([] if has_many else _state_samples(fabric)),
    ]
    document.bounds = (0, 0, width, y)
    document.data = {"tiers": json.dumps(tiers), "jobs": json.dumps(describe_jobs(fabric))}
    if not has_many:
        document.data["letters"] = "yes"
    return document


def _draw_sample(fill: str, root: Element, center: Coordinates) -> Element:
    x, y = center
    add_element(root, "rect", x=x - 7, y=y - 7, width=14.0, height=14.0, rx=2.0, fill=fill, stroke=INACTIVE)
    return root


def _job_samples(fabric: Fabric) -> list[tuple[Sample, str]]:
    """Return an entry for each job, the oldest first, or a single one for all if there are many."""
    jobs = sorted(fabric.jobs.values(), key=lambda job: job.ordinal)
    if len(jobs) > _MAX_NAMED_JOBS:
        return [(partial(_draw_job_sample, jobs[0].ordinal), "the job with this letter")]
    return [(partial(_draw_job_sample, job.ordinal), job.name) for job in jobs]


def _draw_job_sample(ordinal: int, root: Element, center: Coordinates) -> Element:
    sample = _draw_sample(job_color(ordinal), root, center)
    baseline = center[0], center[1] + 4
    draw_label(sample, baseline, job_letters(ordinal), 11, on_job_color(ordinal), text_anchor="middle")
    return sample


def _state_samples(fabric: Fabric) -> list[tuple[Sample, str]]:
    """Return an entry for each mark of what is unhealthy, in the worst state that the picture shows with it."""
    domains = [domain for domains in fabric.domains.values() for domain in domains]
    servers = [server for domain in domains for server in domain.servers if server.state != "up"]
    marks: list[tuple[Callable[[str, Element, Coordinates], Element], str, list[str]]] = [
        (_draw_server_sample, "unhealthy server", [server.state for server in servers if not server.is_partial]),
        (_draw_part_sample, "unhealthy parts of a server", [server.state for server in servers if server.is_partial]),
        (
            _draw_link_sample,
            "unhealthy link or switch",
            [domain.state for domain in domains if domain.state != "up"],
        ),
    ]
    return [(partial(draw, min(states, key=SEVERITY.index)), words) for draw, words, states in marks if states]


def _draw_server_sample(state: str, root: Element, center: Coordinates) -> Element:
    sample = _draw_sample(STATE_STYLES[state].stroke, root, center)
    draw_state_symbol(sample, center, state, color=PAPER)
    return sample


def _draw_part_sample(state: str, root: Element, center: Coordinates) -> Element:
    sample = _draw_sample("var(--free)", root, center)
    _draw_part(sample, (center[0] + 7, center[1] - 7), state)
    return sample


def _draw_link_sample(state: str, root: Element, center: Coordinates) -> Element:
    draw_state_symbol(root, center, state)
    return root


def _draw_part(root: Element, corner: Coordinates, state: str, size: float = 11.0) -> None:
    """Draw the mark of unhealthy parts of a server into its upper right corner."""
    x, y = corner
    color = STATE_STYLES[state].stroke
    add_element(root, "rect", x=x - size, y=y, width=size, height=size, rx=1.5, fill=color, stroke=PAPER)
    middle, scale = size / 2, 0.75 * size / 11
    symbol = add_element(root, "g", transform=f"translate({x - middle:.1f} {y + middle:.1f}) scale({scale:.2f})")
    draw_state_symbol(symbol, (0, 0), state, color=PAPER)


def _draw_counts(root: Element, fabric: Fabric, width: float) -> float:
    counts: Counter[tuple[str, str]] = Counter()
    for kind, rows in (("network_node", fabric.nodes), ("uplink", fabric.uplinks.values())):
        counts.update((kind, row.state) for row in rows if row.state != "up")
    return draw_state_counts(root, (0, 0), width, counts) if counts else 2.0


class _TierDrawing:
    """Draws network nodes, each with everything below it, into an element; servers are squares of ``size``."""

    def __init__(self, fabric: Fabric, root: Element, size: float, width: float) -> None:
        self._fabric, self._root, self._size = fabric, root, size
        self._children: dict[int, list[Any]] = {}
        for node in fabric.nodes:
            if node.id in fabric.uplinks:
                self._children.setdefault(fabric.uplinks[node.id].b_id, []).append(node)
        self._boxes: dict[int, tuple[float, float, float]] = {}
        last = max((domain.ordinal for domains in fabric.domains.values() for domain in domains), default=0)
        self._label_width = 6.3 * len(f"d{last}")
        tops = [node for node in fabric.nodes if node.id not in fabric.uplinks]
        is_wrapped = any(self._wraps(top, width - 2) for top in tops)
        leaves = [leaf for top in tops for leaf in self._leaf_ids(top)]
        self._lanes = None if is_wrapped else JobLanes(fabric, leaves)

    def draw_node(self, node: Any, area: tuple[float, float, float]) -> float:
        """Draw a node and everything below it at ``area`` (x, y, width) and return the bottom y."""
        x, y, width = area
        children, domains = self._children.get(node.id, []), self._fabric.domains.get(node.id, ())
        self._boxes[node.id] = area
        lanes = self._lanes.height(node.id) if self._lanes else 0.0
        height = _BAR_HEIGHT + lanes + self._domains_height(domains, width)
        self._draw_box(node, (x, y, width, height))
        if domains:
            self._draw_domains(domains, (x, y + _BAR_HEIGHT, width))
            return self._draw_states(domains, (x, y + height, width))
        return self._draw_children(children, (x, y + height, width)) if children else y + height

    def _draw_children(self, children: Sequence[Any], area: tuple[float, float, float]) -> float:
        """Draw nodes in rows below their parent, which ends at ``area`` (x, y, width); return the bottom y."""
        x, y, width = area
        columns, weights, unit = self._columns(children, width)
        rows = ceil(len(children) / columns)
        gutter = _GUTTER if rows > 1 else 0.0
        are_long = all(
            len(self._uplink_labels(child)[0]) * 5.8 + 12 + 2 * self._lane_width(child) <= unit * weight
            for child, weight in zip(children, weights * rows, strict=False)
        )
        top = bus = y
        for row in range(rows):
            bus, bottom, block_x = top + 6, top, x + gutter
            for column, child in enumerate(children[row * columns : (row + 1) * columns]):
                block_width = unit * weights[column]
                bottom = max(bottom, self.draw_node(child, (block_x, top + _UPLINK_HEIGHT, block_width)))
                start = block_x + block_width / 2, y if row == 0 else bus
                self._draw_uplink(child, start, top + _UPLINK_HEIGHT, is_long=are_long)
                block_x += block_width + _GAP
            if row:  # the first row reaches its parent directly
                draw_line(self._root, (x + 4, bus), (block_x - _GAP - unit / 2, bus), stroke=INACTIVE, stroke_width=1.5)
            top = bottom + _GAP / 2
        if rows > 1:
            draw_line(self._root, (x + 4, y), (x + 4, bus), stroke=INACTIVE, stroke_width=1.5)
        return top - _GAP / 2

    def _columns(self, children: Sequence[Any], width: float) -> tuple[int, list[int], float]:
        """Return the number of nodes of a row, their relative widths, and the width that one stands for."""
        usual, least = (max(1, int((width + _GAP) / (block + _GAP))) for block in _BLOCK_WIDTHS)
        columns = len(children) if len(children) <= least and width >= _NARROW else min(len(children), usual)
        is_wrapped = columns < len(children)
        weights = [1] * columns if is_wrapped else [len(self._leaf_ids(child)) for child in children]
        return columns, weights, (width - _GUTTER * is_wrapped - _GAP * (columns - 1)) / sum(weights)

    def _wraps(self, node: Any, width: float) -> bool:
        """Whether nodes below a node of this width are in several rows."""
        children = self._children.get(node.id, [])
        if not children:
            return False
        columns, weights, unit = self._columns(children, width)
        below = zip(children, weights, strict=False)
        return columns < len(children) or any(self._wraps(child, unit * weight) for child, weight in below)

    def _leaf_ids(self, node: Any) -> list[int]:
        """Return the ids of the lowest nodes at or below a node, from left to right."""
        return [leaf for child in self._children.get(node.id, ()) for leaf in self._leaf_ids(child)] or [node.id]

    def _lane_width(self, node: Any) -> float:
        return self._lanes.width(node.id) if self._lanes else 0.0

    def _uplink_labels(self, node: Any) -> tuple[str, str]:
        """Return what a node's uplink carries with its over-subscription, long and short."""
        capacity = self._fabric.capacities[node.id]
        ratio = f"{format_ratio(self._fabric.carried.get(node.id, 0), capacity)} : 1"
        return (f"{Bandwidth(capacity)} · {ratio}", ratio) if capacity else ("carries nothing", "none")

    def _address(self, node: Any) -> str:
        return f"{self._fabric.address}/t{node.tier}/n{node.ordinal}"

    def _describe_uplink(self, node: Any) -> str:
        uplink = self._fabric.uplinks[node.id]
        cables, bandwidth = pluralize(uplink.cables, "cable"), Bandwidth(self._fabric.capacities[node.id])
        return f"{cables}, {bandwidth} in one direction, {uplink.state}"

    def _draw_box(self, node: Any, area: tuple[float, float, float, float]) -> None:
        x, y, width, height = area
        is_cut_off = node.state in CARRYING_STATES and not self._fabric.capacities.get(node.id, 1)
        state, word = ("down", "cut off") if is_cut_off else (node.state, node.state)
        uplink = f"; uplink: {self._describe_uplink(node)}" if node.id in self._fabric.uplinks else ""
        vendor = f" {node.vendor_id}" if node.vendor_id else ""
        link = add_link(self._root, f"at/{self._address(node)}", f"{self._address(node)}{vendor}, {word}{uplink}")
        style = body_style(state) | ({"fill": PANEL_FILL} if state == "up" else {})
        add_element(link, "rect", x=x, y=y, width=width, height=height, rx=4.0, stroke_width=1.4, **style)
        if height > _BAR_HEIGHT:
            inside: Style = {
                "x": x + 1,
                "y": y + _BAR_HEIGHT - 6,
                "width": width - 2,
                "height": height - _BAR_HEIGHT + 5,
            }
            add_element(link, "rect", **inside, rx=3.0, fill=PAPER)
        if state != "up":  # a sign of up would be read as that of everything below
            draw_state_symbol(link, (x + 14, y + 14), state)
        name = f"t{node.tier}/n{node.ordinal}"
        draw_label(link, (x + (10 if state == "up" else 24), y + 19), name, 13, font_weight="600")
        children = len(self._children.get(node.id, ()))
        below = f"{pluralize(children, f'tier-{node.tier + 1} node')} below" if children else ""
        servers = sum(len(domain.servers) for domain in self._fabric.domains.get(node.id, ()))
        size = pluralize(servers, "server") if servers else f"tier {node.tier} · {below}" if below else ""
        note = ", ".join(filter(None, ["" if state == "up" else word, node.vendor_id or size]))
        fitting = truncate(note, width - 34 - 8 * len(name), 11)
        if state == "up" and not node.vendor_id and fitting != note:
            fitting = ""
        draw_label(link, (x + width - 8, y + 18), fitting, 11, text_color(state, MUTED), text_anchor="end")

    def _cell(self, domains: Sequence[FabricDomain]) -> tuple[int, float, float]:
        """Return the columns of a domain's servers, and the width and height of a domain."""
        servers = max(len(domain.servers) for domain in domains)
        columns, pitch = ceil(sqrt(servers)), self._size + 2
        return columns, max(columns * pitch, self._label_width) + 5, ceil(servers / columns) * pitch + _LABEL_HEIGHT + 3

    def _domains_height(self, domains: Sequence[FabricDomain], width: float) -> float:
        if not domains:
            return 0.0
        _, cell_width, cell_height = self._cell(domains)
        return ceil(len(domains) / self._per_row(len(domains), cell_width, width)) * cell_height

    def _per_row(self, domains: int, cell_width: float, width: float) -> int:
        """Return the domains of a row, so that all rows are about as long."""
        most = max(1, int((width - 8) / cell_width))
        return ceil(domains / ceil(domains / most))

    def _draw_domains(self, domains: Sequence[FabricDomain], area: tuple[float, float, float]) -> None:
        x, y, width = area
        columns, cell_width, cell_height = self._cell(domains)
        per_row = self._per_row(len(domains), cell_width, width)
        pitch_x = (width - 8) / per_row
        cluster = self._fabric.address.split("/")[0]
        for index, domain in enumerate(domains):
            row, column = divmod(index, per_row)
            drawn_width = max(columns * (self._size + 2) - 2, self._label_width)
            domain_x = x + 4 + column * pitch_x + (pitch_x - drawn_width) / 2
            top, address = y - 3 + row * cell_height, f"{cluster}/d{domain.ordinal}"
            link = add_link(self._root, f"domain/{address}", f"{address}, {domain.worst_state}")
            draw_label(link, (domain_x, top + 11), f"d{domain.ordinal}", 11, text_color(domain.worst_state, MUTED))
            for number, server in enumerate(domain.servers):
                down, across = divmod(number, columns)
                corner = domain_x + across * (self._size + 2), top + _LABEL_HEIGHT + down * (self._size + 2)
                self._draw_server(server, f"{address}/s{server.ordinal}", corner)
            # a link between two servers is between them, a switch amid all
            everywhere = (0, len(domain.servers) - 1)
            for ends, state in (domain.links or {everywhere: domain.state}).items() if domain.state != "up" else ():
                (row_a, column_a), (row_b, column_b) = (divmod(number, columns) for number in ends)
                middle = (
                    domain_x + (column_a + column_b + 1) / 2 * (self._size + 2) - 1,
                    top + _LABEL_HEIGHT + (row_a + row_b + 1) / 2 * (self._size + 2) - 1,
                )
                draw_state_symbol(add_element(self._root, "g"), middle, state, backed=True)

    def _draw_server(self, server: FabricServer, address: str, corner: Coordinates) -> None:
        job = min(
            (self._fabric.jobs[job] for job in server.jobs),
            key=lambda job: (not job.is_crossing, job.ordinal),
            default=None,
        )
        jobs = "" if not server.jobs else f", {pluralize(len(server.jobs), 'job')}"
        state = f"parts {server.state}" if server.is_partial else server.state
        link = add_link(self._root, f"at/{address}", f"{address}, {state}{jobs}")
        size, center = self._size, (corner[0] + self._size / 2, corner[1] + self._size / 2)
        # a small square has no space for a mark beside its job
        has_corner_mark = server.is_partial and size >= _MIN_CORNER_SIZE
        is_filled = server.state != "up" and not has_corner_mark
        style: Style = {"fill": "var(--free)", "stroke": "var(--link-idle)"}
        if is_filled or job:
            color = STATE_STYLES[server.state].stroke if is_filled or not job else job_color(job.ordinal)
            style = {"fill": color, "stroke": color}
        add_element(link, "rect", x=corner[0], y=corner[1], width=size, height=size, rx=2.0, **style)
        if is_filled:
            draw_state_symbol(link, center, server.state, color=PAPER)
        elif job and size >= _MIN_SYMBOL_SIZE:
            aside = 3 if has_corner_mark else 0  # the mark leaves the letter uncovered
            y = corner[1] + size - 2 if has_corner_mark and size < _LARGE_SIZE else center[1] + 4 + aside
            baseline, color = (center[0] - aside, y), on_job_color(job.ordinal)
            letters = truncate(job_letters(job.ordinal), size, 9)
            draw_label(link, baseline, letters, 11, color, text_anchor="middle", font_weight="600")
        if has_corner_mark:
            _draw_part(link, (corner[0] + size, corner[1]), server.state, 11.0 if size >= _LARGE_SIZE else 9.0)

    def _draw_states(self, domains: Sequence[FabricDomain], area: tuple[float, float, float]) -> float:
        """Write what is unhealthy below a node in words, a line for each state; return the bottom y."""
        x, y, width = area
        counts = sum((Counter(domain.counts) for domain in domains), Counter[tuple[str, str]]())
        states = [state for state in SEVERITY if any(other == state for _, other in counts)] or ["up"]
        baseline = y + 15
        for state in states:
            draw_state_symbol(self._root, (x + 9, baseline - 4), state)
            text = describe_counts(counts, state) if counts else "all up"
            for line in wrap(text, max(8, int((width - 18) / 5.8))):
                draw_label(self._root, (x + 18, baseline), line, 11, text_color(state, MUTED))
                baseline += _LINE_HEIGHT
        return baseline - 11

    def _draw_uplink(self, node: Any, start: Coordinates, end: float, *, is_long: bool) -> None:
        """Draw a node's uplink downward from its parent, with what it carries and its over-subscription."""
        capacity, uplink = self._fabric.capacities[node.id], self._fabric.uplinks[node.id]
        state = "down" if not capacity else "degraded" if capacity < uplink.bandwidth_bytes_per_s else "up"
        color = INACTIVE if state == "up" else STATE_STYLES[state].stroke
        dashes: Style = {} if state == "up" else {"stroke_dasharray": "6 4" if capacity else "1 5"}
        group = add_element(self._root, "g", f"{self._address(node)}: {self._describe_uplink(node)}")
        draw_line(group, start, (start[0], end), stroke=color, stroke_width=5.0, **dashes)
        label = self._uplink_labels(node)[not is_long]
        half, middle = len(label) * 2.9 + 6, end - _UPLINK_HEIGHT / 2
        box: Style = {"x": start[0] - half, "y": middle - 9, "width": 2 * half, "height": 18.0, "rx": 9.0}
        add_element(group, "rect", **box, fill=PAPER, stroke="var(--line)" if state == "up" else color)
        draw_label(group, (start[0], middle + 4), label, 11, text_color(state, MUTED), text_anchor="middle")

    def draw_jobs(self) -> None:
        """Draw the largest jobs that cross, unless nodes are in several rows."""
        if self._lanes:
            self._lanes.draw(self._root, self._boxes, _BAR_HEIGHT)
