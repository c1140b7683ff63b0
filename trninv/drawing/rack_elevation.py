"""Draw a rack's elevation."""

from collections.abc import Iterator
from typing import Any, Final

from sqlalchemy import Connection, Row, select

from trninv.database.tables import CARRYING_STATES, TABLES
from trninv.drawing.svg import (
    DEGRADED,
    DOWN,
    INK,
    MAINTENANCE,
    MUTED,
    PAPER,
    Style,
    SvgDocument,
    add_element,
    draw_label,
)
from trninv.inventory.address.lookup import Place
from trninv.units import pluralize

_TABLES = TABLES
_UNIT_HEIGHT, _RACK_WIDTH, _LEFT_MARGIN, _TOP_MARGIN = 18.0, 460.0, 46.0, 12.0
_FILL_BY_KIND: Final = {"head": "#e9e3f7", "compute": "#dbe6fb", "server": "#f5f6f8"}


def draw_rack(connection: Connection, rack: Place) -> str:
    """Return an SVG with servers from the bottom up; those of undocumented height are hatched and 1U high."""
    units = connection.scalar(select(_TABLES["rack"].c.rack_units).where(_TABLES["rack"].c.id == rack.id)) or 0
    trays = list(_read_trays(connection, rack))
    used_units = sum(tray["units"] for tray in trays)
    height = max(units, used_units)
    servers = len({tray["server"] for tray in trays})
    height_note = (
        "heights not documented" if any(tray["assumed"] for tray in trays) else f"{used_units} of {units} rack units"
    )
    document = SvgDocument(rack.address, f"{pluralize(servers, 'server')}, {height_note}")
    root = document.drawing
    hatch = add_element(root, "pattern", id="hatch", width=6.0, height=6.0, patternUnits="userSpaceOnUse")
    hatch.set("patternTransform", "rotate(45)")
    add_element(hatch, "rect", width=2.0, height=6.0, fill=MUTED, opacity="0.35")
    frame: Style = {"fill": "none", "stroke": INK, "stroke_width": 1.5}
    add_element(root, "rect", x=_LEFT_MARGIN, y=_TOP_MARGIN, width=_RACK_WIDTH, height=height * _UNIT_HEIGHT, **frame)
    for unit in range(1, height + 1):
        draw_label(
            root,
            (_LEFT_MARGIN - 8, _TOP_MARGIN + (height - unit) * _UNIT_HEIGHT + 13),
            str(unit),
            10,
            MUTED,
            text_anchor="end",
        )
    for tray in trays:
        _draw_tray(document, tray, _TOP_MARGIN + (height - tray["from"] - tray["units"] + 1) * _UNIT_HEIGHT)
    if any(tray["assumed"] for tray in trays):
        document.legend.append((MUTED, "hatched: height not documented, drawn as 1U"))
    return document.render(0, 0, _LEFT_MARGIN + _RACK_WIDTH + 20, 2 * _TOP_MARGIN + height * _UNIT_HEIGHT)


def _draw_tray(document: SvgDocument, tray: dict[str, Any], top: float) -> None:
    height, kind = tray["units"] * _UNIT_HEIGHT - 2, tray["kind"]
    title = f"{tray['server']}, {kind}, " + ("height assumed" if tray["assumed"] else f"{tray['units']}U")
    box: Style = {"x": _LEFT_MARGIN + 2, "y": top + 1, "width": _RACK_WIDTH - 4, "height": height}
    add_element(document.drawing, "rect", title, fill=_FILL_BY_KIND[kind], stroke=MUTED, **box)
    if tray["assumed"]:
        add_element(document.drawing, "rect", fill="url(#hatch)", stroke=MUTED, **box)
    name = tray["server"].rsplit("/", 1)[1] + ("" if kind == "server" else f" {kind} tray {tray['tray']}")
    draw_label(document.drawing, (_LEFT_MARGIN + 10, top + height / 2 + 5), name)
    for index, chip in enumerate(tray["chips"]):
        style: Style = {"fill": PAPER, "stroke": MUTED}
        if chip.state == "degraded":
            style = {"fill": PAPER, "stroke": DEGRADED, "stroke_width": 2.0}
        elif chip.state not in CARRYING_STATES:
            color = MAINTENANCE if chip.state == "maintenance" else DOWN
            style = {"fill": PAPER, "stroke": color, "stroke_dasharray": "3 2"}
        x = _LEFT_MARGIN + 150 + index * 19
        title = f"{tray['server']}/c{chip.ordinal}, {chip.state}"
        add_element(
            document.drawing, "rect", title, x=x, y=top + height / 2 - 6, width=16.0, height=14.0, rx=2.0, **style
        )
        draw_label(document.drawing, (x + 8, top + height / 2 + 5), str(chip.ordinal), 9, text_anchor="middle")


def _read_trays(connection: Connection, rack: Place) -> Iterator[dict[str, Any]]:
    """Yield the trays from the bottom up; a server without documented trays counts as one."""
    server, domain, tray, chip, node = (_TABLES[name] for name in ("server", "domain", "tray", "chip", "node"))
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
    lowest_unit = 1
    for server_row in servers:
        server_trays: list[Row[Any] | None] = [tray_row for tray_row in trays if tray_row.server_id == server_row.id]
        for tray_row in server_trays or [None]:
            units = tray_row.rack_units if tray_row else None
            yield {
                "server": f"{cluster}/d{server_row.domain}/s{server_row.ordinal}",
                "tray": tray_row.ordinal if tray_row else None,
                "kind": tray_row.kind if tray_row else "server",
                "from": lowest_unit,
                "units": units or 1,
                "assumed": not units,
                "chips": [
                    chip_row
                    for chip_row in chips
                    if chip_row.server_id == server_row.id and (tray_row is None or chip_row.tray_id == tray_row.id)
                ],
            }
            lowest_unit += units or 1
