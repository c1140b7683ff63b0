"""Draw a rack's elevation: servers and trays with states, reasons, hosts and jobs, for the explorer and `trninv draw`.

Heights are in rack units (U).
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final
from xml.etree.ElementTree import Element

from trninv.drawing.palette import job_color, job_letters, on_job_color
from trninv.drawing.rack_contents import RackChip, RackContents, RackServer, RackTray
from trninv.drawing.svg import (
    INACTIVE,
    INK,
    MUTED,
    PANEL_FILL,
    PANEL_STROKE,
    PAPER,
    Coordinates,
    Style,
    SvgDocument,
    add_element,
    add_link,
    define_hatch,
    draw_label,
    text_width,
    truncate,
    truncate_name,
)
from trninv.drawing.symbols import SEVERITY, body_style, draw_state_counts, draw_state_symbol, text_color
from trninv.units import pluralize

_UNIT_HEIGHT, _LINE_HEIGHT, _MIN_TRAY_HEIGHT, _MIN_CHIP_WIDTH, _CHIP_LINE_HEIGHT = 16.0, 15.0, 36.0, 44.0, 22.0
_SCALE_WIDTH, _TEXT_WIDTH, _TRAY_NAME_WIDTH, _JOB_WIDTH = 30.0, 210.0, 74.0, 110.0
_NARROW: Final = 600
"""A narrower picture has each server's text above its trays, and no scale."""
_MAX_HEIGHT: Final = 676.0
"""Height of a wide picture above which trays without a documented height are drawn lower."""
_MAX_NAMED_JOBS: Final = 2
"""Jobs of a server that a narrow picture names; more are counted."""
_MIN_LABEL_WIDTH: Final = 60.0
"""Width beside a tray's chips from which its job is named; else only its letters are drawn."""
_MIN_NOTE_WIDTH: Final = 140.0
"""Width of a chip from which its reason is written in it."""


def draw_rack(rack: RackContents, width: float = 900, *, has_counts: bool = True) -> SvgDocument:
    """Return the elevation, from the bottom up; trays of undocumented height are not to scale and hatched.

    Without counts the caption and the numbers of parts are left to the page that shows the picture.
    """
    used = sum(tray.units or 0 for server in rack.servers for tray in server.trays)
    is_assumed = any(tray.units is None for server in rack.servers for tray in server.trays)
    heights = "heights not documented, not to scale" if is_assumed else f"{used} of {rack.units} rack units"
    caption = f"{pluralize(len(rack.servers), 'server')}, {heights}; the order from bottom to top is assumed"
    document = SvgDocument(rack.address, caption if has_counts else "")
    document.label = f"{rack.address}: {caption}"
    root, is_narrow = document.drawing, width < _NARROW
    hatch = define_hatch(root, "hatch-rack", MUTED, opacity="0.35")
    y = draw_state_counts(root, (0, 0), width, rack.counts) if has_counts else 0.0
    scale = 0.0 if is_narrow else _SCALE_WIDTH
    if (free := rack.units - used) > 0 and not is_assumed:
        height = _UNIT_HEIGHT * (2 if is_narrow else free)
        box: Style = {"x": scale, "y": y, "width": width - scale, "height": height}
        add_element(root, "rect", **box, fill=PANEL_FILL, stroke=INACTIVE)
        add_element(root, "rect", **box, fill=hatch)
        text = f"U{used + 1} to U{rack.units}: not documented"
        label_box: Style = {"x": width / 2 - 90, "y": y + height / 2 - 10, "width": 200.0, "height": 20.0, "rx": 10.0}
        add_element(root, "rect", **label_box, fill=PAPER)
        draw_label(root, (width / 2 + 10, y + height / 2 + 4), text, 12, MUTED, text_anchor="middle")
        if not is_narrow:
            _draw_scale(root, y, rack.units, free)
        y += height
    top_unit = used
    least = _least_tray_height(rack)
    for server in reversed(rack.servers):
        units = sum(tray.units or 0 for tray in server.trays)
        if not is_narrow:
            _draw_scale(root, y, top_unit, units)
        area, numbers = (scale, y, width - scale), (top_unit - units + 1, top_unit)
        y = _draw_server(root, server, area, numbers, hatch, rack.job_ordinals, least)
        top_unit -= units
        y += 6 if is_narrow or is_assumed else 0
    if is_assumed and has_counts:
        document.legend.append((INACTIVE, "hatched: height not documented"))
    document.bounds = (0, 0, width, y + 4)
    return document


def _draw_scale(root: Element, top: float, top_unit: int, units: int) -> None:
    """Draw the numbers of ``units`` rack units downward from ``top_unit``."""
    for index in range(units):
        baseline = (_SCALE_WIDTH - 8, top + _UNIT_HEIGHT * index + 12)
        draw_label(root, baseline, str(top_unit - index), 11, MUTED, text_anchor="end")


def _draw_server(
    root: Element,
    server: RackServer,
    area: tuple[float, float, float],
    units: tuple[int, int],
    hatch: str,
    job_ordinals: Mapping[str, int],
    least: float,
) -> float:
    """Draw a server at ``area`` (x, y, width) that takes up ``units`` (lowest, highest); return the bottom y."""
    x, y, width = area
    is_narrow = x == 0
    tray_x, tray_width = (x + 6, width - 12) if is_narrow else (x + _TEXT_WIDTH, width - _TEXT_WIDTH - 5)
    heights = [_tray_height(tray, tray_width, 0 if is_narrow else least, is_narrow=is_narrow) for tray in server.trays]
    line_width = width - 20 if is_narrow else _TEXT_WIDTH - 20
    lines = list(_narrow_lines(server, line_width, job_ordinals)) if is_narrow else []
    text_height = _LINE_HEIGHT * (1 + len(lines)) + 10 if is_narrow else 0.0
    height = sum(heights) + text_height + (6 if is_narrow else 0)
    link = add_link(root, f"at/{server.address}", f"{server.address}, {server.state}")
    frame: Style = {"x": x + 1, "y": y + 1, "width": width - 2, "height": height - 2, "rx": 4.0}
    add_element(link, "rect", **frame, **body_style(server.state), stroke_width=1.0 if server.state == "up" else 2.0)
    if is_narrow:
        _draw_narrow_text(link, server, (x + 10, y, line_width), lines, units)
    else:
        _draw_server_text(link, server, (x + 10, y, line_width), height - 4, units)
    bottom = y + height - (6 if is_narrow else 0)
    for tray, tray_height in zip(server.trays, heights, strict=True):
        bottom -= tray_height
        _draw_tray(root, server, tray, (tray_x, bottom, tray_width, tray_height), hatch, job_ordinals)
    return y + height


def _draw_server_text(
    link: Element, server: RackServer, area: tuple[float, float, float], height: float, units: tuple[int, int]
) -> None:
    """Draw a server's name and state, and as many lines about it as fit into the height."""
    x, y, width = area
    color = text_color(server.state, MUTED)
    end = _draw_server_name(link, server, (x, y))
    jobs = sorted({chip.job for chip in server.chips if chip.job})
    job_text = f"job {jobs[0]}" if len(jobs) == 1 else pluralize(len(jobs), "job") if jobs else "no jobs"
    lines = [*_problem_lines(server), _chips_up(server), job_text, *_machine_texts(server, width)]
    if units[1] >= units[0]:
        lines.append(_units_text(units))
    count = int((height - 18) / _LINE_HEIGHT)
    if not count and lines:
        text = truncate(lines[0], x + width - end, 12)
        draw_label(link, (end, y + 18), text, 12, color if server.state != "up" else MUTED)
    if len(lines) > count:
        lines = [*lines[: count - 1], " · ".join(lines[count - 1 :])] if count else []
    for index, line in enumerate(lines):
        baseline = (x, y + 34 + _LINE_HEIGHT * index)
        draw_label(link, baseline, truncate(line, width, 12), 12, MUTED if index else color)


def _draw_narrow_text(
    link: Element, server: RackServer, area: tuple[float, float, float], lines: list[str], units: tuple[int, int]
) -> None:
    """Draw a server's name, state and rack units, and the lines about it below."""
    x, y, width = area
    _draw_server_name(link, server, (x, y))
    if units[1] >= units[0]:
        draw_label(link, (x + width, y + 18), _units_text(units), 12, MUTED, text_anchor="end")
    for index, line in enumerate(lines):
        color = MUTED if index else text_color(server.state, MUTED)
        draw_label(link, (x, y + 34 + _LINE_HEIGHT * index), truncate(line, width, 12), 12, color)


def _draw_server_name(link: Element, server: RackServer, corner: Coordinates) -> float:
    """Draw a server's name and state; return the x beside them."""
    x, y = corner
    draw_state_symbol(link, (x + 5, y + 14), server.state)
    draw_label(link, (x + 16, y + 18), server.name, 14, font_weight="600")
    state_x = x + 20 + 9 * len(server.name)
    draw_label(link, (state_x, y + 18), server.state, 13, text_color(server.state, MUTED))
    return state_x + 7.6 * len(server.state) + 8


def _narrow_lines(server: RackServer, width: float, job_ordinals: Mapping[str, int]) -> Iterator[str]:
    """Yield what is known about a server in lines of a narrow picture, the most urgent first."""
    first, *others = [*_problem_lines(server), ""]
    jobs = sorted({chip.job for chip in server.chips if chip.job}, key=lambda job: job_ordinals[job])
    # a tray of a narrow picture has room for its jobs' letters only
    names = [f"{job_letters(job_ordinals[job])} {job}" for job in jobs]
    use = [_chips_up(server), *(names if len(jobs) <= _MAX_NAMED_JOBS else [pluralize(len(jobs), "job")])]
    if not jobs:
        use.append("no jobs")
    if names and text_width(" · ".join(use), 12) > width:
        room = (width - text_width(use[0], 12)) / len(names) - text_width(" · ", 12)
        use[1:] = [truncate_name(name, room, 12) for name in names]
    machine = list(_machine_texts(server, width - text_width(f" · {server.instance}", 12)))
    for texts in ([first], others, use, machine):
        if line := " · ".join(filter(None, texts)):
            yield line


def _chips_up(server: RackServer) -> str:
    """Return how many chips are up, or how many are in the state of their server if it is unhealthy."""
    along = sum(chip.state == server.state != "up" for chip in server.chips)
    if along:
        return f"{pluralize(along, 'chip')} {'in ' if server.state == 'maintenance' else ''}{server.state} with it"
    return f"{sum(chip.state == 'up' for chip in server.chips)} of {pluralize(len(server.chips), 'chip')} up"


def _units_text(units: tuple[int, int]) -> str:
    return f"U{units[0]} to U{units[1]}"


def _machine_texts(server: RackServer, width: float) -> Iterator[str]:
    """Yield the host and the instance of a server; a host name that is too wide loses its domain, then its middle."""
    if host := server.host:
        room = width - text_width("host ", 12)
        yield f"host {truncate_name(host.partition('.')[0] if text_width(host, 12) > room else host, room, 12)}"
    if server.instance:
        yield server.instance


def _problem_lines(server: RackServer) -> Iterator[str]:
    """Yield what is wrong with a server, the most urgent first."""
    if server.state != "up" and server.change:
        yield server.change.why
        yield f"since {datetime.fromisoformat(server.change.at):%m-%d %H:%M} UTC"
        yield f"set by {server.change.who}"
    for chip in server.chips:
        if chip.state not in ("up", server.state):
            yield f"c{chip.ordinal}: {chip.reason}"
    if server.cordon:
        yield f"cordoned: {server.cordon}"


def _least_tray_height(rack: RackContents) -> float:
    """Return the least height of a tray without a documented one, so that the rack fits a window if it can."""
    trays = sum(len(server.trays) for server in rack.servers)
    fitting = (_MAX_HEIGHT - 6 * len(rack.servers)) / max(trays, 1)
    return min(max(fitting, _CHIP_LINE_HEIGHT + 4), _MIN_TRAY_HEIGHT)


def _tray_height(tray: RackTray, width: float, least: float, *, is_narrow: bool) -> float:
    if tray.units and not is_narrow:
        return tray.units * _UNIT_HEIGHT
    rows = -(-len(tray.chips) // _chips_per_row(tray, width))
    return max(_CHIP_LINE_HEIGHT * max(rows, 1) + (8 if is_narrow else 4), least)


def _chips_per_row(tray: RackTray, width: float) -> int:
    return max(1, min(len(tray.chips), int(_chip_area(tray, width) / _MIN_CHIP_WIDTH)))


def _chip_area(tray: RackTray, width: float) -> float:
    """Return the width of a tray's chips, between its name and its jobs."""
    return width - (_TRAY_NAME_WIDTH if tray.name else 6) - _job_width(width)


def _job_width(width: float) -> float:
    return _JOB_WIDTH if width > _NARROW * 0.6 else 48.0


def _draw_tray(
    root: Element,
    server: RackServer,
    tray: RackTray,
    area: tuple[float, float, float, float],
    hatch: str,
    job_ordinals: Mapping[str, int],
) -> None:
    x, y, width, height = area
    title = f"{server.address}, {tray.name or 'server'}, " + (f"{tray.units}U" if tray.units else "height assumed")
    box: Style = {"x": x, "y": y + 1.5, "width": width, "height": height - 3, "rx": 2.0}
    add_element(root, "rect", title, **box, fill=PAPER if tray.chips else PANEL_FILL, stroke=PANEL_STROKE)
    if not tray.units:
        add_element(root, "rect", x=x, y=y + 1.5, width=6.0, height=height - 3, fill=hatch)
    draw_label(root, (x + 10, y + height / 2 + 4), tray.name, 12, MUTED)
    if not tray.chips:
        _draw_nics(root, server, (x + _TRAY_NAME_WIDTH, y + height / 2 + 4))
        return
    per_row = _chips_per_row(tray, width)
    chip_x, chip_width = x + (_TRAY_NAME_WIDTH if tray.name else 10), _chip_area(tray, width) / per_row
    rows = -(-len(tray.chips) // per_row)
    row_height = min((height - 6) / rows, 28.0)
    top = y + (height - row_height * rows) / 2 + 1.5
    for index, chip in enumerate(tray.chips):
        row, column = divmod(index, per_row)
        place = (chip_x + chip_width * column, top + row_height * row, chip_width - 4, row_height - 3)
        _draw_chip(root, server, chip, place)
    jobs = sorted({chip.job for chip in tray.chips if chip.job})
    baseline = (x + width - _job_width(width) + 6, y + height / 2 + 4)
    label_width = _job_width(width) - 10
    if not jobs:
        if any(chip.job for chip in server.chips):  # else it is said once, at the server
            draw_label(root, baseline, "no job", 12, MUTED)
        return
    domain = server.address.rsplit("/", 1)[0]
    options = {"in": domain} | ({"sel": jobs[0]} if len(jobs) == 1 else {})
    link = add_link(root, "jobs", f"Jobs: {', '.join(jobs)}", options)
    is_narrow = label_width < _MIN_LABEL_WIDTH
    if len(jobs) > (2 if is_narrow else 1):
        draw_label(link, baseline, truncate(pluralize(len(jobs), "job"), label_width, 12), 12, INK)
        return
    for position, job in enumerate(jobs):
        _draw_letters(link, (baseline[0] + 19 * position, baseline[1]), job_ordinals[job])
    if not is_narrow:
        name = truncate_name(jobs[0], label_width - 23, 12)
        draw_label(link, (baseline[0] + 23, baseline[1]), name, 12, INK)


def _draw_letters(link: Element, baseline: Coordinates, index: int) -> None:
    """Draw the letters of the job at an index on its color."""
    x, y = baseline
    add_element(link, "rect", x=x, y=y - 12, width=17.0, height=16.0, rx=3.0, fill=job_color(index))
    style: Style = {"text_anchor": "middle", "font_weight": "600"}
    draw_label(link, (x + 8.5, y), job_letters(index), 11, on_job_color(index), **style)


def _draw_nics(root: Element, server: RackServer, baseline: Coordinates) -> None:
    """Draw the number of a server's NICs in its head tray, with the worst state."""
    if not server.nics:
        return
    state = min(server.nics, key=SEVERITY.index)
    text = pluralize(sum(server.nics.values()), "NIC")
    if state != "up":
        text = f"{server.nics[state]} of {text} {'in ' if state == 'maintenance' else ''}{state}"
    draw_state_symbol(root, (baseline[0] + 10, baseline[1] - 4), state)
    draw_label(root, (baseline[0] + 19, baseline[1]), text, 12, text_color(state, MUTED))


def _draw_chip(root: Element, server: RackServer, chip: RackChip, area: tuple[float, float, float, float]) -> None:
    x, y, width, height = area
    reason = "" if chip.state == "up" else "with its server" if chip.state == server.state else chip.reason
    notes = [chip.state, *filter(None, [reason, chip.job and f"job {chip.job}"])]
    link = add_link(root, f"at/{chip.address}", f"{chip.address}, {', '.join(notes)}")
    style = body_style(chip.state) | ({"fill": PANEL_FILL} if chip.state == "up" else {})
    add_element(link, "rect", x=x, y=y, width=width, height=height, rx=2.0, **style)
    name, baseline, color = f"c{chip.ordinal}", y + height / 2 + 4, text_color(chip.state)
    draw_state_symbol(link, (x + 10, baseline - 4), chip.state)
    draw_label(link, (x + 19, baseline), name, 11 if width < _MIN_NOTE_WIDTH else 12, color, font_weight="600")
    if width >= _MIN_NOTE_WIDTH:
        # what failed with its server is said once, at the server
        note = "" if chip.state == server.state else truncate(reason, width - 27 - 9 * len(name), 11)
        draw_label(link, (x + width - 5, baseline), note, 11, color, text_anchor="end")
