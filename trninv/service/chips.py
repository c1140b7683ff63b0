"""Serve /chips/CLUSTER, state and pool of every chip as bytes, and /chips/CLUSTER/jobs, their allocations."""

import json
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from trninv.database.snapshot import AsOf
from trninv.graphql.document_request import Request as DocumentRequest
from trninv.placement.allocations.allocation_map import read_allocation_map
from trninv.routing.cluster_overview import read_overview
from trninv.routing.fleet import BaseFleet
from trninv.routing.wiring_cache import SnapshotReader
from trninv.service import graphql_http
from trninv.service.authentication import authenticate
from trninv.service.query_response import revision_headers
from trninv.service.request_parsing import query_parameters
from trninv.service.services import get_services


async def chip_overview(request: Request) -> Response:
    """Return two bytes per chip (format: `to_bytes` in `trninv.routing.cluster_overview`)."""

    def encode_overview(reader: SnapshotReader, cluster: str) -> bytes:
        return read_overview(reader.connection, cluster).to_bytes()

    return await _cluster_response(request, encode_overview, "application/octet-stream")


async def chip_jobs(request: Request) -> Response:
    """Return the jobs that chips are allocated to, as JSON (format: `to_json` of `allocation_map`)."""

    def encode_jobs(reader: SnapshotReader, cluster: str) -> bytes:
        return json.dumps(read_allocation_map(reader, cluster).to_json(), separators=(",", ":")).encode()

    return await _cluster_response(request, encode_jobs, "application/json")


async def _cluster_response(
    request: Request, encode: Callable[[SnapshotReader, str], bytes], media_type: str
) -> Response:
    """Return encoded data of a cluster, now or at a time (`?at=`); the ETag changes with the revision."""
    principal = await authenticate(request, "read")
    services, cluster = get_services(request), request.path_params["cluster"]
    time = query_parameters(request, ["at"]).get("at")

    def select_fleet(fleet: BaseFleet) -> BaseFleet:
        return fleet if time is None else fleet.at(time)

    revision = await services.read(lambda: select_fleet(services.fleet).revision())
    etag = graphql_http.compute_etag(
        DocumentRequest(request.url.path), revision, services.process_id, principal.name, graphql=False
    )
    if not_modified := graphql_http.not_modified(request, etag):
        return not_modified

    def read(fleet: BaseFleet) -> tuple[bytes, AsOf | None]:
        with select_fleet(fleet).snapshot() as snapshot, snapshot.open_reader() as reader:
            return encode(reader, cluster), snapshot.as_of()

    body, state = await services.read(services.readers.read, read)
    headers = graphql_http.cache_headers(etag, vary="Authorization") | revision_headers(state)
    return Response(body, headers=headers, media_type=media_type)


ROUTES = [Route("/chips/{cluster}", chip_overview), Route("/chips/{cluster}/jobs", chip_jobs)]
