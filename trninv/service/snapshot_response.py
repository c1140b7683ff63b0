"""Respond with what is read from one snapshot; the ETag changes with its revision."""

from collections.abc import Callable
from time import time as current_seconds
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from trninv.database.snapshot import AsOf
from trninv.graphql.document_request import Request as DocumentRequest
from trninv.inventory.access.bearer_tokens import Principal
from trninv.routing.fleet import BaseFleet
from trninv.routing.snapshot import Snapshot
from trninv.service import graphql_http
from trninv.service.query_response import revision_headers
from trninv.service.services import get_services

_CACHE_SECONDS: Final = 60
"""How long a response that depends on the clock may be shown."""


def clock_version() -> str:
    """Return the version of a response that depends on the clock: it changes every minute."""
    return str(int(current_seconds() / _CACHE_SECONDS))


async def snapshot_response(
    request: Request,
    principal: Principal,
    encode: Callable[[Snapshot], bytes],
    media_type: str,
    *,
    time: str | None,
    version: str = "",
) -> Response:
    """Return what ``encode`` returns for a snapshot, now or at a time, to a principal who may read it.

    ``version`` tells responses of the same address and revision apart.
    """
    services = get_services(request)

    def select_fleet(fleet: BaseFleet) -> BaseFleet:
        return fleet if time is None else fleet.at(time)

    revision = await services.read(lambda: select_fleet(services.fleet).revision())
    document = DocumentRequest(f"{request.url.path}?{request.url.query} {version}")
    etag = graphql_http.compute_etag(document, revision, services.process_id, principal.identity, graphql=False)
    if not_modified := graphql_http.not_modified(request, etag):
        return not_modified

    def read(fleet: BaseFleet) -> tuple[bytes, AsOf | None]:
        with select_fleet(fleet).snapshot() as snapshot_fleet, snapshot_fleet.open_snapshot() as snapshot:
            return encode(snapshot), snapshot_fleet.as_of()

    body, as_of = await services.read(services.readers.read, read)
    headers = graphql_http.cache_headers(etag, vary="Authorization") | revision_headers(as_of)
    return Response(body, headers=headers, media_type=media_type)
