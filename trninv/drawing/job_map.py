"""Draw a domain's chips by job, with free, failed and cordoned chips and a proposed placement."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree.ElementTree import Element

from trninv.characters import escape_controls
from trninv.drawing.palette import define_hatches, job_color, job_hatch, job_letters
from trninv.drawing.svg import (
    DOWN,
    HIGHLIGHT,
    INK,
    MUTED,
    PANEL_FILL,
    PANEL_STROKE,
    PAPER,
    Style,
    SvgDocument,
    add_element,
    draw_label,
    draw_line,
)
from trninv.drawing.symbols import draw_polyline
from trninv.drawing.wiring_diagram import DomainDiagram
from trninv.drawing.wiring_layout import DrawnPart, NodeBox, WiringLayout
from trninv.inventory.address.lookup import resolve_place
from trninv.placement.allocations.allocation_masks import read_allocations
from trninv.placement.allocations.job_allocations import OWN_SYSTEM, Job, jobs_by_key
from trninv.placement.candidates.free_capacity import read_cluster_capacity
from trninv.routing.wiring_cache import SnapshotReader
from trninv.solvers.torus_blocks import unpack_masks
from trninv.topology.planar_layout import RADIUS, Point2D, SymbolSize
from trninv.units import pluralize

_LINK_COLOR: Final = "#c9ced6"
_MARGIN, _ROW_HEIGHT, _MAX_NAME_LENGTH = 44.0, 30.0, 48
_OUTLINE_GAP, _OUTLINE_WIDTH = 5.0, 2.5
"""The gap between a chip and the outline of a proposed placement, and the outline's width."""


@dataclass(frozen=True, slots=True)
class DrawnJob:
    """A job with chips in a domain: its number of chips in all, and the addresses of those in the domain."""

    name: str
    started_at: str
    chips: int
    work: frozenset[str]
    spare: frozenset[str]


@dataclass(frozen=True, slots=True)
class JobOverlay:
    """The jobs of a domain, the oldest first, and the addresses of its free, failed and cordoned chips."""

    jobs: Sequence[DrawnJob]
    free: Collection[str]
    down: Collection[str]
    cordoned: Collection[str]


def read_job_overlay(reader: SnapshotReader, diagram: DomainDiagram) -> JobOverlay:
    """Read the jobs on a diagram's chips in the reader's snapshot, which may have a scenario.

    Raises
    ------
    InvalidArgumentError
        The cluster has domains of several models.

    """
    place = resolve_place(reader.connection, diagram.scope)
    capacity = read_cluster_capacity(reader, diagram.scope)
    (row,) = (index for index, is_inside in enumerate(unpack_masks(capacity.in_scope)) if is_inside)
    domain_capacity, chips_per_server = capacity.select([row], capacity.in_scope), capacity.model.chips_per_server
    chip_bits = [
        (part.address, 1 << chips_per_server * (part.server or 0) + part.ordinal) for part in _diagram_chips(diagram)
    ]

    def addresses_in_mask(mask: int) -> frozenset[str]:
        return frozenset(address for address, bit in chip_bits if mask & bit)

    sets = [
        (
            allocation.key,
            addresses_in_mask(allocation.work.get(row, 0)),
            addresses_in_mask(allocation.spare.get(row, 0)),
        )
        for allocation in read_allocations(reader, place.cluster_id, capacity.model)
    ]
    chips_by_job = {key: (work, spare) for key, work, spare in sets if work or spare}
    jobs = [
        DrawnJob(_display_name(job), job.started_at, job.chips, *chips_by_job[job.key])
        for job in jobs_by_key(reader.connection, list(chips_by_job))
    ]
    (free,), (up,), (cordoned,) = (
        unpack_masks(domain_capacity.free),
        unpack_masks(domain_capacity.up),
        unpack_masks(domain_capacity.cordoned),
    )
    return JobOverlay(jobs, addresses_in_mask(free), addresses_in_mask(~up), addresses_in_mask(cordoned))


def _display_name(job: Job) -> str:
    """Return the job's name, with system and external id if it is another system's job."""
    return escape_controls(job.name if job.system == OWN_SYSTEM else f"{job.name} ({job.system}:{job.external_id})")


def draw_jobs(diagram: DomainDiagram, overlay: JobOverlay, proposed: Sequence[str] = (), caption: str = "") -> str:
    """Return an SVG of a domain's jobs.

    Parameters
    ----------
    proposed
        Addresses of the places proposed for the next job, which are outlined.
    caption
        Text below the title; by default a summary of jobs and free chips.

    """
    document, layout = SvgDocument(diagram.scope, caption or _summarize(diagram, overlay)), diagram.layout()
    define_hatches(document.drawing)
    for panel in layout.panels:
        add_element(document.drawing, "rect", **panel._asdict(), rx=10.0, fill=PANEL_FILL, stroke=PANEL_STROKE)
    for link in diagram.links:
        for stroke in layout.link_paths[link.endpoints].strokes:
            draw_polyline(document.drawing, stroke, stroke=_LINK_COLOR, stroke_width=1.2)
    proposed_chips = [
        drawn for drawn in _diagram_chips(diagram) if any(_is_inside(drawn.address, place) for place in proposed)
    ]
    _draw_outline(document.drawing, diagram, layout, proposed_chips)
    for drawn in diagram.parts:
        if drawn.kind == "chip":
            _draw_chip(document.drawing, drawn, layout.node_boxes[drawn.address], overlay)
        else:
            title = f"{drawn.address}, {drawn.state}"
            add_element(
                document.drawing,
                "rect",
                title,
                **_box_attributes(layout.node_boxes[drawn.address]),
                rx=3.0,
                fill=PAPER,
                stroke=MUTED,
            )
    for text_label in layout.labels:
        draw_label(
            document.drawing,
            (text_label.x, text_label.y),
            text_label.text,
            layout.font_size,
            MUTED,
            text_anchor=text_label.anchor,
        )
    x, y, width, height = layout.bounds
    bottom = _draw_legend(document.drawing, overlay, (x + 26, y + height + _MARGIN), has_proposal=bool(proposed_chips))
    return document.render(x, y, x + max(width, 560), bottom)


def _box_attributes(box: NodeBox, margin: float = 0.0) -> Style:
    """Return the rectangle of a chip or switch, larger by a margin on each side."""
    width, height = box.size.width + 2 * margin, box.size.height + 2 * margin
    return {"x": box.center.x - width / 2, "y": box.center.y - height / 2, "width": width, "height": height}


def _draw_shape(root: Element, box: NodeBox, title: str = "", margin: float = 0.0, /, **style: float | str) -> None:
    """Draw a chip's circle or box."""
    corner_radius = box.size.height / 2 + margin if box.is_circle else 3.0
    add_element(root, "rect", title, **_box_attributes(box, margin), rx=corner_radius, **style)


def _diagram_chips(diagram: DomainDiagram) -> list[DrawnPart]:
    return [part for part in diagram.parts if part.kind == "chip"]


def _is_inside(address: str, place: str) -> bool:
    return address == place or address.startswith(f"{place}/")


def _summarize(diagram: DomainDiagram, overlay: JobOverlay) -> str:
    return (
        f"{pluralize(len(overlay.jobs), 'job')}, {len(overlay.free)} of "
        f"{pluralize(len(_diagram_chips(diagram)), 'chip')} free"
    )


def _draw_outline(
    root: Element, diagram: DomainDiagram, layout: WiringLayout, proposed_chips: Sequence[DrawnPart]
) -> None:
    """Outline chips and their links within a server: draw them enlarged in the outline's colour, then smaller in white.

    What remains visible of the first is a joint outline.
    """
    server_of = {part.address: part.server for part in proposed_chips}
    inner_links = [
        layout.link_paths[link.endpoints].strokes
        for link in diagram.links
        if link.endpoints not in layout.wraparound_links
        and link.a in server_of
        and link.b in server_of
        and server_of[link.a] == server_of[link.b]
    ]
    for margin, fill in ((_OUTLINE_GAP + _OUTLINE_WIDTH, HIGHLIGHT), (_OUTLINE_GAP, PAPER)):
        for strokes in inner_links:
            for stroke in strokes:
                draw_polyline(root, stroke, stroke=fill, stroke_width=2 * (RADIUS + margin), stroke_linecap="round")
        for part in proposed_chips:
            _draw_shape(root, layout.node_boxes[part.address], "", margin, fill=fill)


def _draw_chip(root: Element, part: DrawnPart, box: NodeBox, overlay: JobOverlay) -> None:
    is_down, is_cordoned = part.address in overlay.down, part.address in overlay.cordoned
    job_index, job = next(
        ((job_index, job) for job_index, job in enumerate(overlay.jobs) if part.address in job.work | job.spare),
        (0, None),
    )
    notes = ["free"] if part.address in overlay.free else []
    if job:
        notes += [f"job {job.name}" + (", spare" if part.address in job.spare else "")]
    notes += ["cordoned"] if is_cordoned else []
    notes += [part.state if part.state in ("down", "maintenance") else "down"] if is_down else []
    title = f"{part.address}, {', '.join(notes)}"
    _draw_chip_shape(root, box, job_index if job else None, title, is_down=is_down, is_cordoned=is_cordoned)
    name = job_letters(job_index) if job else str(part.ordinal)
    halo: Style = {"paint_order": "stroke", "stroke": PAPER, "stroke_width": 3.0} if is_down else {}
    ink = MUTED if not job else INK if is_down else PAPER
    _label_chip(root, box.center, name, ink, **halo)


def _label_chip(root: Element, center: Point2D, name: str, color: str, **style: float | str) -> None:
    draw_label(root, (center[0], center[1] + 4), name, 11, color, text_anchor="middle", font_weight="bold", **style)


def _draw_chip_shape(
    root: Element, box: NodeBox, job_index: int | None, title: str, *, is_down: bool, is_cordoned: bool
) -> None:
    """Draw a chip: filled if it is allocated and up, dotted if its server is cordoned, crossed out if it is down."""
    stroke: Style = {
        "stroke": INK if job_index is None else job_color(job_index),
        "stroke_width": 1.2 if job_index is None else 3.0,
    }
    if is_cordoned:
        stroke |= {"stroke": INK, "stroke_width": 1.8, "stroke_dasharray": "0.1 3.4", "stroke_linecap": "round"}
    is_filled = job_index is not None and not is_down
    _draw_shape(root, box, title, fill=job_color(job_index) if job_index is not None and is_filled else PAPER, **stroke)
    if job_index is not None and is_filled and (hatch_fill := job_hatch(job_index)):
        _draw_shape(root, box, title, fill=hatch_fill)
    if is_down:
        (x, y), (width, height) = box.center, box.size
        for turn in (-1, 1):
            ends = ((x - 0.55 * width, y - turn * 0.55 * height), (x + 0.55 * width, y + turn * 0.55 * height))
            draw_line(root, *ends, title, stroke=DOWN, stroke_width=2.2)


def _legend_sample(center: Point2D) -> NodeBox:
    """Return the box of a chip in the legend."""
    return NodeBox(center, SymbolSize(2 * RADIUS, 2 * RADIUS), "", center)


def _draw_legend(root: Element, overlay: JobOverlay, origin: tuple[float, float], *, has_proposal: bool) -> float:
    """Draw a row for each job and each other look of a chip; return the bottom y."""
    x, y = origin[0], origin[1] + RADIUS
    for job_index, job in enumerate(overlay.jobs):
        _draw_chip_shape(root, _legend_sample(Point2D(x, y)), job_index, "", is_down=False, is_cordoned=False)
        _label_chip(root, Point2D(x, y), job_letters(job_index), PAPER)
        allocated = len(job.work | job.spare)
        chips = pluralize(allocated, "chip") + (f" of its {job.chips:,}" if allocated < job.chips else "")
        spare = f", {len(job.spare)} of them spare" if job.spare else ""
        name = job.name if len(job.name) <= _MAX_NAME_LENGTH else f"{job.name[: _MAX_NAME_LENGTH - 1]}…"
        draw_label(
            root, (x + 22, y + 4), f"{name}: {chips}{spare}, since {job.started_at[:16].replace('T', ' ')} UTC", 13
        )
        y += _ROW_HEIGHT
    samples = (
        ("free", False, False, bool(overlay.free)),
        ("crossed: down or in maintenance", True, False, bool(overlay.down)),
        ("dotted: on a cordoned server", False, True, bool(overlay.cordoned)),
    )
    for text, is_down, is_cordoned, is_present in samples:
        if is_present:
            _draw_chip_shape(root, _legend_sample(Point2D(x, y)), None, "", is_down=is_down, is_cordoned=is_cordoned)
            draw_label(root, (x + 22, y + 4), text, 13)
            y += _ROW_HEIGHT
    if has_proposal:
        add_element(root, "circle", cx=x, cy=y, r=RADIUS - 2, fill=PAPER, stroke=HIGHLIGHT, stroke_width=_OUTLINE_WIDTH)
        draw_label(root, (x + 22, y + 4), "outlined: proposed placement", 13)
        y += _ROW_HEIGHT
    return y
