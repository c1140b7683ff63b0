"""/sql: one SELECT, read only."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from trninv.errors import RequestError
from trninv.reports.guard import checked
from trninv.service import wire
from trninv.service.access import holder
from trninv.service.found import found
from trninv.service.shared import shared

_EXAMPLE = '{"sql": "SELECT count(*) FROM v_chip"}'


async def sql(request: Request) -> Response:
    """The rows of {"sql": "…", "format": "json"}."""
    await holder(request, "read")
    at, given = shared(request), wire.json_object(request, await request.body(), _EXAMPLE)
    if not isinstance(given.get("sql"), str):
        raise RequestError(f"the request has no sql: send {_EXAMPLE}")
    return await found(at, checked(given["sql"], at.fleet.engine.dialect.name), given.get("format", "json"))


ROUTES = [Route("/sql", sql, methods=["POST"])]
