"""/sql: one SELECT, read only."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from trninv.errors import RequestError, SqlError
from trninv.reports.guard import checked
from trninv.reports.views import ROLE
from trninv.service import wire
from trninv.service.access import holder
from trninv.service.found import found
from trninv.service.query import query
from trninv.service.shared import shared

_EXAMPLE = '{"sql": "SELECT count(*) FROM v_chip"}'


async def sql(request: Request) -> Response:
    """The rows of {"sql": "…", "format": "json", "at": "…"}; at may be a parameter of the path as well."""
    await holder(request, "sql")
    at, given = shared(request), wire.json_object(request, await request.body(), _EXAMPLE)
    if not isinstance(given.get("sql"), str):
        raise RequestError(f"the request has no sql: send {_EXAMPLE}")
    dialect = at.fleet.engine.dialect.name
    if dialect == "postgresql" and not at.readers.logins:
        raise SqlError(_NO_LOGIN)
    wanted = await at.read(checked, given["sql"], dialect)
    time = given.get("at", query(request, ["at"]).get("at"))
    if not isinstance(time, str | None):
        raise RequestError('at is a time as text, such as "2026-11-22T02:00:00Z", or the number of an event as text')
    return await found(at, lambda find: find(wanted), given.get("format", "json"), time)


_NO_LOGIN = (
    "on PostgreSQL, POST /sql runs as a login of its own: set TRNINV_SQL_URL to one that is only in the role "
    f"{ROLE}, then run trninv migrate, which makes it"
)

ROUTES = [Route("/sql", sql, methods=["POST"])]
