"""/export/NAME: a whole table or view, as it is read."""

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from trninv.errors import NotFoundError
from trninv.reports.export import TABLES_AND_VIEWS
from trninv.reports.streaming import Pieces
from trninv.service.access import holder
from trninv.service.found import MEDIA
from trninv.service.shared import shared
from trninv.service.stamped import as_of


async def export(request: Request) -> Response:
    """NAME.csv or NAME.ndjson, or some columns of it (columns), or a cluster's part (cluster)."""
    await holder(request, "read")
    at, asked = shared(request), request.query_params
    name, _, style = request.path_params["name"].rpartition(".")
    if name not in TABLES_AND_VIEWS or style not in ("csv", "ndjson"):
        raise NotFoundError(f"no export {request.path_params['name'][:60]!r}: a table or view with .csv or .ndjson")
    pieces = Pieces(at.fleet.engine, name, style, asked.get("columns", "*"), asked.get("cluster"))
    _, state = await at.read(at.fleet.stamped, pieces.open)
    return StreamingResponse(pieces, headers=as_of(state), media_type=MEDIA[style])


ROUTES = [Route("/export/{name}", export)]
