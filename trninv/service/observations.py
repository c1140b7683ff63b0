"""/observations: what a machine says of itself, from the machine."""

from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from io import BytesIO

from sqlalchemy import Engine
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from trninv.errors import QuotaError
from trninv.importers.import_report import Imported
from trninv.importers.observation import File, gathered, is_known, keep
from trninv.inventory.access import Holder
from trninv.inventory.database import reading, writing
from trninv.inventory.quota import Quota, charge
from trninv.service import wire
from trninv.service.access import holder
from trninv.service.shared import Shared, shared
from trninv.settings import Settings

_EXAMPLE = "what trninv collect prints"
_KIND = "neuron-ls"


async def observations(request: Request) -> Response:
    """Keep one observation; a token of scope observe speaks for the instance, or host, that it is named for."""
    who = await holder(request, "observe")
    at, body = shared(request), await request.body()
    try:
        await _check_quota(at, who, body)
        wire.json_object(request, body, _EXAMPLE)
        keep = partial(_keep, at.fleet.engine, body, who, at.settings)
        kept = await at.api.threads.writing.run(keep, to_end=True)
    except QuotaError as error:
        at.metrics.refused.labels(error.unit).inc()
        raise
    return JSONResponse(_answer(kept), 201)


def _answer(kept: Imported) -> dict[str, object]:
    """Return what became of it, and what it did not report."""
    missing = [
        {"field": each.field, "sourceField": each.source_field, "servers": each.servers} for each in kept.missing_fields
    ]
    told = {"servers": kept.servers, "chips": kept.chips, "isKnown": kept.is_known}
    return told | {"missingFields": missing, "unknownKeys": list(kept.unknown_keys), "unread": list(kept.unread)}


async def _check_quota(at: Shared, who: Holder, body: bytes) -> None:
    """Refuse what is too much for this hour before it is parsed; what is known already adds nothing.

    Raises
    ------
    QuotaError

    """

    def find() -> bool:
        with reading(at.fleet.engine) as connection:
            return is_known(connection, _KIND, BytesIO(body))

    if who.scope != "observe" or who.usage is None:
        return
    try:
        who.usage.check(1, len(body), _quota(at.settings), datetime.now(UTC))
    except QuotaError:
        if not await at.read(find):
            raise


def _quota(settings: Settings) -> Quota:
    return Quota(settings.observe_rows, settings.observe_bytes)


def _keep(engine: Engine, body: bytes, who: Holder, settings: Settings) -> Imported:
    speaker = who.name if who.scope == "observe" else None
    quota, now = _quota(settings), datetime.now(UTC)
    with ExitStack() as stack:
        with reading(engine) as connection:
            files = [File("observation", BytesIO(body))]
            read = stack.enter_context(gathered(connection, _KIND, files, speaker=speaker))
        if speaker and who.usage and read.rows:
            who.usage.check(read.rows, len(body), quota, now)
        with writing(engine) as connection:
            kept = keep(connection, read, settings.observations)[0]
            if speaker and not kept.is_known:
                charge(connection, speaker, read.rows, len(body), quota, now)
            return kept


ROUTES = [Route("/observations", observations, methods=["POST"])]
