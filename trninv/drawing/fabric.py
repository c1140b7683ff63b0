"""The tiers of a cluster's fabric as a tree; web/src/drawing/fabric.tsx places the same."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from trninv.drawing.svg import BAD, INK, LINKS, Picture, Style, add, label, line
from trninv.errors import NotFoundError
from trninv.inventory.address import Place
from trninv.inventory.schema import TABLES
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
    """Places network nodes: the lowest tier in blocks, every other node over what is below it."""

    def __init__(self, nodes: Sequence[Any], above: Mapping[int, int]) -> None:
        self.boxes: dict[int, _Box] = {}
        self._tiers = sorted({node.tier for node in nodes})
        self._below: dict[int, list[Any]] = {}
        self._left = _LEFT
        for node in nodes:
            self._below.setdefault(above.get(node.id, 0), []).append(node)
        for root in self._below.get(0, ()):
            self._place(root)

    def _place(self, node: Any) -> None:  # noqa: ANN401 # a row
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
    above, node, link = _T["network_node"], _T["node"], _T["link"]
    nodes = connection.execute(
        select(above.c.id, above.c.tier, above.c.ordinal, node.c.state)
        .join(node, node.c.id == above.c.id)
        .where(node.c.cluster_id == cluster.cluster_id)
        .order_by(above.c.id)
    ).all()
    if not nodes:
        raise NotFoundError(f"{cluster.address} has no fabric: a single domain needs none")
    by_id = {node.id: node for node in nodes}
    uplinks = connection.execute(
        select(link.c.a_id, link.c.b_id, link.c.cables, link.c.bandwidth_bytes_per_s, link.c.state)
        .where(link.c.a_id.between(min(by_id), max(by_id)), link.c.scope == "fabric")
        .order_by(link.c.id)
    ).all()
    boxes = _Tree(nodes, {uplink.a_id: uplink.b_id for uplink in uplinks}).boxes
    made = Picture(f"{cluster.address}/fabric")
    lowest = max(node.tier for node in nodes)
    bundled = set()
    for uplink in uplinks:
        a, b = boxes[uplink.a_id], boxes[uplink.b_id]
        leaf = by_id[uplink.a_id].tier == lowest
        if leaf and uplink.b_id in bundled:
            continue
        bundled.add(uplink.b_id if leaf else 0)
        style: Style = {"stroke": LINKS[0], "stroke_width": 2.0}
        if uplink.state != "up" and not leaf:
            style = {"stroke": BAD, "stroke_width": 2.0, "stroke_dasharray": "3 2"}
        carries = "" if leaf else f"{uplink.cables:,} cables, {Bandwidth(uplink.bandwidth_bytes_per_s)} one direction"
        line(made.drawing, (b.middle if leaf else a.middle, a.y), (b.middle, b.y + b.height), carries, **style)
    for each in nodes:
        box, up = boxes[each.id], each.state == "up"
        name = f"t{each.tier}/n{each.ordinal}"
        shape: Style = {"x": box.x, "y": box.y, "width": box.width, "height": box.height}
        colour: Style = {"fill": "#f5f6f8", "stroke": INK if up else BAD, "stroke_width": 1.2}
        add(made.drawing, "rect", f"{cluster.address}/fabric/{name}, {each.state}", **shape, **colour)
        if each.tier != lowest:
            label(made.drawing, (box.middle, box.y + 15), name, text_anchor="middle")
    for tier in sorted({each.tier for each in nodes}):
        upward = sum(up.bandwidth_bytes_per_s for up in uplinks if by_id[up.a_id].tier == tier)
        count = sum(each.tier == tier for each in nodes)
        carries = f", {Bandwidth(upward)} one direction upwards" if upward else ""
        made.legend.append((LINKS[0], f"tier {tier}: {counted(count, 'network node')}{carries}"))
    right = max(box.x + box.width for box in boxes.values()) + _LEFT
    return made.text(0, 0, right, max(box.y + box.height for box in boxes.values()) + _LEFT)
