"""Serve /observations, to which machines post what `trninv collect` finds on them."""

import math
from datetime import UTC, datetime, timedelta
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from trninv.errors import QuotaError, RequestError
from trninv.importers.import_report import ImportResult
from trninv.importers.report_batches import PostedReport
from trninv.service import graphql_http
from trninv.service.api_route import INTEGER, TEXT, ApiRoute, HttpParameter, RouteDeclaration, array, json_object
from trninv.service.authentication import authenticate, deferred_token
from trninv.service.services import get_services

_EXAMPLE = "the output of trninv collect"
_MAX_AGE: Final = 24 * 60 * 60
"""Maximum age of an observation, in seconds."""


async def store_observation(request: Request) -> Response:
    """Store one observation; a token of scope observe must have the name of the instance or host that it reports.

    The response is sent when the observation is durable. Its token is looked up with the batch that it is stored in.
    """
    services, received_at = get_services(request), datetime.now(UTC)
    token = deferred_token(request)
    report = PostedReport(
        await request.body(),
        received_at - _parse_age(request.query_params.get("age", "0")),
        None if token else await authenticate(request, "observe"),
        token,
        lambda content: graphql_http.require_json_object(request, content, _EXAMPLE),
    )
    try:
        result = await services.observations.store(report)
    except QuotaError as error:
        services.metrics.refused.labels(error.unit).inc()
        raise
    finally:
        if report.principal and token:
            services.tokens.note_use(report.principal)
            request.state.who = report.principal.name
    return JSONResponse(_import_to_json(result), 202)


def _parse_age(text: str) -> timedelta:
    """Parse the seconds since the observation was collected."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= _MAX_AGE:
        raise RequestError(f"age={text[:60]!r} is not a number of seconds from 0 to {_MAX_AGE:,}; collect again")
    return timedelta(seconds=seconds)


def _import_to_json(result: ImportResult) -> dict[str, object]:
    """Return the result of an import, with fields that were not reported, as JSON data."""
    missing = [
        {"field": field.field, "sourceField": field.source_field, "servers": field.servers}
        for field in result.missing_fields
    ]
    counts = {"servers": result.servers, "chips": result.chips, "isKnown": result.is_duplicate}
    return counts | {"missingFields": missing, "unknownKeys": list(result.unknown_keys), "unread": list(result.unread)}


_FIELD = json_object({"field": TEXT, "sourceField": TEXT, "servers": INTEGER})
_RESULT = json_object(
    {
        "servers": INTEGER,
        "chips": INTEGER,
        "isKnown": {"type": "boolean"},
        "missingFields": array(_FIELD),
        "unknownKeys": array(TEXT),
        "unread": array(TEXT),
    }
)
ROUTE: Final = ApiRoute(
    "/observations",
    store_observation,
    RouteDeclaration(
        "observe",
        {"application/json": _RESULT},
        [HttpParameter("age", "Seconds since it was collected", example="12.5")],
        looks_up_token_itself=True,
        body={"type": "object", "description": "The output of trninv collect"},
        example={"host": "ip-10-0-0-1", "neuron_ls": [], "sysfs": {}},
        status=202,
        other_statuses={429: "The token's hourly quota is used up; Retry-After says when to try again"},
    ),
    method="POST",
)
ROUTES = [ROUTE]
