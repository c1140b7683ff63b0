"""Serve /healthz, /readyz and /metrics."""

from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from trninv.database.engine import read_transaction
from trninv.errors import TrninvError
from trninv.service.authentication import authenticate
from trninv.service.services import get_services


async def healthz(_request: Request) -> Response:
    """Report that the process is alive."""
    return JSONResponse({"status": "ok"})


async def readyz(request: Request) -> Response:
    """Report whether the database is reachable."""

    def check_database(engine: Engine) -> None:
        with read_transaction(engine) as connection:
            connection.execute(text("SELECT count(*) FROM cluster"))

    try:
        await get_services(request).read_for_probe(check_database)
    except (TrninvError, SQLAlchemyError):
        return JSONResponse({"status": "the database is unreachable"}, status_code=503)
    return JSONResponse({"status": "ok"})


async def metrics(request: Request) -> Response:
    """Return the metrics of this process and of the fleet for Prometheus."""
    await authenticate(request, "read")
    services = get_services(request)
    try:
        fleet_metrics = await services.render_fleet_metrics()
    except (TrninvError, SQLAlchemyError):
        fleet_metrics = b""  # stale values would look current
    services.metrics.ready.set(bool(fleet_metrics))
    return Response(services.metrics.render() + fleet_metrics, media_type="text/plain; version=0.0.4")


ROUTES = [Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", metrics)]
