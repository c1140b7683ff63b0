"""Serve /pictures/NAME, the pictures that the explorer puts into its pages."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from trninv.drawing.fabric_contents import read_fabric
from trninv.drawing.job_map import draw_jobs, read_job_overlay
from trninv.drawing.measurement_chart import draw_measurements
from trninv.drawing.rack_contents import read_rack
from trninv.drawing.rack_elevation import draw_rack
from trninv.drawing.svg import SvgDocument
from trninv.drawing.tier_diagram import draw_fabric
from trninv.drawing.timeline_chart import draw_timeline, read_history
from trninv.drawing.wiring_diagram import read_diagram
from trninv.errors import NotFoundError, RequestError, WrongLevelError, suggestion
from trninv.inventory.address.lookup import resolve_place
from trninv.routing.questions.measured_bandwidth import measured_bandwidth
from trninv.routing.snapshot import Snapshot
from trninv.service.api_route import (
    AT,
    NOT_MODIFIED,
    TEXT,
    ApiRoute,
    HttpParameter,
    RouteDeclaration,
    get_principal,
    integer,
)
from trninv.service.snapshot_response import clock_version, snapshot_response

_MIN_WIDTH, _NARROW_WIDTH, _DEFAULT_WIDTH, _MAX_WIDTH = 240, 600, 900, 4_000
_MAX_HOURS: Final = 1_000_000
_TIMELINE_HEIGHT: Final = 72
"""Height of the bars in pixels, as in web/src/style/timeline.css."""


async def picture(request: Request) -> Response:
    """Return a picture of a place (scope) in pixels of the page (width), now or at a time (at)."""
    name, parameters = request.path_params["name"], request.query_params
    if name not in _PICTURES:
        raise NotFoundError(f"no picture {name[:60]!r}: {suggestion(name[:60], _PICTURES)}")
    width = _read_number(parameters, "width", (_MIN_WIDTH, _MAX_WIDTH)) or _DEFAULT_WIDTH

    def encode(snapshot: Snapshot) -> bytes:
        return _PICTURES[name](snapshot, parameters, width).to_page().encode()

    version = clock_version() if name in _READ_CLOCK else ""
    return await snapshot_response(
        request, get_principal(request), encode, "image/svg+xml", time=parameters.get("at"), version=version
    )


def _draw_timeline(snapshot: Snapshot, parameters: Mapping[str, str], width: int) -> SvgDocument:
    """Draw a place or all clusters over the last hours; without hours, over their whole history."""
    until = datetime.now(UTC)
    hours = _read_number(parameters, "hours", (1, _MAX_HOURS))
    since = until - timedelta(hours=hours) if hours else None
    return draw_timeline(
        read_history(snapshot.connection, parameters.get("scope"), since, until), width, height=_TIMELINE_HEIGHT
    )


def _draw_rack(snapshot: Snapshot, parameters: Mapping[str, str], width: int) -> SvgDocument:
    place = resolve_place(snapshot.connection, _read_scope(parameters))
    if place.level != "rack":
        raise WrongLevelError(
            f"{place.address} is a {place.level}; name a rack, such as {place.address.split('/')[0]}/r0"
        )
    return draw_rack(read_rack(snapshot.connection, place), width, has_counts=False)  # which the title has


def _draw_fabric(snapshot: Snapshot, parameters: Mapping[str, str], width: int) -> SvgDocument:
    place = resolve_place(snapshot.connection, _read_scope(parameters))
    if place.level != "cluster":
        raise WrongLevelError(f"{place.address} is a {place.level}; name a cluster")
    try:
        return draw_fabric(read_fabric(snapshot.connection, place), width, has_tiers=False)  # which the page lists
    except NotFoundError as error:  # a page of a small cluster says so
        document = SvgDocument(place.address, str(error))
        document.bounds = (0, 0, width, 0)
        return document


def _draw_jobs(snapshot: Snapshot, parameters: Mapping[str, str], width: int) -> SvgDocument:
    diagram = read_diagram(snapshot.connection, _read_scope(parameters))
    return draw_jobs(diagram, read_job_overlay(snapshot, diagram), width=width, narrow=width < _NARROW_WIDTH)


def _draw_measurements(snapshot: Snapshot, parameters: Mapping[str, str], width: int) -> SvgDocument:
    answer: Any = measured_bandwidth.function(snapshot, _read_scope(parameters))
    return draw_measurements(answer, width)


def _read_scope(parameters: Mapping[str, str]) -> str:
    if "scope" not in parameters:
        raise RequestError("the parameter scope is missing; send scope=PLACE")
    return parameters["scope"]


def _read_number(parameters: Mapping[str, str], name: str, limits: tuple[int, int]) -> int | None:
    if (text := parameters.get(name)) is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 8 and limits[0] <= int(text) <= limits[1]):  # noqa: PLR2004
        raise RequestError(f"{name} {text[:20]!r} is not an integer from {limits[0]} to {limits[1]:,}")
    return int(text)


_PICTURES: Final[Mapping[str, Callable[[Snapshot, Mapping[str, str], int], SvgDocument]]] = {
    "fabric": _draw_fabric,
    "jobs": _draw_jobs,
    "measurements": _draw_measurements,
    "rack": _draw_rack,
    "timeline": _draw_timeline,
}
_READ_CLOCK: Final = frozenset({"jobs", "timeline"})
"""Pictures that change with time alone: of jobs, because reservations begin and end."""

ROUTES = [
    ApiRoute(
        "/pictures/{name}",
        picture,
        RouteDeclaration(
            "read",
            {"image/svg+xml": TEXT},
            [
                HttpParameter("name", f"One of {', '.join(_PICTURES)}", place="path", example="timeline"),
                HttpParameter(
                    "scope", "The address of what to draw; only timeline can do without", example="u-trn2x64"
                ),
                HttpParameter("width", "Width in pixels", integer(_MIN_WIDTH, _MAX_WIDTH), example=900),
                HttpParameter(
                    "hours",
                    "Hours that timeline shows; all by default",
                    integer(1, _MAX_HOURS),
                ),
                AT,
            ],
            other_statuses=NOT_MODIFIED,
        ),
    )
]
