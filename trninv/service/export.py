"""Serve /export/NAME, a whole table or view, at the client's speed."""

from functools import partial
from typing import Final

import anyio
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from trninv.database.snapshot import AsOf
from trninv.errors import BusyError, NotFoundError
from trninv.reports.export_spool import ExportSpool
from trninv.reports.table_export import TABLES_AND_VIEWS
from trninv.routing.fleet import BaseFleet
from trninv.service.authentication import authenticate
from trninv.service.query_response import MEDIA_TYPES, revision_headers
from trninv.service.request_parsing import query_parameters
from trninv.service.services import Services, get_services

IDLE_SECONDS: Final = 30.0
"""Seconds after which a client that reads nothing is dropped."""


async def export_table(request: Request) -> Response:
    """Send NAME.csv or NAME.ndjson, optionally at a time (at), some columns (columns), or one cluster (cluster)."""
    await authenticate(request, "read")
    services, parameters = get_services(request), query_parameters(request, ["at", "columns", "cluster"])
    name, _, style = request.path_params["name"].rpartition(".")
    if name not in TABLES_AND_VIEWS or style not in ("csv", "ndjson"):
        raise NotFoundError(f"no export {request.path_params['name'][:60]!r}; use a table or view with .csv or .ndjson")
    try:
        services.exports.acquire_nowait()
    except anyio.WouldBlock:
        raise BusyError(f"{services.exports.max_value} exports are running already; try again later") from None
    spool = ExportSpool(name, style, parameters.get("columns", "*"), parameters.get("cluster"))

    def open_spool(present: BaseFleet) -> AsOf:
        fleet = present.at(parameters["at"]) if "at" in parameters else present
        return fleet.read_with_revision(partial(spool.open, fleet.engine))[1]

    try:
        state = await services.read(services.readers.read, open_spool)
    except BaseException:
        spool.close()
        services.exports.release()
        raise
    return _SpoolResponse(services, spool, MEDIA_TYPES[style], revision_headers(state))


class _SpoolResponse(StreamingResponse):
    """A response that streams a spool and always closes it."""

    def __init__(self, services: Services, spool: ExportSpool, media_type: str, headers: dict[str, str]) -> None:
        super().__init__(spool.pieces(), headers=headers, media_type=media_type)
        self._services, self._spool = services, spool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            with anyio.move_on_after(IDLE_SECONDS) as timeout:
                await send(message)
            if timeout.cancelled_caught:
                cancel_scope.cancel()

        try:
            with anyio.CancelScope() as cancel_scope:
                await super().__call__(scope, receive, send_in_time)
        finally:
            self._spool.close()
            self._services.exports.release()


ROUTES = [Route("/export/{name}", export_table)]
