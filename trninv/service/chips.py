"""/chips/CLUSTER: state and pool of every chip of a cluster, packed; /chips/CLUSTER/jobs: who holds them."""

import json
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from trninv.graphql.api import Request as DocumentRequest
from trninv.inventory.pinned import AsOf
from trninv.jobs.holders import holders
from trninv.routing.fleet import Fleet
from trninv.routing.overview import overview
from trninv.routing.wiring import Reader
from trninv.service import wire
from trninv.service.access import holder
from trninv.service.query import query
from trninv.service.shared import shared
from trninv.service.stamped import as_of


async def chips(request: Request) -> Response:
    """Two bytes a chip, as `trninv.routing.overview.Overview.packed` says."""

    def packed(reader: Reader, cluster: str) -> bytes:
        return overview(reader.connection, cluster).packed()

    return await _answered(request, packed, "application/octet-stream")


async def jobs(request: Request) -> Response:
    """JSON, as `trninv.jobs.holders.Holders` says."""

    def told(reader: Reader, cluster: str) -> bytes:
        return json.dumps(holders(reader, cluster).fields(), separators=(",", ":")).encode()

    return await _answered(request, told, "application/json")


async def _answered(request: Request, find: Callable[[Reader, str], bytes], media_type: str) -> Response:
    """What is found of a cluster, now or `?at=` a time; the ETag lasts as long as the state."""
    who = await holder(request, "read")
    at, cluster = shared(request), request.path_params["cluster"]
    time = query(request, ["at"]).get("at")

    def then(fleet: Fleet) -> Fleet:
        return fleet if time is None else fleet.at(time)

    revision = await at.read(lambda: then(at.fleet).revision())
    etag = wire.etag_of(DocumentRequest(request.url.path), revision, at.process, who.name, graphql=False)
    if not_modified := wire.not_modified(request, etag):
        return not_modified

    def read(fleet: Fleet) -> tuple[bytes, AsOf | None]:
        with then(fleet).in_one_state() as one, one.wirings() as reader:
            return find(reader, cluster), one.as_of()

    body, state = await at.read(at.readers.read, read)
    headers = wire.validators(etag, vary="Authorization") | as_of(state)
    return Response(body, headers=headers, media_type=media_type)


ROUTES = [Route("/chips/{cluster}", chips), Route("/chips/{cluster}/jobs", jobs)]
