"""Serve /reports, the list of reports (named SQL queries), and each report as JSON, CSV, NDJSON or Parquet."""

from functools import partial

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from trninv.errors import RequestError
from trninv.reports.report_library import Report, find_report, read_reports, run_report
from trninv.service.api_route import AT, TEXT, ApiRoute, HttpParameter, RouteDeclaration, array, json_object
from trninv.service.query_response import MEDIA_TYPES, ROWS, query_response
from trninv.service.services import get_services


async def list_reports(request: Request) -> Response:
    """List the reports."""
    return JSONResponse(
        [_report_to_json(definition) for definition in read_reports(get_services(request).settings.reports).values()]
    )


async def report_rows(request: Request) -> Response:
    """Run a report (NAME.FORMAT), now or at a time (at); other query parameters are the report's."""
    services = get_services(request)
    name, _, file_format = request.path_params["name"].rpartition(".")
    # without a dot, the whole name is in file_format
    definition = find_report(name or file_format, services.settings.reports)
    if not name:
        raise RequestError(
            f"the format is missing; write {definition.name}.{f' or {definition.name}.'.join(MEDIA_TYPES)}"
        )
    parameters = dict(request.query_params)
    time = parameters.pop("at", None)
    return await query_response(services, partial(run_report, report=definition, values=parameters), file_format, time)


def _report_to_json(definition: Report) -> dict[str, object]:
    parameters = [
        {"name": parameter.name, "default": parameter.default, "description": parameter.description}
        for parameter in definition.parameters
    ]
    return {"name": definition.name, "title": definition.title, "summary": definition.summary, "parameters": parameters}


_PARAMETER = json_object({"name": TEXT, "default": {"type": ["string", "number", "null"]}, "description": TEXT})
_REPORT = json_object({"name": TEXT, "title": TEXT, "summary": TEXT, "parameters": array(_PARAMETER)})
ROUTES = [
    ApiRoute(
        "/reports",
        list_reports,
        RouteDeclaration("read", {"application/json": array(_REPORT)}, takes_any_parameter=True),
    ),
    ApiRoute(
        "/reports/{name}",
        report_rows,
        RouteDeclaration(
            "read",
            ROWS,
            [
                HttpParameter("name", "NAME.FORMAT: see /reports for the names", place="path", example="capacity.json"),
                AT,
            ],
            takes_any_parameter=True,  # those of the report
        ),
    ),
]
