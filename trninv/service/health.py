"""Serve /healthz, /readyz and /metrics."""

from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from trninv.checks.check_report import read_report
from trninv.database.engine import newest_schema_version, read_transaction
from trninv.database.write_health import last_failure
from trninv.errors import SchemaOutdatedError, TrninvError
from trninv.service.api_route import TEXT, ApiRoute, RouteDeclaration, json_object
from trninv.service.check_metrics import render_check_metrics
from trninv.service.services import get_services


async def healthz(_request: Request) -> Response:
    """Report that the process is alive."""
    return JSONResponse({"status": "ok"})


async def readyz(request: Request) -> Response:
    """Report whether the database can be read, and whether it refused the last change."""

    def is_older_than_database(engine: Engine) -> bool:
        with read_transaction(engine) as connection:
            connection.execute(text("SELECT count(*) FROM cluster"))
            version: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
            return version != newest_schema_version()

    services = get_services(request)
    try:
        is_older = await services.read_for_probe(is_older_than_database)
    except SchemaOutdatedError as error:
        status = {
            "status": "the database has no tables, or another schema version than this service",
            "code": error.code,
        }
        return JSONResponse(status, status_code=503)
    except (TrninvError, SQLAlchemyError):
        return JSONResponse({"status": "the database is unreachable"}, status_code=503)
    failure = SchemaOutdatedError() if is_older else last_failure(services.fleet.engine)
    return JSONResponse({"status": "reads only", "code": failure.code} if failure else {"status": "ok"})


async def metrics(request: Request) -> Response:
    """Return the metrics of this process and of the fleet for Prometheus."""
    services = get_services(request)
    try:
        fleet_metrics = await services.render_fleet_metrics()
    except (TrninvError, SQLAlchemyError):
        fleet_metrics = b""  # stale values would look current
    services.metrics.ready.set(bool(fleet_metrics))
    check_metrics = render_check_metrics(read_report(services.settings.check_results))
    content = services.metrics.render() + fleet_metrics + check_metrics
    return Response(content, media_type="text/plain; version=0.0.4")


_STATUS = RouteDeclaration(None, {"application/json": json_object({"status": TEXT})}, takes_any_parameter=True)
_METRICS = RouteDeclaration("read", {"text/plain": TEXT}, takes_any_parameter=True)
ROUTES = [
    ApiRoute("/healthz", healthz, _STATUS),
    ApiRoute("/readyz", readyz, _STATUS),
    ApiRoute("/metrics", metrics, _METRICS),
]
