"""Describe the HTTP routes beside GraphQL in OpenAPI 3.1, from their declarations, and serve it as /openapi.json.

``python -m trninv.service.application`` prints it.
"""

import re
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

import trninv
from trninv.service.api_route import TEXT, ApiRoute, HttpParameter, RouteDeclaration, array, json_object

_INTRODUCTION: Final = (
    "What trninv serves over HTTP beside GraphQL, which is at /graphql and describes itself. If the service requires "
    "tokens, send Authorization: Bearer TOKEN."
)
_ERROR: Final = json_object(
    {
        "errors": array(
            json_object(
                {
                    "message": TEXT,
                    "extensions": {"type": "object", "properties": {"code": TEXT}, "required": ["code"]},
                }
            )
        )
    }
)
_STATUSES: Final = {
    400: "The request is wrong; the message says what to do",
    403: "The token's scope does not allow this, or the request is a script's of another site",
    404: "What the path or a parameter names does not exist",
    500: "An internal error; the server's log has its details",
    503: "The service is busy, the time limit was reached, or the database is unreachable; try again later",
}
_TOKEN_STATUSES: Final = {401: "The token is missing, invalid or expired"}
_BODY_STATUSES: Final = {408: "The body did not arrive in time", 413: "The body is too long"}
_SHARED_STATUSES: Final = _STATUSES | _TOKEN_STATUSES | _BODY_STATUSES


def describe_routes(routes: Iterable[BaseRoute]) -> dict[str, Any]:
    """Return the OpenAPI description of all routes that are an `ApiRoute`."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "trninv",
            "version": trninv.__version__,
            "description": _INTRODUCTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": {
            route.path: {route.method.lower(): _describe(route)} for route in routes if isinstance(route, ApiRoute)
        },
        "components": {
            "schemas": {"Errors": _ERROR},
            "responses": {str(status): _refusal(meaning) for status, meaning in sorted(_SHARED_STATUSES.items())},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


async def openapi(request: Request) -> Response:
    """Return this description."""
    return JSONResponse(describe_routes(request.app.routes))


def _describe(route: ApiRoute) -> dict[str, Any]:
    declaration = route.declaration
    description: dict[str, Any] = {
        "operationId": route.name,
        "summary": re.sub(r"\s+", " ", route.description.replace("`", "")).strip(),
        "security": [{"token": []}] if declaration.scope else [],
        "parameters": [_describe_parameter(parameter) for parameter in declaration.parameters],
        "responses": dict(_responses(declaration)),
    }
    if declaration.scope:
        description["description"] = f"Needs a token of scope {declaration.scope}."
    if declaration.body:
        content = {"schema": declaration.body, "example": declaration.example}
        description["requestBody"] = {"required": True, "content": {declaration.body_media_type: content}}
    return description


def _describe_parameter(parameter: HttpParameter) -> dict[str, Any]:
    description: dict[str, Any] = {
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.description,
        "schema": parameter.schema or TEXT,
    }
    if parameter.example is not None:
        description["example"] = parameter.example
    return description | ({"required": True} if parameter.is_required or parameter.place == "path" else {})


def _responses(declaration: RouteDeclaration) -> Iterator[tuple[str, Any]]:
    content = {media_type: {"schema": schema} for media_type, schema in declaration.content.items()}
    yield str(declaration.status), {"description": HTTPStatus(declaration.status).phrase, "content": content}
    own_statuses = declaration.other_statuses or {}
    token_statuses = _TOKEN_STATUSES if declaration.scope else {}
    body_statuses = _BODY_STATUSES if declaration.body else {}
    for status in sorted({*_STATUSES, *token_statuses, *body_statuses, *own_statuses}):
        if status not in own_statuses:
            yield str(status), {"$ref": f"#/components/responses/{status}"}
        else:
            meaning = own_statuses[status]
            yield str(status), {"description": meaning} if status < HTTPStatus.BAD_REQUEST else _refusal(meaning)


def _refusal(meaning: str) -> dict[str, Any]:
    """Describe a response with errors; a client that prefers GraphQL's media type gets that."""
    schema = {"schema": {"$ref": "#/components/schemas/Errors"}}
    media_types = "application/json", "application/graphql-response+json"
    return {"description": meaning, "content": dict.fromkeys(media_types, schema)}


ROUTES: Final = [
    ApiRoute(
        "/openapi.json",
        openapi,
        RouteDeclaration(None, {"application/json": {"type": "object"}}, takes_any_parameter=True),
    )
]
