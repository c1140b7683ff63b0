"""A rack's elevation. web/src/drawing/elevation.ts uses the same layout."""

from collections.abc import Iterator
from typing import Any, Final

from sqlalchemy import Connection, Row, select

from trninv.drawing.svg import BAD, INK, PAPER, QUIET, REPAIR, WORN, Picture, Style, add, label
from trninv.inventory.address import Place
from trninv.inventory.schema import CARRYING, TABLES
from trninv.units import counted

_T = TABLES
_UNIT, _WIDTH, _LEFT, _TOP = 18.0, 460.0, 46.0, 12.0
_FILL: Final = {"head": "#e9e3f7", "compute": "#dbe6fb", "server": "#f5f6f8"}


def picture(connection: Connection, rack: Place) -> str:
    """An SVG document: servers from the bottom up. A server whose height no document gives is hatched and 1U high."""
    units = connection.scalar(select(_T["rack"].c.rack_units).where(_T["rack"].c.id == rack.id)) or 0
    slots = list(_slots(connection, rack))
    used = sum(slot["units"] for slot in slots)
    height = max(units, used)
    servers = len({slot["server"] for slot in slots})
    known = "heights not documented" if any(slot["assumed"] for slot in slots) else f"{used} of {units} rack units"
    made = Picture(rack.address, f"{counted(servers, 'server')}, {known}")
    root = made.drawing
    hatch = add(root, "pattern", id="hatch", width=6.0, height=6.0, patternUnits="userSpaceOnUse")
    hatch.set("patternTransform", "rotate(45)")
    add(hatch, "rect", width=2.0, height=6.0, fill=QUIET, opacity="0.35")
    frame: Style = {"fill": "none", "stroke": INK, "stroke_width": 1.5}
    add(root, "rect", x=_LEFT, y=_TOP, width=_WIDTH, height=height * _UNIT, **frame)
    for unit in range(1, height + 1):
        label(root, (_LEFT - 8, _TOP + (height - unit) * _UNIT + 13), str(unit), 10, QUIET, text_anchor="end")
    for slot in slots:
        _tray(made, slot, _TOP + (height - slot["from"] - slot["units"] + 1) * _UNIT)
    if any(slot["assumed"] for slot in slots):
        made.legend.append((QUIET, "hatched: no document gives the height, so it is drawn as 1U"))
    return made.text(0, 0, _LEFT + _WIDTH + 20, 2 * _TOP + height * _UNIT)


def _tray(made: Picture, slot: dict[str, Any], top: float) -> None:
    tall, kind = slot["units"] * _UNIT - 2, slot["kind"]
    title = f"{slot['server']}, {kind}, " + ("height assumed" if slot["assumed"] else f"{slot['units']}U")
    box: Style = {"x": _LEFT + 2, "y": top + 1, "width": _WIDTH - 4, "height": tall}
    add(made.drawing, "rect", title, fill=_FILL[kind], stroke=QUIET, **box)
    if slot["assumed"]:
        add(made.drawing, "rect", fill="url(#hatch)", stroke=QUIET, **box)
    name = slot["server"].rsplit("/", 1)[1] + ("" if kind == "server" else f" {kind} tray {slot['tray']}")
    label(made.drawing, (_LEFT + 10, top + tall / 2 + 5), name)
    for at, chip in enumerate(slot["chips"]):
        style: Style = {"fill": PAPER, "stroke": QUIET}
        if chip.state == "degraded":
            style = {"fill": PAPER, "stroke": WORN, "stroke_width": 2.0}
        elif chip.state not in CARRYING:
            off = REPAIR if chip.state == "maintenance" else BAD
            style = {"fill": PAPER, "stroke": off, "stroke_dasharray": "3 2"}
        x = _LEFT + 150 + at * 19
        title = f"{slot['server']}/c{chip.ordinal}, {chip.state}"
        add(made.drawing, "rect", title, x=x, y=top + tall / 2 - 6, width=16.0, height=14.0, rx=2.0, **style)
        label(made.drawing, (x + 8, top + tall / 2 + 5), str(chip.ordinal), 9, text_anchor="middle")


def _slots(connection: Connection, rack: Place) -> Iterator[dict[str, Any]]:
    """Trays from the bottom up, or the whole server if no document says how it is split."""
    server, domain, tray, chip, node = (_T[name] for name in ("server", "domain", "tray", "chip", "node"))
    cluster = rack.address.split("/")[0]
    servers = connection.execute(
        select(server.c.id, server.c.ordinal, domain.c.ordinal.label("domain"))
        .join(domain, domain.c.id == server.c.domain_id)
        .where(server.c.rack_id == rack.id)
        .order_by(server.c.id)
    ).all()
    ids = [row.id for row in servers]
    trays = connection.execute(select(tray).where(tray.c.server_id.in_(ids)).order_by(tray.c.id)).all()
    chips = connection.execute(
        select(chip.c.server_id, chip.c.tray_id, chip.c.ordinal, node.c.state)
        .join(node, node.c.id == chip.c.id)
        .where(chip.c.server_id.in_(ids))
        .order_by(chip.c.id)
    ).all()
    lowest = 1
    for of in servers:
        own: list[Row[Any] | None] = [each for each in trays if each.server_id == of.id]
        for each in own or [None]:
            units = each.rack_units if each else None
            yield {
                "server": f"{cluster}/d{of.domain}/s{of.ordinal}",
                "tray": each.ordinal if each else None,
                "kind": each.kind if each else "server",
                "from": lowest,
                "units": units or 1,
                "assumed": not units,
                "chips": [c for c in chips if c.server_id == of.id and (each is None or c.tray_id == each.id)],
            }
            lowest += units or 1
