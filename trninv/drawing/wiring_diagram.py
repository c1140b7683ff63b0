"""Read and draw the wiring of a domain, or of part of one, with a highlighted path or cut.

`trninv draw` draws it as SVG; GraphQL serves the same layout to the explorer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

from sqlalchemy import Connection, Select, func, select

from trninv.database.tables import TABLES
from trninv.drawing.svg import (
    CUT_COLOR,
    CUT_SIDE_FILL,
    DEGRADED,
    HIGHLIGHT,
    INACTIVE,
    INK,
    LINK_COLORS,
    MUTED,
    PANEL_FILL,
    PANEL_STROKE,
    PAPER,
    Style,
    SvgDocument,
    add_element,
    draw_label,
)
from trninv.drawing.symbols import STATE_STYLES, NodeStyle, draw_node, draw_polyline, draw_state_symbol
from trninv.drawing.wiring_layout import DrawnLink, DrawnPart, WiringLayout, compute_layout
from trninv.errors import WrongLevelError
from trninv.inventory.address.expressions import node_addresses
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.address.rows_in import rows_in
from trninv.routing.picture import Highlight
from trninv.topology.blueprint import Sides
from trninv.topology.registry import parse_sides
from trninv.units import Bandwidth

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph


@dataclass(frozen=True, slots=True)
class DomainDiagram:
    """The parts and links of a scope within one domain, in any state, by id; ``pattern`` is the name of its wiring."""

    scope: str
    pattern: str
    sides: Sides
    parts: Sequence[DrawnPart]
    links: Sequence[DrawnLink]

    def layout(self, *, narrow: bool = False) -> WiringLayout:
        """Compute the positions of its parts and links; ``narrow`` is for small screens."""
        return compute_layout(self.pattern, self.sides, self.parts, self.links, narrow=narrow)


def read_diagram(connection: Connection, scope: str) -> DomainDiagram:
    """Read the chips of a scope, the switches they are attached to, and the links among them.

    Raises
    ------
    AddressError, UnknownAddressError
    WrongLevelError
        The scope lies in more than one domain, or has no chips.

    """
    place = resolve_place(connection, scope)
    node = TABLES["node"]
    parts_query = _parts_query()
    chips = connection.execute(
        parts_query.where(rows_in(place, "node"), node.c.kind == "chip").limit(_MAX_CHIPS + 1)
    ).all()
    domains = {row.domain_id for row in chips}
    if not chips:
        raise WrongLevelError(f"{place.address} has no chips; draw a domain, such as {place.address.split('/')[0]}/d0")
    if len(domains) > 1 or len(chips) > _MAX_CHIPS:
        raise WrongLevelError(f"{place.address} is more than one domain; draw one, such as {place.address}/d0")
    ids = {row.id for row in chips}
    link = TABLES["link"]
    # those of other scopes join chips and switches
    links = connection.execute(
        select(link.c.a_id, link.c.b_id, link.c.bandwidth_bytes_per_s, link.c.technology, link.c.state)
        .where(link.c.domain_id.in_(domains), link.c.scope.not_in(("host", "fabric")))
        .order_by(link.c.id)
    ).all()
    link_ends = [{link.a_id, link.b_id} for link in links]
    neighbor_ids = set[int]().union(*(ends for ends in link_ends if ends & ids)) - ids
    switches = connection.execute(parts_query.where(node.c.id.in_(neighbor_ids), node.c.kind == "switch")).all()
    rows = sorted([*chips, *switches], key=lambda row: int(row.id))
    address_of = {row.id: row.address for row in rows}
    model, domain = TABLES["domain_model"], TABLES["domain"]
    pattern_query = select(model.c.wiring, model.c.sides).join(domain).where(domain.c.id.in_(domains))
    pattern = connection.execute(pattern_query).one()
    return DomainDiagram(
        place.address,
        pattern.wiring,
        parse_sides(pattern.sides),
        tuple(DrawnPart(row.address, row.kind, row.ordinal, row.server, row.rack, row.state) for row in rows),
        tuple(
            DrawnLink(address_of[row.a_id], address_of[row.b_id], row.bandwidth_bytes_per_s, row.technology, row.state)
            for row in links
            if row.a_id in address_of and row.b_id in address_of
        ),
    )


def _parts_query() -> Select[Any]:
    """Return the query of all chips and switches with their location."""
    node, chip, switch, server, rack = (TABLES[name] for name in ("node", "chip", "switch", "server", "rack"))
    switch_server = server.alias("of_switch")
    return (
        node_addresses()
        .add_columns(
            node.c.kind,
            node.c.domain_id,
            node.c.state,
            func.coalesce(chip.c.ordinal, switch.c.ordinal).label("ordinal"),
            func.coalesce(server.c.ordinal, switch_server.c.ordinal).label("server"),
            rack.c.ordinal.label("rack"),
        )
        .outerjoin(switch_server, switch_server.c.id == switch.c.server_id)
        .join(rack, rack.c.id == func.coalesce(server.c.rack_id, switch.c.rack_id))
        .where(node.c.kind.in_(("chip", "switch")))
        .order_by(node.c.id)
    )


_MAX_CHIPS = 1_000
"""Most chips to read; no domain has more, so a scope with more has several domains."""


def draw_wiring(diagram: DomainDiagram, live: "Graph", highlight: Highlight | None = None) -> str:
    """Return an SVG of a diagram; ``live`` is the graph of parts that carry traffic, from `Fleet.graph`."""
    highlight = highlight or Highlight()
    document = SvgDocument(diagram.scope, highlight.caption)
    layout = diagram.layout()
    for panel in layout.panels:
        add_element(document.drawing, "rect", **panel._asdict(), rx=10.0, fill=PANEL_FILL, stroke=PANEL_STROKE)
    bandwidths = sorted({link.nominal_bandwidth for link in diagram.links}, reverse=True)
    background = add_element(document.drawing, "g", **({"opacity": "0.55"} if highlight.links else {}))
    for link in sorted(diagram.links, key=lambda link: _draw_order(link, highlight, live)):
        _draw_link(
            document.drawing if link.endpoints in highlight.links else background,
            link,
            layout,
            bandwidths,
            highlight,
            live,
        )
    for link in diagram.links:
        if link.state == "degraded" and live.has_edge(link.a, link.b):
            draw_state_symbol(
                document.drawing, layout.link_paths[link.endpoints].symbol_position, "degraded", backed=True
            )
    for drawn in diagram.parts:
        draw_node(
            document.drawing,
            drawn,
            layout.node_boxes[drawn.address],
            _node_style(drawn, highlight, live),
            layout.font_size,
        )
    for text_label in layout.labels:
        weight: Style = {"font_weight": "600"} if text_label.strong else {}
        color = INK if text_label.strong else MUTED
        draw_label(
            document.drawing,
            (text_label.x, text_label.y),
            text_label.text,
            layout.font_size,
            color,
            text_anchor=text_label.anchor,
            **weight,
        )
    document.legend = [*_build_legend(diagram, bandwidths, highlight, live)]
    x, y, width, height = layout.bounds
    document.bounds = (x, y, x + width, y + height)
    return document.to_file()


def _draw_order(link: DrawnLink, highlight: Highlight, live: "Graph") -> int:
    """Return the layer of a link: 0 if it carries nothing, 1 if healthy, 2 if degraded, 3 if highlighted."""
    if link.endpoints in highlight.links:
        return 3
    return 1 + (link.state == "degraded") if live.has_edge(link.a, link.b) else 0


def _node_style(drawn: DrawnPart, highlight: Highlight, live: "Graph") -> NodeStyle:
    """Return how to draw a part; one that is up in the tables but not in ``live`` is down in the scenario."""
    is_assumed = drawn.address not in live and drawn.state in ("up", "degraded")
    return NodeStyle(
        "down" if is_assumed else drawn.state,
        is_assumed=is_assumed,
        is_highlighted=drawn.address in highlight.nodes,
        is_endpoint=drawn.address in highlight.endpoints,
        is_on_cut_side=drawn.address in highlight.cut_side,
    )


def _draw_link(
    root: Element, link: DrawnLink, layout: WiringLayout, bandwidths: Sequence[int], highlight: Highlight, live: "Graph"
) -> None:
    is_up, is_highlighted = live.has_edge(link.a, link.b), link.endpoints in highlight.links
    bandwidth = Bandwidth(live.edges[link.a, link.b]["bandwidth"]) if is_up else "no bandwidth"
    title = f"{link.a}--{link.b}: {bandwidth}, one direction, {link.technology}"
    # the root makes narrow links visible beside wide ones
    width = layout.stroke_width * (link.nominal_bandwidth / bandwidths[0]) ** 0.5
    for stroke in layout.link_paths[link.endpoints].strokes:
        if is_highlighted:
            if not highlight.is_cut:
                draw_polyline(root, stroke, stroke=PAPER, stroke_width=8.5)
            draw_polyline(root, stroke, title, stroke=CUT_COLOR if highlight.is_cut else HIGHLIGHT, stroke_width=4.5)
        elif not is_up:
            draw_polyline(
                root, stroke, title, stroke=INACTIVE, stroke_width=1.4, stroke_dasharray="1 4", stroke_linecap="round"
            )
        elif link.state == "degraded":
            draw_polyline(root, stroke, title, stroke=DEGRADED, stroke_width=width, stroke_dasharray="6 4")
        else:
            draw_polyline(
                root,
                stroke,
                title,
                stroke=LINK_COLORS[bandwidths.index(link.nominal_bandwidth) % len(LINK_COLORS)],
                stroke_width=width,
            )


def _build_legend(
    diagram: DomainDiagram, bandwidths: Sequence[int], highlight: Highlight, live: "Graph"
) -> list[tuple[str, str]]:
    """Return colors and texts for everything in the picture."""
    entries = []
    for index, nominal in enumerate(bandwidths):
        technology = ", ".join(
            dict.fromkeys(link.technology for link in diagram.links if link.nominal_bandwidth == nominal)
        )
        entries.append((LINK_COLORS[index % len(LINK_COLORS)], f"{technology} {Bandwidth(nominal)} one direction"))
    if highlight.links:
        entries.append((CUT_COLOR, "links of the cut") if highlight.is_cut else (HIGHLIGHT, "the path"))
    if highlight.cut_side:
        entries.append((CUT_SIDE_FILL, "one half"))
    states = {
        *(_node_style(drawn, highlight, live).state for drawn in diagram.parts),
        *(link.state for link in diagram.links),
    }
    entries += [
        (STATE_STYLES[state].stroke, f"{STATE_STYLES[state].glyph} {text}")
        for state, text in _STATE_LABELS.items()
        if state in states
    ]
    if any(not live.has_edge(link.a, link.b) for link in diagram.links):
        entries.append((INACTIVE, "dotted: out of service"))
    return entries


_STATE_LABELS = {"down": "down", "degraded": "degraded", "maintenance": "in maintenance"}
