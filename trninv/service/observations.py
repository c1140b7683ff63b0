"""/observations: what a machine says of itself, from the machine."""

from contextlib import ExitStack
from functools import partial
from io import BytesIO

from sqlalchemy import Engine
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from trninv.importers.import_report import Imported
from trninv.importers.observation import File, gathered, keep
from trninv.inventory.database import reading, writing
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
    return JSONResponse(_answer(kept), 201)


def _answer(kept: Imported) -> dict[str, object]:
    """Return what became of it, and what it did not report."""
    missing = [
        {"field": each.field, "sourceField": each.source_field, "servers": each.servers} for each in kept.missing_fields
    ]
    told = {"servers": kept.servers, "chips": kept.chips, "isKnown": kept.is_known}
    return told | {"missingFields": missing, "unknownKeys": list(kept.unknown_keys), "unread": list(kept.unread)}


def _keep(engine: Engine, body: bytes, speaker: str | None) -> Imported:
    with ExitStack() as stack:
        with reading(engine) as connection:
            files = [File("observation", BytesIO(body))]
            read = stack.enter_context(gathered(connection, "neuron-ls", files, speaker=speaker))
        with writing(engine) as connection:
            return keep(connection, read)[0]


ROUTES = [Route("/observations", observations, methods=["POST"])]
