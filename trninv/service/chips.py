"""Serve /chips/CLUSTER, two bytes per chip (state, memory pool), and /chips/CLUSTER/jobs, the chips' use.

A chip's pool is the healthy chips that it reaches over scale-up links. The explorer draws large clusters from these
compact answers.
"""

import json
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from trninv.placement.allocations.allocation_map import read_allocation_map
from trninv.routing.cluster_overview import read_overview
from trninv.routing.snapshot import Snapshot
from trninv.service.api_route import (
    AT,
    BINARY,
    CLUSTER,
    INTEGER,
    NOT_MODIFIED,
    TEXT,
    ApiRoute,
    RouteDeclaration,
    array,
    get_principal,
    json_object,
)
from trninv.service.snapshot_response import clock_version, snapshot_response


async def chip_overview(request: Request) -> Response:
    """Return two bytes per chip (format: `to_bytes` in `trninv.routing.cluster_overview`)."""

    def encode_overview(snapshot: Snapshot) -> bytes:
        return read_overview(snapshot.connection, request.path_params["cluster"]).to_bytes()

    return await _cluster_response(request, encode_overview, "application/octet-stream")


async def chip_jobs(request: Request) -> Response:
    """Return the chips of each job and those that are reserved or cordoned, as JSON (format: `allocation_map`)."""

    def encode_jobs(snapshot: Snapshot) -> bytes:
        allocations = read_allocation_map(snapshot, request.path_params["cluster"])
        return json.dumps(allocations.to_json(), separators=(",", ":")).encode()

    # reservations begin and end without a change of the database
    return await _cluster_response(request, encode_jobs, "application/json", clock_version())


async def _cluster_response(
    request: Request, encode: Callable[[Snapshot], bytes], media_type: str, version: str = ""
) -> Response:
    time = request.query_params.get("at")
    return await snapshot_response(request, get_principal(request), encode, media_type, time=time, version=version)


_RUNS = array(array(INTEGER))
_JOBS = json_object(
    {
        "jobs": array(json_object({"name": TEXT, "chips": INTEGER, "ordinal": INTEGER})),
        "runs": _RUNS,
        "blocks": {"type": ["array", "null"], "items": INTEGER},
        "reserved": _RUNS,
        "cordoned": _RUNS,
    }
)
ROUTES = [
    ApiRoute(
        "/chips/{cluster}",
        chip_overview,
        RouteDeclaration("read", {"application/octet-stream": BINARY}, [CLUSTER, AT], other_statuses=NOT_MODIFIED),
    ),
    ApiRoute(
        "/chips/{cluster}/jobs",
        chip_jobs,
        RouteDeclaration("read", {"application/json": _JOBS}, [CLUSTER, AT], other_statuses=NOT_MODIFIED),
    ),
]
