"""Serve /export/NAME, a whole table or view, at the client's speed.

The rows are read from one snapshot into a spool (a temporary file) and sent from there, so that a slow client keeps no
database connection.
"""

from contextlib import closing
from typing import Final

import anyio
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from trninv.database.snapshot import AsOf
from trninv.errors import BusyError, NotFoundError
from trninv.reports.export_spool import ExportSpool
from trninv.reports.table_export import TABLES_AND_VIEWS
from trninv.routing.fleet import BaseFleet
from trninv.service.api_route import AT, TEXT, ApiRoute, HttpParameter, RouteDeclaration
from trninv.service.query_response import MEDIA_TYPES, revision_headers
from trninv.service.services import Services, get_services

IDLE_SECONDS: Final = 30.0
"""Seconds after which a client that reads nothing is dropped."""


async def export_table(request: Request) -> Response:
    """Send NAME.csv or NAME.ndjson; parameters choose a time (at), columns (columns) and a cluster (cluster)."""
    services, parameters = get_services(request), request.query_params
    name, _, file_format = request.path_params["name"].rpartition(".")
    if name not in TABLES_AND_VIEWS or file_format not in ("csv", "ndjson"):
        raise NotFoundError(f"no export {request.path_params['name'][:60]!r}; use a table or view with .csv or .ndjson")
    try:
        services.exports.acquire_nowait()
    except anyio.WouldBlock:
        raise BusyError(f"{services.exports.max_value} exports are running already; try again later") from None
    spool = ExportSpool(name, file_format, parameters.get("columns", "*"), parameters.get("cluster"))

    def open_spool(current_fleet: BaseFleet) -> AsOf | None:
        fleet = current_fleet.at(parameters["at"]) if "at" in parameters else current_fleet
        with closing(fleet.shared_snapshot()) as snapshot:
            spool.open(snapshot)
        return snapshot.as_of

    try:
        as_of = await services.read(services.readers.read, open_spool)
    except BaseException:
        spool.close()
        services.exports.release()
        raise
    return _SpoolResponse(services, spool, MEDIA_TYPES[file_format], revision_headers(as_of))


class _SpoolResponse(StreamingResponse):
    """A response that streams a spool, and always closes it and releases its export slot."""

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


ROUTES = [
    ApiRoute(
        "/export/{name}",
        export_table,
        RouteDeclaration(
            "read",
            {MEDIA_TYPES["csv"]: TEXT, MEDIA_TYPES["ndjson"]: TEXT},
            [
                HttpParameter("name", "A table or view, with .csv or .ndjson", place="path", example="v_cluster.csv"),
                HttpParameter("columns", "Names separated by commas; all by default", example="address,chips"),
                HttpParameter("cluster", "Only rows of this cluster", example="u-trn2x64"),
                AT,
            ],
        ),
    )
]
