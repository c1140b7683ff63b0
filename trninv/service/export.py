"""/export/NAME: a whole table or view, at the pace of its reader."""

from functools import partial
from typing import Final

import anyio
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from trninv.errors import BusyError, NotFoundError
from trninv.inventory.pinned import AsOf
from trninv.reports.export import TABLES_AND_VIEWS
from trninv.reports.streaming import Spool
from trninv.routing.fleet import Fleet
from trninv.service.access import holder
from trninv.service.found import MEDIA
from trninv.service.query import query
from trninv.service.shared import Shared, shared
from trninv.service.stamped import as_of

IDLE_SECONDS: Final = 30.0
"""How long a reader may take nothing before it is dropped."""


async def export(request: Request) -> Response:
    """NAME.csv or NAME.ndjson, at a time (at), or some columns of it (columns), or a cluster's part (cluster)."""
    await holder(request, "read")
    at, asked = shared(request), query(request, ["at", "columns", "cluster"])
    name, _, style = request.path_params["name"].rpartition(".")
    if name not in TABLES_AND_VIEWS or style not in ("csv", "ndjson"):
        raise NotFoundError(f"no export {request.path_params['name'][:60]!r}: a table or view with .csv or .ndjson")
    try:
        at.exports.acquire_nowait()
    except anyio.WouldBlock:
        raise BusyError(f"{at.exports.max_value} exports run already: ask again later") from None
    spool = Spool(name, style, asked.get("columns", "*"), asked.get("cluster"))

    def begin(present: Fleet) -> AsOf:
        fleet = present.at(asked["at"]) if "at" in asked else present
        return fleet.stamped(partial(spool.open, fleet.engine))[1]

    try:
        state = await at.read(at.readers.read, begin)
    except BaseException:
        spool.close()
        at.exports.release()
        raise
    return _Sent(at, spool, MEDIA[style], as_of(state))


class _Sent(StreamingResponse):
    """A spool as it is sent; it is closed however that ends."""

    def __init__(self, at: Shared, spool: Spool, media: str, headers: dict[str, str]) -> None:
        super().__init__(spool.pieces(), headers=headers, media_type=media)
        self._at, self._spool = at, spool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def within_time(message: Message) -> None:
            with anyio.move_on_after(IDLE_SECONDS) as wait:
                await send(message)
            if wait.cancelled_caught:
                sending.cancel()

        try:
            with anyio.CancelScope() as sending:
                await super().__call__(scope, receive, within_time)
        finally:
            self._spool.close()
            self._at.exports.release()


ROUTES = [Route("/export/{name}", export)]
