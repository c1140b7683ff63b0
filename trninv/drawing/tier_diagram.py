"""Draw a cluster's fabric, its EFA network, as tiers of network nodes, for the explorer and `trninv draw`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element

from sqlalchemy import Connection, func, select, union_all

from trninv.database.tables import CARRYING_STATES, TABLES, is_unhealthy
from trninv.drawing.svg import (
    DOWN,
    INACTIVE,
    LINK_COLORS,
    MUTED,
    PAPER,
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
    draw_state_counts,
    draw_state_symbol,
    text_color,
)
from trninv.errors import NotFoundError
from trninv.inventory.address.lookup import Place
from trninv.inventory.state.condition import carried_bandwidth, condition_from_row
from trninv.units import Bandwidth, pluralize

_BAR_HEIGHT, _UPLINK_HEIGHT, _GAP, _GUTTER, _MIN_BLOCK_WIDTH = 28.0, 40.0, 12.0, 14.0, 140.0
_LEAF_SIZE, _LEAF_PITCH, _DOMAIN_WIDTH, _DOMAIN_HEIGHT = 16.0, 19.0, 44.0, 34.0
_MAX_BOXED_LEAVES, _MAX_DOMAINS = 60, 400
"""Most nodes of the lowest tier that are drawn as boxes, not as squares, and most domains that are drawn in them."""


@dataclass(frozen=True, slots=True)
class Fabric:
    """A cluster's network nodes and their uplinks.

    Attributes
    ----------
    nodes
        Rows with id, tier (1 is the top), ordinal, vendor id and state.
    uplinks
        Rows of the link from each node to its parent, by the node's id; a node without one is the top.
    capacities
        The bytes per second that a node's uplink carries in one direction, given its and its ends' states, by its id.
    attached
        The bytes per second, in one direction, of all links from below to each node, as designed.
    domains
        Ordinal and worst state of the domains attached to each node; empty if there are too many to draw.

    """

    address: str
    nodes: Sequence[Any]
    uplinks: Mapping[int, Any]
    capacities: Mapping[int, int]
    attached: Mapping[int, int]
    domains: Mapping[int, Sequence[tuple[int, str]]]


def read_fabric(connection: Connection, cluster: Place) -> Fabric:
    """Read a cluster's fabric.

    Raises
    ------
    NotFoundError
        The cluster has a single domain, and so no fabric.

    """
    network_node, node, link = TABLES["network_node"], TABLES["node"], TABLES["link"]
    nodes = connection.execute(
        select(network_node, node.c.state, node.c.factor_ppm)
        .join(node, node.c.id == network_node.c.id)
        .where(node.c.cluster_id == cluster.cluster_id)
        .order_by(network_node.c.id)
    ).all()
    if not nodes:
        raise NotFoundError(f"{cluster.address} has no fabric: it is a single domain")
    ids = nodes[0].id, nodes[-1].id
    by_id = {row.id: row for row in nodes}
    uplinks = connection.execute(select(link).where(link.c.a_id.between(*ids), link.c.scope == "fabric")).all()
    attached = connection.execute(
        select(link.c.b_id, func.sum(link.c.bandwidth_bytes_per_s))
        .where(link.c.b_id.between(*ids), link.c.scope == "fabric")
        .group_by(link.c.b_id)
    )
    return Fabric(
        f"{cluster.address}/fabric",
        nodes,
        {uplink.a_id: uplink for uplink in uplinks},
        {uplink.a_id: _read_capacity(uplink, by_id) for uplink in uplinks},
        {key: int(bandwidth) for key, bandwidth in attached},
        _read_domains(connection, cluster, ids),
    )


def _read_capacity(uplink: Any, nodes: Mapping[int, Any]) -> int:
    conditions = map(condition_from_row, (uplink, nodes[uplink.a_id], nodes[uplink.b_id]))
    return carried_bandwidth(uplink.bandwidth_bytes_per_s, *conditions)


def _read_domains(connection: Connection, cluster: Place, ids: tuple[int, int]) -> dict[int, list[tuple[int, str]]]:
    """Return the domains attached to each network node, if there are few; ``ids`` are the first and last node's."""
    domain, nic, server, node, link = (TABLES[name] for name in ("domain", "nic", "server", "node", "link"))
    in_cluster = domain.c.cluster_id == cluster.cluster_id
    if (connection.scalar(select(func.count()).select_from(domain).where(in_cluster)) or 0) > _MAX_DOMAINS:
        return {}
    attachments = connection.execute(
        select(link.c.b_id, domain.c.id, domain.c.ordinal)
        .join(nic, nic.c.id == link.c.a_id)
        .join(server, server.c.id == nic.c.server_id)
        .join(domain, domain.c.id == server.c.domain_id)
        .where(in_cluster, link.c.b_id.between(*ids), link.c.scope == "fabric")
        .distinct()
        .order_by(domain.c.ordinal)
    ).all()
    unhealthy = [
        select(table.c.domain_id, table.c.state).join(domain, domain.c.id == table.c.domain_id)
        .where(in_cluster, is_unhealthy(table)) for table in (server, node, link)
    ]  # fmt: skip
    states: dict[int, list[str]] = {}
    for key, state in connection.execute(union_all(*unhealthy)):
        states.setdefault(key, []).append(state)
    domains: dict[int, list[tuple[int, str]]] = {}
    for row in attachments:
        worst = min(states.get(row.id, ["up"]), key=SEVERITY.index)
        domains.setdefault(row.b_id, []).append((row.ordinal, worst))
    return domains


def draw_fabric(fabric: Fabric, width: float = 900) -> SvgDocument:
    """Return the tiers, the top one above; each node is as wide as what is attached to it."""
    document = SvgDocument(fabric.address)
    drawing = _TierDrawing(fabric, document.drawing)
    counts: dict[tuple[str, str], int] = {}
    for kind, rows in (("network_node", fabric.nodes), ("uplink", fabric.uplinks.values())):
        for row in rows:
            counts[kind, row.state] = counts.get((kind, row.state), 0) + (row.state != "up")
    y = draw_state_counts(document.drawing, (0, 0), width, counts) if any(counts.values()) else 2.0
    for top in fabric.nodes:
        if top.id not in fabric.uplinks:
            y = drawing.draw_node(top, (1, y, width - 2)) + _GAP
    for tier in sorted({node.tier for node in fabric.nodes}):
        nodes = [node for node in fabric.nodes if node.tier == tier]
        linked = [node for node in nodes if node.id in fabric.uplinks]
        capacity = f", {Bandwidth(sum(fabric.capacities[node.id] for node in linked))} upward" if linked else ""
        document.legend.append((LINK_COLORS[0], f"tier {tier}: {pluralize(len(nodes), 'network node')}{capacity}"))
    document.bounds = (0, 0, width, y)
    return document


class _TierDrawing:
    """Draws network nodes, each with everything below it, into an element."""

    def __init__(self, fabric: Fabric, root: Element) -> None:
        self._fabric, self._root = fabric, root
        self._children: dict[int, list[Any]] = {}
        for node in fabric.nodes:
            if node.id in fabric.uplinks:
                self._children.setdefault(fabric.uplinks[node.id].b_id, []).append(node)
        leaves = [node for node in fabric.nodes if node.id not in self._children]
        self._has_boxed_leaves = len(leaves) <= _MAX_BOXED_LEAVES

    def draw_node(self, node: Any, area: tuple[float, float, float]) -> float:
        """Draw a node and everything below it at ``area`` (x, y, width) and return the bottom y."""
        x, y, width = area
        children, domains = self._children.get(node.id, []), self._fabric.domains.get(node.id, ())
        height = _BAR_HEIGHT
        per_row = max(1, int((width - 12) / _DOMAIN_WIDTH))
        height += -(-len(domains) // per_row) * _DOMAIN_HEIGHT + 4 if domains else 0
        self._draw_box(node, (x, y, width, height))
        self._draw_domains(domains, (x + 8, y + _BAR_HEIGHT + 2), per_row)
        if not children:
            return y + height
        if not self._has_boxed_leaves and not any(child.id in self._children for child in children):
            return self._draw_leaves(children, (x, y + height, width))
        return self._draw_children(children, (x, y + height, width))

    def _draw_children(self, children: Sequence[Any], area: tuple[float, float, float]) -> float:
        """Draw nodes in rows below their parent, which ends at ``area`` (x, y, width); return the bottom y."""
        x, y, width = area
        columns = max(1, min(len(children), int((width + _GAP) / (_MIN_BLOCK_WIDTH + _GAP))))
        rows = -(-len(children) // columns)
        gutter = _GUTTER if rows > 1 else 0.0
        block_width = (width - gutter - _GAP * (columns - 1)) / columns
        top = bus = y
        for row in range(rows):
            bus, bottom = top + 6, top
            for column, child in enumerate(children[row * columns : (row + 1) * columns]):
                block_x = x + gutter + column * (block_width + _GAP)
                center = block_x + block_width / 2
                bottom = max(bottom, self.draw_node(child, (block_x, top + _UPLINK_HEIGHT, block_width)))
                start = y if row == 0 else bus
                self._draw_uplink(child, (center, start), top + _UPLINK_HEIGHT, block_width)
            if row:  # the first row reaches its parent directly
                last = x + gutter + (min(columns, len(children) - row * columns) - 0.5) * (block_width + _GAP)
                draw_line(self._root, (x + 4, bus), (last - _GAP / 2, bus), stroke=INACTIVE, stroke_width=1.5)
            top = bottom + _GAP / 2
        if rows > 1:
            draw_line(self._root, (x + 4, y), (x + 4, bus), stroke=INACTIVE, stroke_width=1.5)
        return top - _GAP / 2

    def _draw_leaves(self, leaves: Sequence[Any], area: tuple[float, float, float]) -> float:
        """Draw nodes of the lowest tier as squares below their parent, with one line for all uplinks."""
        x, y, width = area
        per_row, top = max(1, int(width / _LEAF_PITCH)), y + 12
        style: Style = {"stroke": LINK_COLORS[0], "stroke_width": 2.0}
        if not any(self._fabric.capacities[leaf.id] for leaf in leaves):
            style |= {"stroke": DOWN, "stroke_dasharray": "1 5"}
        draw_line(self._root, (x + width / 2, y), (x + width / 2, top), **style)
        for index, leaf in enumerate(leaves):
            row, column = divmod(index, per_row)
            self._draw_square(leaf, (x + column * _LEAF_PITCH, top + row * _LEAF_PITCH))
        return top + -(-len(leaves) // per_row) * _LEAF_PITCH

    def _describe(self, node: Any) -> tuple[str, str]:
        """Return a node's state, or down if it is cut off, and its title."""
        is_cut_off = node.state in CARRYING_STATES and not self._fabric.capacities.get(node.id, 1)
        vendor = f" {node.vendor_id}" if node.vendor_id else ""
        state = "cut off" if is_cut_off else node.state
        uplink = f"; uplink: {self._describe_uplink(node)}" if node.id in self._fabric.uplinks else ""
        return "down" if is_cut_off else node.state, f"{self._address(node)}{vendor}, {state}{uplink}"

    def _address(self, node: Any) -> str:
        return f"{self._fabric.address}/t{node.tier}/n{node.ordinal}"

    def _describe_uplink(self, node: Any) -> str:
        uplink = self._fabric.uplinks[node.id]
        cables, bandwidth = pluralize(uplink.cables, "cable"), Bandwidth(self._fabric.capacities[node.id])
        return f"{cables}, {bandwidth} in one direction, {uplink.state}"

    def _draw_part(self, path: str, title: str, state: str, area: tuple[float, float, float, float]) -> Element:
        """Draw the box of a node or domain, and return the link that it is in."""
        x, y, width, height = area
        link = add_link(self._root, path, title)
        add_element(link, "rect", x=x, y=y, width=width, height=height, rx=3.0, stroke_width=1.4, **body_style(state))
        return link

    def _draw_square(self, node: Any, corner: tuple[float, float]) -> None:
        state, title = self._describe(node)
        link = self._draw_part(f"at/{self._address(node)}", title, state, (*corner, _LEAF_SIZE, _LEAF_SIZE))
        if state != "up":
            draw_state_symbol(link, (corner[0] + _LEAF_SIZE / 2, corner[1] + _LEAF_SIZE / 2), state)

    def _draw_box(self, node: Any, area: tuple[float, float, float, float]) -> None:
        x, y, width, _ = area
        state, title = self._describe(node)
        link = self._draw_part(f"at/{self._address(node)}", title, state, area)
        draw_state_symbol(link, (x + 13, y + 14), state)
        name = f"t{node.tier}/n{node.ordinal}"
        draw_label(link, (x + 23, y + 18), name, 13, font_weight="600")
        word = "cut off" if state != node.state else "" if state == "up" else state
        note = truncate(", ".join(filter(None, [word, node.vendor_id])), width - 30 - 8.5 * len(name), 11)
        draw_label(link, (x + width - 8, y + 18), note, 11, text_color(state, MUTED), text_anchor="end")

    def _draw_domains(self, domains: Sequence[tuple[int, str]], corner: tuple[float, float], per_row: int) -> None:
        cluster, width = self._fabric.address.split("/")[0], _DOMAIN_WIDTH - 5
        for index, (ordinal, state) in enumerate(domains):
            row, column = divmod(index, per_row)
            x, y = corner[0] + column * _DOMAIN_WIDTH, corner[1] + row * _DOMAIN_HEIGHT
            address, area = f"{cluster}/d{ordinal}", (x, y, width, _DOMAIN_HEIGHT - 5)
            link = self._draw_part(f"domain/{address}", f"{address}, {state}", state, area)
            baseline = (x + width / 2, y + (19 if state == "up" else 12))
            draw_label(link, baseline, f"d{ordinal}", 11, text_anchor="middle")
            if state != "up":
                draw_state_symbol(link, (x + width / 2, y + 21), state)

    def _draw_uplink(self, node: Any, start: tuple[float, float], end: float, width: float) -> None:
        """Draw a node's uplink downward from its parent, with what it carries and its over-subscription."""
        capacity, uplink = self._fabric.capacities[node.id], self._fabric.uplinks[node.id]
        state = "down" if not capacity else "degraded" if capacity < uplink.bandwidth_bytes_per_s else "up"
        color = LINK_COLORS[0] if state == "up" else STATE_STYLES[state].stroke
        dashes: Style = {} if state == "up" else {"stroke_dasharray": "6 4" if capacity else "1 5"}
        group = add_element(self._root, "g", f"{self._address(node)}: {self._describe_uplink(node)}")
        draw_line(group, start, (start[0], end), stroke=color, stroke_width=4.0, **dashes)
        # what is attached as designed, to what the uplink carries now
        ratio = f"{self._fabric.attached.get(node.id, 0) / max(capacity, 1):.2f}".rstrip("0").rstrip(".")
        label = truncate(f"{Bandwidth(capacity)} · {ratio} : 1" if capacity else "carries nothing", width - 8, 11)
        half, middle = len(label) * 3.2 + 6, end - _UPLINK_HEIGHT / 2 + 3
        box: Style = {"x": start[0] - half, "y": middle - 9, "width": 2 * half, "height": 18.0, "rx": 9.0}
        add_element(group, "rect", **box, fill=PAPER, stroke="none" if state == "up" else color)
        draw_label(group, (start[0], middle + 4), label, 11, text_color(state, MUTED), text_anchor="middle")
