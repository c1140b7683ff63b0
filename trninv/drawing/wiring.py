"""The wiring of a domain or of a part of one, including what is down, with paths and cuts marked."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

from sqlalchemy import Connection, Select, func, select

from trninv.drawing.layout import RADIUS, Layout, Part, Wire, layout
from trninv.drawing.svg import (
    BAD,
    INK,
    LINKS,
    MARK,
    PAPER,
    QUIET,
    REPAIR,
    WORN,
    Picture,
    Point,
    Style,
    add,
    label,
    line,
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
_SIDE, _SWITCH = "#f2c14e", "#f5f6f8"
_STUB, _MARGIN = 24.0, 44.0


@dataclass(frozen=True, slots=True)
class Marks:
    """The links and nodes of a path, or the links of a cut and the chips on one side of it."""

    links: Collection[frozenset[str]] = ()
    nodes: Collection[str] = ()
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

    @property
    def layout(self) -> Layout:
        """Where its parts are drawn."""
        return layout(self.wiring, self.sides, self.parts, self.wires)


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
    placed = diagram.layout
    at = placed.flat
    bandwidths = sorted({wire.nominal for wire in diagram.wires}, reverse=True)
    for wire in sorted(diagram.wires, key=lambda wire: wire.ends in marks.links):
        colour = LINKS[bandwidths.index(wire.nominal) % len(LINKS)]
        up = live.has_edge(wire.a, wire.b)
        style = _style(wire, marks, colour, wire.nominal / bandwidths[0], up=up)
        carries = Bandwidth(live.edges[wire.a, wire.b]["bandwidth"]) if up else "nothing"
        title = f"{wire.a}--{wire.b}: {carries}, one direction, {wire.technology}"
        for a, b in _strokes(at[wire.a], at[wire.b], wraps=wire.ends in placed.wrapping):
            line(made.drawing, a, b, title, **style)
    for part in diagram.parts:
        _node(made.drawing, part, at[part.address], marks, up=part.address in live)
    for part in diagram.parts:
        if part.kind == "chip" and part.ordinal == 0:
            x, y = at[part.address]
            halo: Style = {"paint_order": "stroke", "stroke": PAPER, "stroke_width": 4.0}
            label(made.drawing, (x - RADIUS, y - RADIUS - 8), f"server {part.server}", 12, QUIET, **halo)
    for nominal in bandwidths:
        technology = ", ".join(dict.fromkeys(wire.technology for wire in diagram.wires if wire.nominal == nominal))
        colour = LINKS[bandwidths.index(nominal) % len(LINKS)]
        made.legend.append((colour, f"{technology} {Bandwidth(nominal)} one direction"))
    if "degraded" in {*(part.state for part in diagram.parts), *(wire.state for wire in diagram.wires)}:
        made.legend.append((WORN, "degraded"))
    if any(part.state == "maintenance" for part in diagram.parts):
        made.legend.append((REPAIR, "in maintenance"))
    if marks.side:
        made.legend.append((_SIDE, "one half"))
    xs, ys = [x for x, _ in at.values()], [y for _, y in at.values()]
    return made.text(min(xs) - _MARGIN, min(ys) - _MARGIN, max(xs) + _MARGIN, max(ys) + _MARGIN)


def _style(wire: Wire, marks: Marks, colour: str, part: float, *, up: bool) -> Style:
    if not up:
        return {"stroke": QUIET, "stroke_width": 1 + 2.5 * part, "stroke_dasharray": "2 5", "opacity": "0.6"}
    if wire.ends in marks.links:
        return {"stroke": MARK, "stroke_width": 5.0, **({"stroke_dasharray": "7 4"} if marks.cut else {})}
    if wire.state == "degraded":
        return {"stroke": WORN, "stroke_width": 1 + 2.5 * part, "stroke_dasharray": "10 4", "opacity": "0.8"}
    return {"stroke": colour, "stroke_width": 1 + 2.5 * part, "opacity": "0.8"}


def _strokes(a: Point, b: Point, *, wraps: bool) -> list[tuple[Point, Point]]:
    """A line between two parts; one that wraps around is a stub at either end."""
    if not wraps:
        return [(a, b)]
    dx, dy = b[0] - a[0], b[1] - a[1]
    part = _STUB / max((dx**2 + dy**2) ** 0.5, 1)
    return [(a, (a[0] - dx * part, a[1] - dy * part)), (b, (b[0] + dx * part, b[1] + dy * part))]


def _node(root: Element, part: Part, at: Point, marks: Marks, *, up: bool) -> None:
    x, y = at
    marked = part.address in marks.nodes
    fill = _SIDE if part.address in marks.side else PAPER if part.kind == "chip" else _SWITCH
    style: Style = {
        "fill": fill,
        "stroke": MARK if marked else INK,
        "stroke_width": 3 if marked else 1.2,
    }
    if part.state == "degraded" and not marked:
        style |= {"stroke": WORN, "stroke_width": 3.0}
    off = REPAIR if part.state == "maintenance" else BAD
    if not up:
        style = {"fill": PAPER, "stroke": off, "stroke_width": 1.2, "stroke_dasharray": "3 2"}
    title = f"{part.address}, {part.state if up or part.state == 'maintenance' else 'down'}"
    if part.kind == "chip":
        add(root, "circle", title, cx=x, cy=y, r=RADIUS, **style)
    else:
        add(root, "rect", title, x=x - 17, y=y - 9, width=34.0, height=18.0, rx=3.0, **style)
    name = str(part.ordinal) if part.kind == "chip" else f"sw{part.ordinal}"
    label(root, (x, y + 4), name, 11, INK if up else off, text_anchor="middle")
