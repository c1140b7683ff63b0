"""/healthz, /readyz and /metrics: what watches the service."""

from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from trninv.errors import TrninvError
from trninv.inventory.database import reading
from trninv.service.access import holder
from trninv.service.shared import shared


async def healthz(_request: Request) -> Response:
    """The process lives."""
    return JSONResponse({"status": "ok"})


async def readyz(request: Request) -> Response:
    """The database answers."""

    def ask(engine: Engine) -> None:
        with reading(engine) as connection:
            connection.execute(text("SELECT count(*) FROM cluster"))

    try:
        await shared(request).watch(ask)
    except (TrninvError, SQLAlchemyError):
        return JSONResponse({"status": "the database does not answer"}, status_code=503)
    return JSONResponse({"status": "ok"})


async def metrics(request: Request) -> Response:
    """Counters of this process and gauges of the fleet, as Prometheus reads them."""
    await holder(request, "read")
    at = shared(request)
    try:
        fleet = await at.counted()
    except (TrninvError, SQLAlchemyError):
        fleet = b""  # what is old would look as if it were so
    at.metrics.ready.set(bool(fleet))
    return Response(at.metrics.text() + fleet, media_type="text/plain; version=0.0.4")


ROUTES = [Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", metrics)]
