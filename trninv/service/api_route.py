"""Declare the HTTP routes beside GraphQL: the scope, parameters and content of each.

`trninv.service.openapi` describes the routes from these declarations, and the routes enforce them: a request needs a
token of the scope, and a parameter that is not declared is refused.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from trninv.inventory.access.bearer_tokens import Principal
from trninv.service.authentication import authenticate
from trninv.service.request_parsing import query_parameters

JsonSchema = Mapping[str, Any]
TEXT: Final[JsonSchema] = {"type": "string"}
INTEGER: Final[JsonSchema] = {"type": "integer"}
BINARY: Final[JsonSchema] = {}  # in OpenAPI 3.1, content that is not JSON or text has an empty schema


def integer(minimum: int, maximum: int) -> JsonSchema:
    """Return the schema of an integer within limits, which are included."""
    return {"type": "integer", "minimum": minimum, "maximum": maximum}


def array(items: JsonSchema) -> JsonSchema:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def json_object(properties: Mapping[str, JsonSchema], optional: Sequence[str] = ()) -> JsonSchema:
    """Return the schema of an object whose properties are required unless they are named as optional."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class HttpParameter:
    """A parameter of a route.

    Attributes
    ----------
    place
        "query", "path" or "header".
    schema
        The schema of its value; None for text.

    """

    name: str
    description: str
    schema: JsonSchema | None = None
    place: str = "query"
    example: object = None
    is_required: bool = False


AT: Final = HttpParameter(
    "at", "Answer as of this time with its zone, or after this event number", example="2026-11-22T02:00:00Z"
)
NOT_MODIFIED: Final = {304: "Unchanged since the response whose ETag If-None-Match names"}
CLUSTER: Final = HttpParameter("cluster", "A cluster's name", place="path", example="u-trn2x64")


@dataclass(frozen=True, slots=True)
class RouteDeclaration:
    """What a route declares.

    Attributes
    ----------
    scope
        The scope that a token needs; None if the route needs no token.
    content
        The schema of a successful response by its media type.
    looks_up_token_itself
        Whether the endpoint checks the token, with the scope.
    takes_any_parameter
        Whether parameters that are not declared are not refused here, because the endpoint decides.
    body, body_media_type
        The schema of what is posted.
    example
        An example of the body.
    status
        The status of a successful response.
    other_statuses
        The meaning of statuses that only this route has.

    """

    scope: str | None
    content: Mapping[str, JsonSchema]
    parameters: Sequence[HttpParameter] = ()
    looks_up_token_itself: bool = False
    takes_any_parameter: bool = False
    body: JsonSchema | None = None
    body_media_type: str = "application/json"
    example: object = None
    status: int = 200
    other_statuses: Mapping[int, str] | None = None


class ApiRoute(Route):
    """A route that enforces what it declares, and keeps the declaration in `declaration`."""

    def __init__(
        self,
        path: str,
        endpoint: Callable[[Request], Awaitable[Response]],
        declaration: RouteDeclaration,
        method: str = "GET",
    ) -> None:
        names = [parameter.name for parameter in declaration.parameters if parameter.place == "query"]

        async def serve(request: Request) -> Response:
            if declaration.scope and not declaration.looks_up_token_itself:
                request.state.principal = await authenticate(request, declaration.scope)
            query_parameters(request, None if declaration.takes_any_parameter else names)
            return await endpoint(request)

        super().__init__(path, serve, methods=[method], name=endpoint.__name__)
        self.declaration, self.method = declaration, method
        self.description = endpoint.__doc__ or ""


def get_principal(request: Request) -> Principal:
    """Return the principal of a request to an `ApiRoute` with a scope."""
    principal: Principal = request.state.principal
    return principal
