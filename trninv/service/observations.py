"""/observations: what a machine says of itself, from the machine."""

from functools import partial
from io import BytesIO

from sqlalchemy import Engine
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from trninv.importers.observation import File, Imported, observe
from trninv.inventory.database import writing
from trninv.service import wire
from trninv.service.access import holder
from trninv.service.shared import shared

_EXAMPLE = "what trninv collect prints"


async def observations(request: Request) -> Response:
    """Keep one observation; a token of scope observe speaks for the instance, or host, that it is named for."""
    who = await holder(request, "observe")
    at, body = shared(request), await request.body()
    wire.json_object(request, body, _EXAMPLE)
    speaker = who.name if who.scope == "observe" else None
    keep = partial(_keep, at.fleet.engine, body, speaker)
    kept = await at.api.threads.writing.run(keep, to_end=True)
    return JSONResponse({"servers": kept.servers, "chips": kept.chips, "isKnown": kept.is_known}, 201)


def _keep(engine: Engine, body: bytes, speaker: str | None) -> Imported:
    with writing(engine) as connection:
        return observe(connection, "neuron-ls", [File("observation", BytesIO(body))], speaker=speaker)[0]


ROUTES = [Route("/observations", observations, methods=["POST"])]
