"""The wiring of a domain or of a part of one, including what is down, with paths and cuts marked."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

from sqlalchemy import Connection, Select, func, select

from trninv.drawing.ink import STATES, Stand, node, sign, way
from trninv.drawing.layout import Layout, Part, Wire, layout
from trninv.drawing.svg import (
    CUT,
    EDGE,
    IDLE,
    INK,
    LINKS,
    MARK,
    PAPER,
    QUIET,
    SIDE,
    SUNKEN,
    WORN,
    Picture,
    Style,
    add,
    label,
)
from trninv.errors import WrongLevelError
from trninv.inventory.address import node_addresses, nodes_of, resolve
from trninv.inventory.schema import TABLES
from trninv.topology.blueprint import Sides
from trninv.topology.register import sides
from trninv.units import Bandwidth

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph

_T = TABLES


@dataclass(frozen=True, slots=True)
class Marks:
    """The links and nodes of a path, or the links of a cut and the chips on one side of it; what it is between."""

    links: Collection[frozenset[str]] = ()
    nodes: Collection[str] = ()
    ends: Collection[str] = ()
    side: Collection[str] = ()
    cut: bool = False
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Diagram:
    """What there is of a domain in a scope, up or not, in the order of ids; ``wiring`` names its pattern."""

    scope: str
    wiring: str
    sides: Sides
    parts: Sequence[Part]
    wires: Sequence[Wire]

    def layout(self, *, narrow: bool = False) -> Layout:
        """Where its parts are drawn."""
        return layout(self.wiring, self.sides, self.parts, self.wires, narrow=narrow)


def read(connection: Connection, scope: str) -> Diagram:
    """The chips of a scope, the switches they are attached to, and the links among them.

    Raises
    ------
    AddressError, UnknownAddressError
    WrongLevelError
        It lies in more than one domain, or has no chips.

    """
    place = resolve(connection, scope)
    node = _T["node"]
    whole = _parts()
    inside = connection.execute(whole.where(nodes_of(place), node.c.kind == "chip").limit(_MOST + 1)).all()
    domains = {row.domain_id for row in inside}
    if not inside:
        raise WrongLevelError(f"{place.address} has no chips: draw a domain, such as {place.address.split('/')[0]}/d0")
    if len(domains) > 1 or len(inside) > _MOST:
        raise WrongLevelError(f"{place.address} is more than one domain: draw one, such as {place.address}/d0")
    ids = {row.id for row in inside}
    link = _T["link"]
    links = connection.execute(
        select(link.c.a_id, link.c.b_id, link.c.bandwidth_bytes_per_s, link.c.technology, link.c.state)
        .where(link.c.domain_id.in_(domains), link.c.scope.not_in(("host", "fabric")))
        .order_by(link.c.id)
    ).all()
    beside = {end for link in links if {link.a_id, link.b_id} & ids for end in (link.a_id, link.b_id)} - ids
    switches = connection.execute(whole.where(node.c.id.in_(beside), node.c.kind == "switch")).all()
    rows = sorted([*inside, *switches], key=lambda row: int(row.id))
    name = {row.id: row.address for row in rows}
    model, domain = _T["domain_model"], _T["domain"]
    wired = select(model.c.wiring, model.c.sides).join(domain).where(domain.c.id.in_(domains))
    wiring = connection.execute(wired).one()
    return Diagram(
        place.address,
        wiring.wiring,
        sides(wiring.sides),
        tuple(Part(row.address, row.kind, row.ordinal, row.server, row.rack, row.state) for row in rows),
        tuple(
            Wire(name[row.a_id], name[row.b_id], row.bandwidth_bytes_per_s, row.technology, row.state)
            for row in links
            if row.a_id in name and row.b_id in name
        ),
    )


def _parts() -> Select[Any]:
    """Every chip and switch with where it stands."""
    node, chip, switch, server, rack = (_T[name] for name in ("node", "chip", "switch", "server", "rack"))
    of_switch = server.alias("of_switch")
    return (
        node_addresses()
        .add_columns(
            node.c.kind,
            node.c.domain_id,
            node.c.state,
            func.coalesce(chip.c.ordinal, switch.c.ordinal).label("ordinal"),
            func.coalesce(server.c.ordinal, of_switch.c.ordinal).label("server"),
            rack.c.ordinal.label("rack"),
        )
        .outerjoin(of_switch, of_switch.c.id == switch.c.server_id)
        .join(rack, rack.c.id == func.coalesce(server.c.rack_id, switch.c.rack_id))
        .where(node.c.kind.in_(("chip", "switch")))
        .order_by(node.c.id)
    )


_MOST = 1_000
"""Chips at most in one picture; more than any domain has."""


def picture(diagram: Diagram, live: "Graph", marks: Marks | None = None) -> str:
    """An SVG document; ``live`` holds what is up, as `Fleet.graph` gives it."""
    marks = marks or Marks()
    made = Picture(diagram.scope, marks.caption)
    placed = diagram.layout()
    for panel in placed.panels:
        add(made.drawing, "rect", **panel._asdict(), rx=10.0, fill=SUNKEN, stroke=EDGE)
    bandwidths = sorted({wire.nominal for wire in diagram.wires}, reverse=True)
    quiet = add(made.drawing, "g", **({"opacity": "0.55"} if marks.links else {}))
    for wire in sorted(diagram.wires, key=lambda wire: _rank(wire, marks, live)):
        _wire(made.drawing if wire.ends in marks.links else quiet, wire, placed, bandwidths, marks, live)
    for wire in diagram.wires:
        if wire.state == "degraded" and live.has_edge(wire.a, wire.b):
            sign(made.drawing, placed.routes[wire.ends].sign, "degraded", around=True)
    for part in diagram.parts:
        node(made.drawing, part, placed.flat[part.address], _stand(part, marks, live), placed.font)
    for each in placed.labels:
        weight: Style = {"font_weight": "600"} if each.strong else {}
        colour = INK if each.strong else QUIET
        label(made.drawing, (each.x, each.y), each.text, placed.font, colour, text_anchor=each.anchor, **weight)
    made.legend = _legend(diagram, bandwidths, marks, live)
    left, top, width, height = placed.box
    return made.text(left, top, left + width, top + height)


def _rank(wire: Wire, marks: Marks, live: "Graph") -> int:
    """What carries nothing below, then what carries, what is worn, and what is marked."""
    if wire.ends in marks.links:
        return 3
    return 1 + (wire.state == "degraded") if live.has_edge(wire.a, wire.b) else 0


def _stand(part: Part, marks: Marks, live: "Graph") -> Stand:
    supposed = part.address not in live and part.state in ("up", "degraded")
    return Stand(
        "down" if supposed else part.state,
        supposed=supposed,
        marked=part.address in marks.nodes,
        end=part.address in marks.ends,
        side=part.address in marks.side,
    )


def _wire(root: Element, wire: Wire, placed: Layout, bandwidths: Sequence[int], marks: Marks, live: "Graph") -> None:
    up, marked = live.has_edge(wire.a, wire.b), wire.ends in marks.links
    carries = Bandwidth(live.edges[wire.a, wire.b]["bandwidth"]) if up else "nothing"
    title = f"{wire.a}--{wire.b}: {carries}, one direction, {wire.technology}"
    thick = placed.thick * (wire.nominal / bandwidths[0]) ** 0.5
    for stroke in placed.routes[wire.ends].strokes:
        if marked:
            if not marks.cut:
                way(root, stroke, stroke=PAPER, stroke_width=8.5)
            dashed: Style = {"stroke_dasharray": "7 4"} if marks.cut else {}
            way(root, stroke, title, stroke=CUT if marks.cut else MARK, stroke_width=4.5, **dashed)
        elif not up:
            way(root, stroke, title, stroke=IDLE, stroke_width=1.4, stroke_dasharray="1 4", stroke_linecap="round")
        elif wire.state == "degraded":
            way(root, stroke, title, stroke=WORN, stroke_width=thick, stroke_dasharray="6 4")
        else:
            way(root, stroke, title, stroke=LINKS[bandwidths.index(wire.nominal) % len(LINKS)], stroke_width=thick)


def _legend(diagram: Diagram, bandwidths: Sequence[int], marks: Marks, live: "Graph") -> list[tuple[str, str]]:
    """What is in the picture."""
    found = []
    for at, nominal in enumerate(bandwidths):
        technology = ", ".join(dict.fromkeys(wire.technology for wire in diagram.wires if wire.nominal == nominal))
        found.append((LINKS[at % len(LINKS)], f"{technology} {Bandwidth(nominal)} one direction"))
    if marks.links:
        found.append((CUT, "the links cut") if marks.cut else (MARK, "the path"))
    if marks.side:
        found.append((SIDE, "one half"))
    states = {*(_stand(part, marks, live).state for part in diagram.parts), *(wire.state for wire in diagram.wires)}
    found += [(STATES[state].ink, f"{STATES[state].glyph} {says}") for state, says in _SAID.items() if state in states]
    if any(not live.has_edge(wire.a, wire.b) for wire in diagram.wires):
        found.append((IDLE, "dotted: carries nothing"))
    return found


_SAID = {"down": "down", "degraded": "degraded", "maintenance": "in maintenance"}
