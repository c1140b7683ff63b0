"""/reports: the list of reports, and each as JSON, CSV, NDJSON or Parquet."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from trninv.errors import RequestError
from trninv.reports.asked import Find, asked
from trninv.reports.library import Report, report
from trninv.reports.library import reports as library
from trninv.reports.reader import Found
from trninv.service.access import holder
from trninv.service.found import MEDIA, found
from trninv.service.query import query
from trninv.service.shared import shared


async def reports(request: Request) -> Response:
    """What reports there are."""
    await holder(request, "read")
    return JSONResponse([_described(each) for each in library(shared(request).settings.reports).values()])


async def one(request: Request) -> Response:
    """NAME and a format of `MEDIA`, at a time; the report's parameters are the others of the query."""
    await holder(request, "read")
    at = shared(request)
    name, _, style = request.path_params["name"].rpartition(".")
    wanted = report(name or style, at.settings.reports)
    if not name:
        raise RequestError(f"write the format after the name: {wanted.name}.{f' or {wanted.name}.'.join(MEDIA)}")
    given, dialect = query(request), at.fleet.engine.dialect.name
    time = given.pop("at", None)

    def read(find: Find) -> Found:
        return asked(wanted, given, dialect, find)

    return await found(at, read, style, time)


def _described(each: Report) -> dict[str, object]:
    parameters = [{"name": of.name, "default": of.default, "says": of.says} for of in each.parameters]
    return {"name": each.name, "title": each.title, "answers": each.answers, "parameters": parameters}


ROUTES = [Route("/reports", reports), Route("/reports/{name}", one)]
