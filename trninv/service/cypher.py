"""Serve /cypher, which runs one read-only Cypher query of a user on the graph and returns its rows."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from trninv.errors import RequestError
from trninv.graph_projection.cypher_query import run_cypher
from trninv.service import graphql_http
from trninv.service.api_route import AT, TEXT, ApiRoute, RouteDeclaration, json_object
from trninv.service.query_response import MEDIA_TYPES, ROWS, query_response
from trninv.service.services import get_services

_EXAMPLE = "MATCH (c:Chip) RETURN count(*)"


async def run_cypher_query(request: Request) -> Response:
    """Run {"cypher": "…", "parameters": {…}, "format": "json", "at": "…"}; at may be a query parameter as well."""
    example = f'{{"cypher": "{_EXAMPLE}"}}'
    services, body = get_services(request), graphql_http.read_json_object(request, await request.body(), example)
    query, parameters = body.get("cypher"), body.get("parameters") or {}
    if not isinstance(query, str):
        raise RequestError(f"the field cypher is missing; send {example}")
    if not isinstance(parameters, dict):
        raise RequestError('parameters is not an object; send values by name, such as {"address": "prod/d0/s0/c0"}')
    time = body.get("at", request.query_params.get("at"))
    if not isinstance(time, str | None):
        raise RequestError('at is not text; send a time such as "2026-11-22T02:00:00Z", or an event number as text')
    read = partial(run_cypher, query=query, parameters=parameters, pool=services.cypher_workers)
    return await query_response(services, read, body.get("format", "json"), time)


_FORMAT = {"type": "string", "enum": list(MEDIA_TYPES)}
_BODY = json_object(
    {"cypher": TEXT, "parameters": {"type": "object"}, "format": _FORMAT, "at": {"type": ["string", "null"]}},
    optional=["parameters", "format", "at"],
)
ROUTES = [
    ApiRoute(
        "/cypher",
        run_cypher_query,
        RouteDeclaration("sql", ROWS, [AT], body=_BODY, example={"cypher": _EXAMPLE}),
        method="POST",
    )
]
