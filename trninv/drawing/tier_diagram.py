"""Draw a cluster's fabric as a tree of tiers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from trninv.database.tables import CARRYING_STATES, TABLES
from trninv.drawing.svg import DOWN, INK, LINK_COLORS, Style, SvgDocument, add_element, draw_label, draw_line
from trninv.errors import NotFoundError
from trninv.inventory.address.lookup import Place
from trninv.inventory.state.condition import carried_bandwidth, condition_from_row
from trninv.units import Bandwidth, pluralize

_TABLES = TABLES
_LEAF_PITCH, _LEAVES_PER_ROW = 9.0, 6
_NODE_WIDTH, _NODE_HEIGHT, _NODE_GAP = 60.0, 22.0, 10.0
_TIER_HEIGHT, _MARGIN, _TOP_MARGIN = 90.0, 20.0, 40.0


@dataclass(frozen=True, slots=True)
class _NodeRect:
    x: float
    y: float
    width: float
    height: float

    @property
    def center_x(self) -> float:
        return self.x + self.width / 2


class _TreeLayout:
    """Positions of network nodes: the lowest tier in blocks, every other node above its children."""

    def __init__(self, nodes: Sequence[Any], parents: Mapping[int, int]) -> None:
        self.boxes: dict[int, _NodeRect] = {}
        self._tiers = sorted({node.tier for node in nodes})
        self._children: dict[int, list[Any]] = {}
        self._next_x = _MARGIN
        for node in nodes:
            self._children.setdefault(parents.get(node.id, 0), []).append(node)
        for root in self._children.get(0, ()):
            self._place(root)

    def _place(self, node: Any) -> None:
        children = self._children.get(node.id, [])
        y, left_x = _TOP_MARGIN + self._tiers.index(node.tier) * _TIER_HEIGHT, self._next_x
        if children and children[0].tier == self._tiers[-1]:
            for index, child in enumerate(children):
                x, row = left_x + _LEAF_PITCH * (index % _LEAVES_PER_ROW), index // _LEAVES_PER_ROW
                self.boxes[child.id] = _NodeRect(
                    x, y + _TIER_HEIGHT + _LEAF_PITCH * row, _LEAF_PITCH - 2, _LEAF_PITCH - 2
                )
            self._next_x += max(_NODE_WIDTH, _LEAF_PITCH * _LEAVES_PER_ROW) + _NODE_GAP
        elif children:
            for child in children:
                self._place(child)
        else:
            self._next_x += _NODE_WIDTH + _NODE_GAP
        self.boxes[node.id] = _NodeRect(
            (left_x + self._next_x - _NODE_GAP - _NODE_WIDTH) / 2, y, _NODE_WIDTH, _NODE_HEIGHT
        )


def draw_fabric(connection: Connection, cluster: Place) -> str:
    """Return an SVG of a cluster's fabric.

    Raises
    ------
    NotFoundError
        The cluster has a single domain, and so no fabric.

    """
    nodes, uplinks = _read_fabric(connection, cluster)
    by_id = {node.id: node for node in nodes}
    boxes = _TreeLayout(nodes, {uplink.a_id: uplink.b_id for uplink in uplinks}).boxes
    document = SvgDocument(f"{cluster.address}/fabric")
    lowest = max(node.tier for node in nodes)
    capacities = {uplink.a_id: _uplink_capacity(uplink, by_id) for uplink in uplinks}
    _draw_uplinks(document, boxes, uplinks, {node.id for node in nodes if node.tier == lowest}, capacities)
    for node in nodes:
        name = f"t{node.tier}/n{node.ordinal}"
        is_cut_off = node.state in CARRYING_STATES and not capacities.get(node.id, 1)
        vendor_name = f" {node.vendor_id}" if node.vendor_id else ""
        title = f"{cluster.address}/fabric/{name}{vendor_name}, {'cut off' if is_cut_off else node.state}"
        is_idle = is_cut_off or node.state not in CARRYING_STATES
        box = boxes[node.id]
        shape: Style = {"x": box.x, "y": box.y, "width": box.width, "height": box.height}
        style: Style = {"fill": "#f5f6f8", "stroke": DOWN if is_idle else INK, "stroke_width": 1.2}
        add_element(document.drawing, "rect", title, **shape, **style)
        if node.tier != lowest:
            draw_label(document.drawing, (box.center_x, box.y + 15), name, text_anchor="middle")
    for tier in sorted({node.tier for node in nodes}):
        tier_nodes = [node.id for node in nodes if node.tier == tier]
        capacity = sum(capacities.get(node, 0) for node in tier_nodes)
        capacity_text = (
            f", {Bandwidth(capacity)} one direction upwards" if any(node in capacities for node in tier_nodes) else ""
        )
        document.legend.append(
            (LINK_COLORS[0], f"tier {tier}: {pluralize(len(tier_nodes), 'network node')}{capacity_text}")
        )
    right = max(box.x + box.width for box in boxes.values()) + _MARGIN
    return document.render(0, 0, right, max(box.y + box.height for box in boxes.values()) + _MARGIN)


def _read_fabric(connection: Connection, cluster: Place) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the network nodes and the links from each to its parent."""
    network_node, node, link = _TABLES["network_node"], _TABLES["node"], _TABLES["link"]
    nodes = connection.execute(
        select(network_node, node.c.state, node.c.factor_ppm)
        .join(node, node.c.id == network_node.c.id)
        .where(node.c.cluster_id == cluster.cluster_id)
        .order_by(network_node.c.id)
    ).all()
    if not nodes:
        raise NotFoundError(f"{cluster.address} has no fabric: it is a single domain")
    in_fabric = link.c.a_id.between(nodes[0].id, nodes[-1].id), link.c.scope == "fabric"
    return nodes, connection.execute(select(link).where(*in_fabric).order_by(link.c.id)).all()


def _uplink_capacity(uplink: Any, nodes: Mapping[int, Any]) -> int:
    conditions = map(condition_from_row, (uplink, nodes[uplink.a_id], nodes[uplink.b_id]))
    return carried_bandwidth(uplink.bandwidth_bytes_per_s, *conditions)


def _draw_uplinks(
    document: SvgDocument,
    boxes: Mapping[int, _NodeRect],
    uplinks: Sequence[Any],
    leaves: set[int],
    capacities: Mapping[int, int],
) -> None:
    """Draw a line per link, but a single line for all links from a node down to the lowest tier."""
    drawn_parents = set()
    for uplink in uplinks:
        a, b = boxes[uplink.a_id], boxes[uplink.b_id]
        style: Style = {"stroke": LINK_COLORS[0], "stroke_width": 2.0}
        if uplink.a_id in leaves:
            if uplink.b_id not in drawn_parents:
                draw_line(document.drawing, (b.center_x, a.y), (b.center_x, b.y + b.height), **style)
            drawn_parents.add(uplink.b_id)
            continue
        capacity = capacities[uplink.a_id]
        if not capacity:
            style = {"stroke": DOWN, "stroke_width": 2.0, "stroke_dasharray": "3 2"}
        title = f"{uplink.cables:,} cables, {Bandwidth(capacity)} one direction, {uplink.state}"
        draw_line(document.drawing, (a.center_x, a.y), (b.center_x, b.y + b.height), title, **style)
