"""Serve /list/{kind}, the rows of a kind of thing, such as chips, as `trninv list` prints them."""

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from trninv.characters import FORBIDDEN_MESSAGE, has_forbidden_characters
from trninv.database.query_result import MAX_LISTED_ROWS, MAX_RESULT_ROWS, QueryResult, collect_rows
from trninv.database.snapshot import SharedSnapshot
from trninv.errors import ForbiddenError, NotFoundError, RequestError, suggestion
from trninv.graphql.thing_listing import LISTED_KINDS, list_arguments, read_rows, stream_cells
from trninv.inventory.schema.listing import choose_fields
from trninv.inventory.schema.thing import Thing
from trninv.service import graphql_http
from trninv.service.api_route import (
    AT,
    TEXT,
    ApiRoute,
    HttpParameter,
    RouteDeclaration,
    array,
    get_principal,
    integer,
    json_object,
)
from trninv.service.query_response import MEDIA_TYPES, ROWS, query_response
from trninv.service.services import get_services

_EXAMPLE: Final = {"place": "u-trn2x64/d0/s0", "where": ["state=up"], "columns": ["address", "memory"]}


@dataclass(frozen=True, slots=True)
class ListRequest:
    """The body of a request, with a default for each member that may be omitted."""

    place: str | None = None
    where: tuple[str, ...] = ()
    sort: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    ended: bool = False
    limit: int = MAX_RESULT_ROWS
    format: str = "json"
    at: str | None = None

    @classmethod
    def parse(cls, body: Mapping[str, Any]) -> "ListRequest":
        """Return what a body asks for.

        Raises
        ------
        RequestError
            A member is unknown, or has another type.

        """
        if unknown := body.keys() - _MEMBERS.keys():
            raise RequestError(f"no member {min(unknown)!r:.60}: {suggestion(min(unknown)[:60], _MEMBERS)}")
        if has_forbidden_characters(dict(body)):
            raise RequestError(f"the body {FORBIDDEN_MESSAGE}")
        for name, value in body.items():
            if not _has_type(value, _MEMBERS[name]):
                raise RequestError(f"{name} is not {_TYPE_NAMES[_MEMBERS[name]]}; send {json.dumps(_EXAMPLE)}")
        lists = {name: tuple(value) for name, value in body.items() if isinstance(value, list)}
        request = cls(**{**body, **lists})
        if not 1 <= request.limit <= MAX_LISTED_ROWS:
            raise RequestError(f"limit {request.limit:,} is out of range; use 1 to {MAX_LISTED_ROWS:,}")
        return request


_MEMBERS: Final[Mapping[str, Any]] = {
    "place": str | None,
    "where": list,
    "sort": list,
    "columns": list,
    "ended": bool,
    "limit": int,
    "format": str,
    "at": str | None,
}
_TYPE_NAMES: Final = {
    str | None: "text",
    str: "text",
    list: "a list of texts",
    bool: "true or false",
    int: "an integer",
}


def _has_type(value: object, kind: Any) -> bool:
    if kind is list:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


async def list_kind(request: Request) -> Response:
    """List things of a kind, such as chip: filters as in `trninv list`, columns, order and a limit."""
    services, principal = get_services(request), get_principal(request)
    body = graphql_http.read_json_object(request, await request.body(), json.dumps(_EXAMPLE))
    if "at" in request.query_params:
        body = {"at": request.query_params["at"], **body}
    name = request.path_params["kind"]
    if name not in LISTED_KINDS:
        raise NotFoundError(f"no list {name[:60]!r}: {suggestion(name[:60], LISTED_KINDS)}")
    kind, options = LISTED_KINDS[name], ListRequest.parse(body)
    if not principal.allows(kind.permission):
        raise ForbiddenError(f"list/{name} needs a token of scope {kind.permission}")
    if services.settings.persisted_only:
        raise ForbiddenError("this service answers persisted GraphQL documents only")
    return await query_response(services, partial(_read, kind, options), options.format, options.at)


def _read(kind: Thing, options: ListRequest, snapshot: SharedSnapshot, *, max_bytes: int, **_: object) -> QueryResult:
    """Return the rows of a list with quantities as integers, up to a number of bytes."""
    fields = choose_fields(kind, options.columns)
    arguments = list_arguments(kind, options.place, options.where, options.sort, everything=options.ended)
    with (
        snapshot.read() as (connection, _revision),
        closing(read_rows(connection, kind, arguments, options.limit + 1)) as rows,
    ):
        return collect_rows(stream_cells(kind, fields, rows), options.limit, max_bytes)


_BODY = json_object(
    {
        "place": {"type": ["string", "null"]},
        "where": array(TEXT),
        "sort": array(TEXT),
        "columns": array(TEXT),
        "ended": {"type": "boolean"},
        "limit": integer(1, MAX_LISTED_ROWS),
        "format": {"type": "string", "enum": list(MEDIA_TYPES)},
        "at": {"type": ["string", "null"]},
    },
    optional=list(_MEMBERS),
)
ROUTES = [
    ApiRoute(
        "/list/{kind}",
        list_kind,
        RouteDeclaration(
            "read",
            ROWS,
            [
                HttpParameter("kind", f"One of {', '.join(LISTED_KINDS)}", place="path", example="chip"),
                AT,
            ],
            body=_BODY,
            example=_EXAMPLE,
        ),
        method="POST",
    )
]
