"""Draw a domain's chips by job, with free, reserved, unhealthy and cordoned chips and a proposed placement.

The explorer's page of jobs and `trninv draw --jobs` show it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple
from xml.etree.ElementTree import Element

from trninv.characters import escape_controls
from trninv.database.tables import CARRYING_STATES, TABLES
from trninv.drawing.palette import hatch_job, job_color, job_letters, on_job_color
from trninv.drawing.rack_contents import job_address_name
from trninv.drawing.svg import (
    INK,
    MUTED,
    PANEL_FILL,
    PANEL_STROKE,
    PAPER,
    RESERVED,
    SELECTION,
    Coordinates,
    Sample,
    Style,
    SvgDocument,
    add_element,
    add_link,
    define_hatch,
    draw_label,
)
from trninv.drawing.symbols import STATE_STYLES, body_style, draw_polyline, draw_state_symbol, text_color
from trninv.drawing.wiring_diagram import DomainDiagram
from trninv.drawing.wiring_layout import DrawnPart, NodeBox
from trninv.inventory.address.expressions import node_addresses
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.address.rows_in import rows_in
from trninv.placement.allocations.job_allocations import OWN_SYSTEM, Job, job_ordinals, jobs_by_key
from trninv.placement.candidates.reserved_chips import read_current_capacity
from trninv.routing.snapshot import Snapshot
from trninv.solvers.torus_blocks import unpack_masks
from trninv.topology.planar_layout import RADIUS, Point2D, SymbolSize
from trninv.units import pluralize

_LINK_COLOR: Final = "var(--link-idle)"
_RING: Final[Style] = {"fill": "none", "stroke": SELECTION, "stroke_width": 3.0, "stroke_dasharray": "5 3"}
_MARGIN, _MAX_NAME_LENGTH, _LEGEND_WIDTH, _RING_GAP, _MIN_FONT = 14.0, 48, 560.0, 5.0, 11.2


@dataclass(frozen=True, slots=True)
class DrawnJob:
    """A job with chips in a domain.

    Attributes
    ----------
    name, address_name
        Its name as people read it, and as commands and the explorer's addresses have it.
    ordinal
        Its position among all jobs, which decides its letters, color and hatch.
    chips
        Number of all its chips, in the domain and elsewhere.
    allocated, spare
        Addresses of its chips in the domain, and of those that it has only in case others fail.

    """

    name: str
    address_name: str
    started_at: str
    ordinal: int
    chips: int
    allocated: Collection[str]
    spare: Collection[str]


class _Look(NamedTuple):
    """The colors, letters and hatch of a job or of reserved chips, which have no letters."""

    color: str
    ink: str
    letters: str
    hatch: str | None
    stroke: str


@dataclass(frozen=True, slots=True)
class JobOverlay:
    """The jobs of a domain, the oldest first, and the addresses of its free, reserved, down and cordoned chips."""

    jobs: Sequence[DrawnJob]
    free: Collection[str]
    reserved: Collection[str]
    down: Collection[str]
    cordoned: Collection[str]


def read_job_overlay(snapshot: Snapshot, diagram: DomainDiagram) -> JobOverlay:
    """Read the jobs on a diagram's chips in the snapshot, which may have a scenario."""
    connection, place = snapshot.connection, resolve_place(snapshot.connection, diagram.scope)
    node, chip, allocation, cordon = (TABLES[name] for name in ("node", "chip", "allocation", "cordon"))
    chips = connection.execute(
        node_addresses()
        .add_columns(node.c.state, allocation.c.job_id, allocation.c.role, cordon.c.id.label("cordon"))
        .outerjoin(allocation, (allocation.c.chip_id == node.c.id) & allocation.c.ended_at.is_(None))
        .outerjoin(cordon, (cordon.c.server_id == chip.c.server_id) & cordon.c.ended_at.is_(None))
        .where(rows_in(place, "node"), node.c.kind == "chip")
        .order_by(node.c.id)
    ).all()
    down = {row.address for row in chips if row.state not in CARRYING_STATES or row.id in snapshot.changes.down}
    cordoned = {row.address for row in chips if row.cordon is not None}
    reserved = _read_reserved(snapshot, diagram.scope)
    chips_by_job: dict[int, list[str]] = {}
    for row in chips:
        if row.job_id is not None:
            chips_by_job.setdefault(row.job_id, []).append(row.address)
    spare = {row.address for row in chips if row.role == "spare"}
    ordinals = job_ordinals(connection)
    jobs = sorted(jobs_by_key(connection, list(chips_by_job)), key=lambda job: ordinals[job.key])
    return JobOverlay(
        [
            DrawnJob(
                _display_name(job),
                job_address_name(job),
                job.started_at,
                ordinals[job.key],
                job.chips,
                chips_by_job[job.key],
                spare.intersection(chips_by_job[job.key]),
            )
            for job in jobs
        ],
        {row.address for row in chips if row.job_id is None} - down - cordoned - reserved,
        reserved,
        down,
        cordoned,
    )


def _read_reserved(snapshot: Snapshot, scope: str) -> set[str]:
    """Return the addresses of a scope's chips that are not free only because they are reserved now."""
    capacity = read_current_capacity(snapshot, scope)
    if capacity is None:  # the scope has several domain models
        return set()
    masks = unpack_masks(capacity.only_reserved)
    return {address for row, mask in enumerate(masks) for address in capacity.chip_addresses(row, mask)}


def _display_name(job: Job) -> str:
    """Return the job's name, with system and external id if it is another system's job."""
    return escape_controls(job.name if job.system == OWN_SYSTEM else f"{job.name} ({job.system}:{job.external_id})")


def draw_jobs(
    diagram: DomainDiagram,
    overlay: JobOverlay,
    proposed: Sequence[str] = (),
    caption: str = "",
    *,
    width: float = 1_100,
    narrow: bool = False,
) -> SvgDocument:
    """Return a picture of a domain's jobs.

    Parameters
    ----------
    proposed
        Addresses of the places where a new job would run; their chips are ringed.
    caption
        Text below the title; by default a summary of jobs and free chips.
    width
        Width in pixels at which the picture is shown; if its layout is wider, texts are enlarged to stay readable.
    narrow
        Whether to lay it out for a small screen.

    """
    document = SvgDocument(diagram.scope, caption or _summarize(diagram, overlay))
    root, layout = document.drawing, diagram.layout(narrow=narrow)
    letters = [f"{job_letters(job.ordinal)} {job.name}: {len(job.allocated)}" for job in overlay.jobs]
    document.label = f"{diagram.scope}: {', '.join(letters) or 'no jobs'}; {pluralize(len(overlay.free), 'free chip')}"
    x, y, layout_width, height = layout.bounds
    picture_width = max(layout_width, min(width, _LEGEND_WIDTH))
    document.text_scale = max(1, picture_width / width)
    font = max(layout.font_size, _MIN_FONT * document.text_scale)
    for panel in layout.panels:
        add_element(root, "rect", **panel._asdict(), rx=10.0, fill=PANEL_FILL, stroke=PANEL_STROKE)
    for link in diagram.links:
        for stroke in layout.link_paths[link.endpoints].strokes:
            draw_polyline(root, stroke, stroke=_LINK_COLOR, stroke_width=1.2)
    looks = [
        _Look(job_color(index), on_job_color(index), job_letters(index), hatch_job(root, index), job_color(index))
        for index in (job.ordinal for job in overlay.jobs)
    ]
    look_of = {chip: look for job, look in zip(overlay.jobs, looks, strict=True) for chip in job.allocated}
    job_of = {chip: job for job in overlay.jobs for chip in job.allocated}
    hatch = define_hatch(root, "hatch-reserved", RESERVED) if overlay.reserved else None
    reserved = _Look(PAPER, MUTED, "", hatch, RESERVED)
    look_of |= dict.fromkeys(overlay.reserved, reserved)
    is_proposed = {part.address for part in diagram.parts if any(_is_inside(part.address, place) for place in proposed)}
    for part in diagram.parts:
        box = layout.node_boxes[part.address]
        if part.kind == "chip":
            look = look_of.get(part.address)
            element = _link_chip(root, part, overlay, job_of.get(part.address))
            visibility = "visible" if part.address in is_proposed else "hidden"  # a page shows it while it is proposed
            _draw_shape(element, box, _RING_GAP, class_="proposal", visibility=visibility, **_RING)
            state = _state_of(part, overlay)
            _draw_chip(element, box, look, state, is_cordoned=part.address in overlay.cordoned)
            _label_chip(element, box.center, look, state, font, str(part.ordinal))
            if state != "up":
                draw_state_symbol(element, box.symbol_position, state, backed=True)
        else:
            title = f"{part.address}, {part.state}"
            add_element(root, "rect", title, **_box_attributes(box), rx=3.0, fill=PAPER, stroke=MUTED)
    for text in layout.labels:
        draw_label(root, (text.x, text.y), text.text, font, MUTED, text_anchor=text.anchor)
    document.legend = _build_legend(diagram, overlay, looks, reserved, has_proposal=bool(is_proposed))
    document.bounds = (x, y, x + picture_width, y + height + _MARGIN)
    return document


def _box_attributes(box: NodeBox, margin: float = 0.0) -> Style:
    """Return the rectangle of a chip or switch, larger by a margin on each side."""
    width, height = box.size.width + 2 * margin, box.size.height + 2 * margin
    return {"x": box.center.x - width / 2, "y": box.center.y - height / 2, "width": width, "height": height}


def _draw_shape(root: Element, box: NodeBox, margin: float = 0.0, /, **style: float | str) -> None:
    """Draw a chip's circle or box."""
    corner_radius = box.size.height / 2 + margin if box.is_circle else 3.0 + margin
    add_element(root, "rect", **_box_attributes(box, margin), rx=corner_radius, **style)


def _is_inside(address: str, place: str) -> bool:
    return address == place or address.startswith(f"{place}/")


def _count_chips(diagram: DomainDiagram) -> int:
    return sum(part.kind == "chip" for part in diagram.parts)


def _summarize(diagram: DomainDiagram, overlay: JobOverlay) -> str:
    return (
        f"{pluralize(len(overlay.jobs), 'job')}, {len(overlay.free)} of {pluralize(_count_chips(diagram), 'chip')} free"
    )


def _state_of(part: DrawnPart, overlay: JobOverlay) -> str:
    """Return a chip's state; one that is up in the tables may be down in a scenario."""
    return "down" if part.address in overlay.down and part.state in CARRYING_STATES else part.state


def _link_chip(root: Element, part: DrawnPart, overlay: JobOverlay, job: DrawnJob | None) -> Element:
    """Add the link to a chip, which says who has it."""
    state, notes = _state_of(part, overlay), ["free"] if part.address in overlay.free else []
    notes = ["degraded", *notes] if state == "degraded" else notes
    if job:
        notes.append(f"job {job.name}" + (", spare" if part.address in job.spare else ""))
    notes += ["reserved"] if part.address in overlay.reserved else []
    notes += ["cordoned"] if part.address in overlay.cordoned else []
    notes += [state] if state not in CARRYING_STATES else []
    data = {"data_address": part.address} | ({"data_job": job.address_name} if job else {})
    return add_link(root, f"at/{part.address}", f"{part.address}, {', '.join(notes)}", **data)


def _draw_chip(root: Element, box: NodeBox, look: _Look | None, state: str, *, is_cordoned: bool) -> None:
    """Draw a chip's body: as its job or reserved chips look, or else its state; dotted if it is cordoned."""
    style = body_style(state) | {"stroke_width": 1.4}
    if look:
        style = {"fill": look.color, "stroke": look.stroke, "stroke_width": 1.6}
    if is_cordoned:
        style |= {"stroke": INK, "stroke_width": 1.8, "stroke_dasharray": "0.1 3.4", "stroke_linecap": "round"}
    _draw_shape(root, box, class_="shape", **style)
    if look and look.hatch:
        _draw_shape(root, box, fill=look.hatch)


def _label_chip(root: Element, center: Point2D, look: _Look | None, state: str, font: float, name: str = "") -> None:
    """Write the letters of a chip's job on it, or its own name."""
    color = look.ink if look else text_color(state, MUTED)
    halo: Style = {"paint_order": "stroke", "stroke": look.color, "stroke_width": 4.0} if look and look.hatch else {}
    baseline, text = (center.x, center.y + 0.35 * font), (look and look.letters) or name
    draw_label(root, baseline, text, font, color, text_anchor="middle", font_weight="bold", **halo)


def _build_legend(
    diagram: DomainDiagram, overlay: JobOverlay, looks: Sequence[_Look], reserved: _Look, *, has_proposal: bool
) -> list[tuple[str | Sample, str]]:
    """Return an entry for each job and for each other look of a chip in the picture."""

    def sample_job(job: DrawnJob, look: _Look, root: Element, center: Coordinates) -> Element:
        options = {"in": diagram.scope, "sel": job.address_name}
        data = {"data_job": job.address_name, "data_ordinal": str(job.ordinal)}
        link = add_link(root, "jobs", f"Job {job.name}", options, class_="job", **data)
        _draw_chip(link, _sample_box(center), look, "up", is_cordoned=False)
        _label_chip(link, Point2D(*center), look, "up", _MIN_FONT)
        return link

    def sample_chip(
        root: Element, center: Coordinates, *, look: _Look | None = None, is_cordoned: bool = False
    ) -> Element:
        _draw_chip(root, _sample_box(center), look, "up", is_cordoned=is_cordoned)
        return root

    def sample_state(state: str, root: Element, center: Coordinates) -> Element:
        draw_state_symbol(root, center, state)
        return root

    def sample_ring(root: Element, center: Coordinates) -> Element:
        _draw_shape(root, _sample_box(center), -2.0, **_RING)
        return root

    states = {_state_of(part, overlay) for part in diagram.parts if part.kind == "chip"}
    allocated = sum(len(job.allocated) for job in overlay.jobs)
    unusable = _count_chips(diagram) - allocated - len(overlay.free) - len(overlay.reserved)
    entries: list[tuple[str | Sample, str]] = [
        (partial(sample_job, job, look), _describe_job(job)) for job, look in zip(overlay.jobs, looks, strict=True)
    ]
    entries += [(sample_chip, f"{len(overlay.free)} free")] if overlay.free else []
    entries += [(partial(sample_chip, look=reserved), f"{len(overlay.reserved)} reserved")] if overlay.reserved else []
    entries += [("none", f"{unusable} unusable")] if unusable else []
    entries += [(partial(sample_chip, is_cordoned=True), "dotted: on a cordoned server")] if overlay.cordoned else []
    entries += [(partial(sample_state, state), state) for state in STATE_STYLES if state in states]
    return entries + ([(sample_ring, "ringed: proposed placement")] if has_proposal else [])


def _sample_box(center: Coordinates) -> NodeBox:
    """Return the box of a chip in the legend."""
    return NodeBox(Point2D(*center), SymbolSize(2 * RADIUS, 2 * RADIUS), "", Point2D(*center))


def _describe_job(job: DrawnJob) -> str:
    """Return a job's entry in the legend."""
    chips = pluralize(len(job.allocated), "chip")
    chips += f" of its {job.chips:,}" if len(job.allocated) < job.chips else ""
    spare = f", {len(job.spare)} of them spare" if job.spare else ""
    name = job.name if len(job.name) <= _MAX_NAME_LENGTH else f"{job.name[: _MAX_NAME_LENGTH - 1]}…"
    return f"{name}: {chips}{spare}, since {job.started_at[:16].replace('T', ' ')} UTC"
