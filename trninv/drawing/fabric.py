"""The tiers of a cluster's fabric as a tree. web/src/drawing/fabric.tsx uses the same layout."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from trninv.drawing.svg import BAD, INK, LINKS, Picture, Style, add, label, line
from trninv.errors import NotFoundError
from trninv.inventory.address import Place
from trninv.inventory.schema import CARRYING, TABLES
from trninv.inventory.state import carried, condition_of
from trninv.units import Bandwidth, counted

_T = TABLES
_LEAF, _ACROSS = 9.0, 6
_WIDTH, _HEIGHT, _GAP = 60.0, 22.0, 10.0
_TIER, _LEFT, _TOP = 90.0, 20.0, 40.0


@dataclass(frozen=True, slots=True)
class _Box:
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


class _Tree:
    """Places network nodes: the lowest tier in blocks, every other node above the nodes below it."""

    def __init__(self, nodes: Sequence[Any], above: Mapping[int, int]) -> None:
        self.boxes: dict[int, _Box] = {}
        self._tiers = sorted({node.tier for node in nodes})
        self._below: dict[int, list[Any]] = {}
        self._left = _LEFT
        for node in nodes:
            self._below.setdefault(above.get(node.id, 0), []).append(node)
        for root in self._below.get(0, ()):
            self._place(root)

    def _place(self, node: Any) -> None:
        children = self._below.get(node.id, [])
        y, start = _TOP + self._tiers.index(node.tier) * _TIER, self._left
        if children and children[0].tier == self._tiers[-1]:
            for at, child in enumerate(children):
                x, row = start + _LEAF * (at % _ACROSS), at // _ACROSS
                self.boxes[child.id] = _Box(x, y + _TIER + _LEAF * row, _LEAF - 2, _LEAF - 2)
            self._left += max(_WIDTH, _LEAF * _ACROSS) + _GAP
        elif children:
            for child in children:
                self._place(child)
        else:
            self._left += _WIDTH + _GAP
        self.boxes[node.id] = _Box((start + self._left - _GAP - _WIDTH) / 2, y, _WIDTH, _HEIGHT)


def picture(connection: Connection, cluster: Place) -> str:
    """An SVG document.

    Raises
    ------
    NotFoundError
        The cluster has one domain, and so no fabric.

    """
    nodes, uplinks = _read(connection, cluster)
    by_id = {node.id: node for node in nodes}
    boxes = _Tree(nodes, {uplink.a_id: uplink.b_id for uplink in uplinks}).boxes
    made = Picture(f"{cluster.address}/fabric")
    lowest = max(node.tier for node in nodes)
    left = {uplink.a_id: _carried(uplink, by_id) for uplink in uplinks}
    _draw_uplinks(made, boxes, uplinks, {node.id for node in nodes if node.tier == lowest}, left)
    for node in nodes:
        name = f"t{node.tier}/n{node.ordinal}"
        cut_off = node.state in CARRYING and not left.get(node.id, 1)
        called = f" {node.vendor_id}" if node.vendor_id else ""
        title = f"{cluster.address}/fabric/{name}{called}, {'cut off' if cut_off else node.state}"
        idle = cut_off or node.state not in CARRYING
        box = boxes[node.id]
        shape: Style = {"x": box.x, "y": box.y, "width": box.width, "height": box.height}
        style: Style = {"fill": "#f5f6f8", "stroke": BAD if idle else INK, "stroke_width": 1.2}
        add(made.drawing, "rect", title, **shape, **style)
        if node.tier != lowest:
            label(made.drawing, (box.middle, box.y + 15), name, text_anchor="middle")
    for tier in sorted({node.tier for node in nodes}):
        of_tier = [node.id for node in nodes if node.tier == tier]
        upward = sum(left.get(node, 0) for node in of_tier)
        carries = f", {Bandwidth(upward)} one direction upwards" if any(node in left for node in of_tier) else ""
        made.legend.append((LINKS[0], f"tier {tier}: {counted(len(of_tier), 'network node')}{carries}"))
    right = max(box.x + box.width for box in boxes.values()) + _LEFT
    return made.text(0, 0, right, max(box.y + box.height for box in boxes.values()) + _LEFT)


def _read(connection: Connection, cluster: Place) -> tuple[Sequence[Any], Sequence[Any]]:
    """Network nodes, and the links from each to the one above it."""
    above, node, link = _T["network_node"], _T["node"], _T["link"]
    nodes = connection.execute(
        select(above, node.c.state, node.c.factor_ppm)
        .join(node, node.c.id == above.c.id)
        .where(node.c.cluster_id == cluster.cluster_id)
        .order_by(above.c.id)
    ).all()
    if not nodes:
        raise NotFoundError(f"{cluster.address} has no fabric: a single domain needs none")
    ours = link.c.a_id.between(nodes[0].id, nodes[-1].id), link.c.scope == "fabric"
    return nodes, connection.execute(select(link).where(*ours).order_by(link.c.id)).all()


def _carried(uplink: Any, nodes: Mapping[int, Any]) -> int:
    conditions = map(condition_of, (uplink, nodes[uplink.a_id], nodes[uplink.b_id]))
    return carried(uplink.bandwidth_bytes_per_s, *conditions)


def _draw_uplinks(
    made: Picture, boxes: Mapping[int, _Box], uplinks: Sequence[Any], leaves: set[int], left: Mapping[int, int]
) -> None:
    """One line per link, except that the links from one node to the lowest tier are drawn as a single line."""
    bundled = set()
    for uplink in uplinks:
        a, b = boxes[uplink.a_id], boxes[uplink.b_id]
        style: Style = {"stroke": LINKS[0], "stroke_width": 2.0}
        if uplink.a_id in leaves:
            if uplink.b_id not in bundled:
                line(made.drawing, (b.middle, a.y), (b.middle, b.y + b.height), **style)
            bundled.add(uplink.b_id)
            continue
        carries = left[uplink.a_id]
        if not carries:
            style = {"stroke": BAD, "stroke_width": 2.0, "stroke_dasharray": "3 2"}
        title = f"{uplink.cables:,} cables, {Bandwidth(carries)} one direction, {uplink.state}"
        line(made.drawing, (a.middle, a.y), (b.middle, b.y + b.height), title, **style)
