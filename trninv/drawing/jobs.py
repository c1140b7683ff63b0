"""The chips of a domain by the jobs that hold them, with what is free, down and closed, and where the next job fits."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree.ElementTree import Element

from trninv.characters import plain
from trninv.drawing.ink import way
from trninv.drawing.layout import Layout, Part, Place
from trninv.drawing.palette import colour, define, hatch, letters
from trninv.drawing.svg import BAD, EDGE, INK, MARK, PAPER, QUIET, SUNKEN, Picture, Style, add, label, line
from trninv.drawing.wiring import Diagram
from trninv.inventory.address import resolve
from trninv.jobs.holding import OURS, Job, listed
from trninv.jobs.stock import every_row
from trninv.jobs.tenants import tenants
from trninv.routing.wiring import Reader
from trninv.solvers.blocks import whole
from trninv.topology.sketch import RADIUS, Point, Size
from trninv.units import counted

_WIRE: Final = "#c9ced6"
_MARGIN, _ROW, _NAME = 44.0, 30.0, 48
_AROUND, _RIM = 5.0, 2.5
"""Between a chip and the outline of what is proposed, and how wide that is."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A job that holds chips of a domain: what they are, by address, and how many it has in all."""

    name: str
    since: str
    chips: int
    work: frozenset[str]
    spare: frozenset[str]


@dataclass(frozen=True, slots=True)
class Held:
    """Who holds the chips of a domain, the oldest job first, and which chips are free, down or in a closed server."""

    jobs: Sequence[Holder]
    free: Collection[str]
    down: Collection[str]
    closed: Collection[str]


def read(reader: Reader, diagram: Diagram) -> Held:
    """The jobs of what a diagram shows, as they are or are supposed to be.

    Raises
    ------
    LimitError
        The cluster has domains of several models.

    """
    place = resolve(reader.connection, diagram.scope)
    there = every_row(reader, diagram.scope)
    (row,) = (at for at, inside in enumerate(whole(there.inside)) if inside)
    one, each_has = there.rows([row], there.inside), there.model.per_server
    shown = [(part.address, 1 << each_has * (part.server or 0) + part.ordinal) for part in _chips(diagram)]

    def among(mask: int) -> frozenset[str]:
        return frozenset(address for address, bit in shown if mask & bit)

    sets = [
        (each.key, among(each.work.get(row, 0)), among(each.spare.get(row, 0)))
        for each in tenants(reader, place.cluster_id, there.model)
    ]
    here = {key: (work, spare) for key, work, spare in sets if work or spare}
    jobs = [Holder(_called(job), job.began, job.chips, *here[job.key]) for job in listed(reader.connection, list(here))]
    (free,), (up,), (closed,) = whole(one.free), whole(one.up), whole(one.closed)
    return Held(jobs, among(free), among(~up), among(closed))


def _called(job: Job) -> str:
    """By its name, and by what its system calls it."""
    return plain(job.name if job.system == OURS else f"{job.name} ({job.system}:{job.external_id})")


def picture(diagram: Diagram, held: Held, proposed: Sequence[str] = (), caption: str = "") -> str:
    """An SVG document.

    Parameters
    ----------
    proposed
        Places of the next job, which are outlined.
    caption
        What is said of them.

    """
    made, placed = Picture(diagram.scope, caption or _summary(diagram, held)), diagram.layout()
    define(made.drawing)
    for panel in placed.panels:
        add(made.drawing, "rect", **panel._asdict(), rx=10.0, fill=SUNKEN, stroke=EDGE)
    for wire in diagram.wires:
        for stroke in placed.routes[wire.ends].strokes:
            way(made.drawing, stroke, stroke=_WIRE, stroke_width=1.2)
    inside = [part for part in _chips(diagram) if any(_lies(part.address, place) for place in proposed)]
    _outline(made.drawing, diagram, placed, inside)
    for part in diagram.parts:
        if part.kind == "chip":
            _chip(made.drawing, part, placed.flat[part.address], held)
        else:
            title = f"{part.address}, {part.state}"
            add(made.drawing, "rect", title, **_box(placed.flat[part.address]), rx=3.0, fill=PAPER, stroke=QUIET)
    for each in placed.labels:
        label(made.drawing, (each.x, each.y), each.text, placed.font, QUIET, text_anchor=each.anchor)
    left, top, width, height = placed.box
    below = _legend(made.drawing, held, (left + 26, top + height + _MARGIN), proposed=bool(inside))
    return made.text(left, top, left + max(width, 560), below)


def _box(place: Place, more: float = 0.0) -> Style:
    """Around a chip or switch, so much larger on each side."""
    width, height = place.size.width + 2 * more, place.size.height + 2 * more
    return {"x": place.at.x - width / 2, "y": place.at.y - height / 2, "width": width, "height": height}


def _shape(root: Element, place: Place, title: str = "", more: float = 0.0, /, **style: float | str) -> None:
    """A chip's circle or box."""
    round_by = place.size.height / 2 + more if place.round else 3.0
    add(root, "rect", title, **_box(place, more), rx=round_by, **style)


def _chips(diagram: Diagram) -> list[Part]:
    return [part for part in diagram.parts if part.kind == "chip"]


def _lies(address: str, place: str) -> bool:
    return address == place or address.startswith(f"{place}/")


def _summary(diagram: Diagram, held: Held) -> str:
    return f"{counted(len(held.jobs), 'job')}, {len(held.free)} of {counted(len(_chips(diagram)), 'chip')} free"


def _outline(root: Element, diagram: Diagram, placed: Layout, inside: Sequence[Part]) -> None:
    """Around chips that belong together: what is a little larger in the outline's colour, then less so in paper's."""
    server = {part.address: part.server for part in inside}
    joined = [
        placed.routes[wire.ends].strokes
        for wire in diagram.wires
        if wire.ends not in placed.wrapping
        and wire.a in server
        and wire.b in server
        and server[wire.a] == server[wire.b]
    ]
    for around, fill in ((_AROUND + _RIM, MARK), (_AROUND, PAPER)):
        for strokes in joined:
            for stroke in strokes:
                way(root, stroke, stroke=fill, stroke_width=2 * (RADIUS + around), stroke_linecap="round")
        for part in inside:
            _shape(root, placed.flat[part.address], "", around, fill=fill)


def _chip(root: Element, part: Part, at: Place, held: Held) -> None:
    down, closed = part.address in held.down, part.address in held.closed
    number, job = next(
        ((number, job) for number, job in enumerate(held.jobs) if part.address in job.work | job.spare), (0, None)
    )
    says = ["free"] if part.address in held.free else []
    if job:
        says += [f"job {job.name}" + (", to spare" if part.address in job.spare else "")]
    says += ["takes no new jobs"] if closed else []
    says += [part.state if part.state in ("down", "maintenance") else "down"] if down else []
    title = f"{part.address}, {', '.join(says)}"
    _disc(root, at, number if job else None, title, down=down, closed=closed)
    name = letters(number) if job else str(part.ordinal)
    halo: Style = {"paint_order": "stroke", "stroke": PAPER, "stroke_width": 3.0} if down else {}
    ink = QUIET if not job else INK if down else PAPER
    _says(root, at.at, name, ink, **halo)


def _says(root: Element, at: Point, name: str, ink: str, **more: float | str) -> None:
    label(root, (at[0], at[1] + 4), name, 11, ink, text_anchor="middle", font_weight="bold", **more)


def _disc(root: Element, at: Place, job: int | None, title: str, *, down: bool, closed: bool) -> None:
    """A chip: filled if a job holds it and it works, dotted if its server is closed, crossed if it is down."""
    edge: Style = {"stroke": INK if job is None else colour(job), "stroke_width": 1.2 if job is None else 3.0}
    if closed:
        edge |= {"stroke": INK, "stroke_width": 1.8, "stroke_dasharray": "0.1 3.4", "stroke_linecap": "round"}
    filled = job is not None and not down
    _shape(root, at, title, fill=colour(job) if job is not None and filled else PAPER, **edge)
    if job is not None and filled and (over := hatch(job)):
        _shape(root, at, title, fill=over)
    if down:
        (x, y), (width, height) = at.at, at.size
        for turn in (-1, 1):
            ends = ((x - 0.55 * width, y - turn * 0.55 * height), (x + 0.55 * width, y + turn * 0.55 * height))
            line(root, *ends, title, stroke=BAD, stroke_width=2.2)


def _key(at: Point) -> Place:
    """A chip of the legend."""
    return Place(at, Size(2 * RADIUS, 2 * RADIUS), "", at)


def _legend(root: Element, held: Held, at: tuple[float, float], *, proposed: bool) -> float:
    """A row for each job and each other look that chips have; how far down it goes."""
    x, y = at[0], at[1] + RADIUS
    for number, job in enumerate(held.jobs):
        _disc(root, _key(Point(x, y)), number, "", down=False, closed=False)
        _says(root, Point(x, y), letters(number), PAPER)
        here = len(job.work | job.spare)
        chips = counted(here, "chip") + (f" of its {job.chips:,}" if here < job.chips else "")
        spare = f", {len(job.spare)} of them to spare" if job.spare else ""
        name = job.name if len(job.name) <= _NAME else f"{job.name[: _NAME - 1]}…"
        label(root, (x + 22, y + 4), f"{name}: {chips}{spare}, since {job.since[:16].replace('T', ' ')} UTC", 13)
        y += _ROW
    looks = (
        ("free", False, False, bool(held.free)),
        ("crossed: down or in maintenance", True, False, bool(held.down)),
        ("dotted: its server takes no new jobs", False, True, bool(held.closed)),
    )
    for says, down, closed, there in looks:
        if there:
            _disc(root, _key(Point(x, y)), None, "", down=down, closed=closed)
            label(root, (x + 22, y + 4), says, 13)
            y += _ROW
    if proposed:
        add(root, "circle", cx=x, cy=y, r=RADIUS - 2, fill=PAPER, stroke=MARK, stroke_width=_RIM)
        label(root, (x + 22, y + 4), "outlined: where the next job goes", 13)
        y += _ROW
    return y
