"""Serve /reports, the list of reports, and each report as JSON, CSV, NDJSON or Parquet."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from trninv.errors import RequestError
from trninv.reports.query_runner import QueryResult
from trninv.reports.report_library import QueryRunner, Report, find_report, run_report
from trninv.reports.report_library import read_reports as library
from trninv.service.authentication import authenticate
from trninv.service.query_response import MEDIA_TYPES, query_response
from trninv.service.request_parsing import query_parameters
from trninv.service.services import get_services


async def list_reports(request: Request) -> Response:
    """List the reports."""
    await authenticate(request, "read")
    return JSONResponse(
        [_report_to_json(definition) for definition in library(get_services(request).settings.reports).values()]
    )


async def report_rows(request: Request) -> Response:
    """Run a report (NAME.FORMAT), now or at a time (at); other query parameters are the report's."""
    await authenticate(request, "read")
    services = get_services(request)
    name, _, style = request.path_params["name"].rpartition(".")
    definition = find_report(name or style, services.settings.reports)
    if not name:
        raise RequestError(
            f"the format is missing; write {definition.name}.{f' or {definition.name}.'.join(MEDIA_TYPES)}"
        )
    parameters, dialect = query_parameters(request), services.fleet.engine.dialect.name
    time = parameters.pop("at", None)

    def read(find: QueryRunner) -> QueryResult:
        return run_report(definition, parameters, dialect, find)

    return await query_response(services, read, style, time)


def _report_to_json(definition: Report) -> dict[str, object]:
    parameters = [
        {"name": parameter.name, "default": parameter.default, "says": parameter.description}
        for parameter in definition.parameters
    ]
    return {"name": definition.name, "title": definition.title, "answers": definition.summary, "parameters": parameters}


ROUTES = [Route("/reports", list_reports), Route("/reports/{name}", report_rows)]
