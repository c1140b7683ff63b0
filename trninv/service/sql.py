"""Serve /sql, which runs one read-only SELECT of a user and returns its rows."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from trninv.errors import RequestError, SqlError
from trninv.reports.query_runner import run_query
from trninv.reports.views import ROLE
from trninv.service import graphql_http
from trninv.service.api_route import AT, TEXT, ApiRoute, RouteDeclaration, json_object
from trninv.service.query_response import MEDIA_TYPES, ROWS, query_response
from trninv.service.services import get_services

_EXAMPLE = '{"sql": "SELECT count(*) FROM v_chip"}'


async def run_sql(request: Request) -> Response:
    """Run {"sql": "…", "format": "json", "at": "…"}; at may be a query parameter as well."""
    from trninv.reports.query_compiler import compile_query  # noqa: PLC0415 # the SQL parser takes 8 MB

    services, body = get_services(request), graphql_http.read_json_object(request, await request.body(), _EXAMPLE)
    if not isinstance(body.get("sql"), str):
        raise RequestError(f"the field sql is missing; send {_EXAMPLE}")
    dialect = services.fleet.engine.dialect.name
    if dialect == "postgresql" and not services.readers.logins:
        raise SqlError(_NO_LOGIN)
    compiled_query = await services.read(compile_query, body["sql"], dialect)
    time = body.get("at", request.query_params.get("at"))
    if not isinstance(time, str | None):
        raise RequestError('at is not text; send a time such as "2026-11-22T02:00:00Z", or an event number as text')
    return await query_response(services, partial(run_query, sql=compiled_query), body.get("format", "json"), time)


_NO_LOGIN = (
    "POST /sql needs its own PostgreSQL login: set TRNINV_SQL_URL to the URL of a login that has only the role "
    f"{ROLE}; create it with CREATE ROLE fleet_sql LOGIN PASSWORD '…' IN ROLE {ROLE}"
)

_FORMAT = {"type": "string", "enum": list(MEDIA_TYPES)}
_BODY = json_object({"sql": TEXT, "format": _FORMAT, "at": {"type": ["string", "null"]}}, optional=["format", "at"])
ROUTES = [
    ApiRoute(
        "/sql",
        run_sql,
        RouteDeclaration("sql", ROWS, [AT], body=_BODY, example={"sql": "SELECT count(*) FROM v_chip"}),
        method="POST",
    )
]
