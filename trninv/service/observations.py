"""Serve /observations, to which machines post reports of themselves."""

from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from io import BytesIO

from sqlalchemy import Engine
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from trninv.database.engine import read_transaction, write_transaction
from trninv.errors import QuotaError
from trninv.importers.import_report import ImportResult
from trninv.importers.ingestion import ImportFile, is_known, parse_files, store_import
from trninv.inventory.access.bearer_tokens import Principal
from trninv.inventory.access.quota import Quota, charge
from trninv.service import graphql_http
from trninv.service.authentication import authenticate
from trninv.service.services import Services, get_services
from trninv.settings import Settings

_EXAMPLE = "the output of trninv collect"
_KIND = "neuron-ls"


async def keep_observation(request: Request) -> Response:
    """Store one observation; a token of scope observe may report only the instance or host it is named for."""
    principal = await authenticate(request, "observe")
    services, body = get_services(request), await request.body()
    try:
        await _check_quota(services, principal, body)
        graphql_http.read_json_object(request, body, _EXAMPLE)
        import_observation = partial(_import_observation, services.fleet.engine, body, principal, services.settings)
        report = await services.api.threads.writing.run(import_observation, to_end=True)
    except QuotaError as error:
        services.metrics.refused.labels(error.unit).inc()
        raise
    return JSONResponse(_import_to_json(report), 201)


def _import_to_json(report: ImportResult) -> dict[str, object]:
    """Return the result of an import, with fields that were not reported, as JSON data."""
    missing = [
        {"field": field.field, "sourceField": field.source_field, "servers": field.servers}
        for field in report.missing_fields
    ]
    answer = {"servers": report.servers, "chips": report.chips, "isKnown": report.is_duplicate}
    return answer | {"missingFields": missing, "unknownKeys": list(report.unknown_keys), "unread": list(report.unread)}


async def _check_quota(services: Services, who: Principal, body: bytes) -> None:
    """Refuse an observation above the hour's quota before it is parsed; one already stored is free."""

    def find() -> bool:
        with read_transaction(services.fleet.engine) as connection:
            return is_known(connection, _KIND, BytesIO(body))

    if who.scope != "observe" or who.usage is None:
        return
    try:
        who.usage.check(1, len(body), _quota(services.settings), datetime.now(UTC))
    except QuotaError:
        if not await services.read(find):
            raise


def _quota(settings: Settings) -> Quota:
    return Quota(settings.observe_rows, settings.observe_bytes)


def _import_observation(engine: Engine, body: bytes, who: Principal, settings: Settings) -> ImportResult:
    speaker = who.name if who.scope == "observe" else None
    quota, now = _quota(settings), datetime.now(UTC)
    with ExitStack() as stack:
        with read_transaction(engine) as connection:
            files = [ImportFile("observation", BytesIO(body))]
            read = stack.enter_context(parse_files(connection, _KIND, files, allowed_machine=speaker))
        if speaker and who.usage and read.rows:
            who.usage.check(read.rows, len(body), quota, now)
        with write_transaction(engine) as connection:
            kept = store_import(connection, read, settings.observations)[0]
            if speaker and not kept.is_duplicate:
                charge(connection, speaker, read.rows, len(body), quota, now)
            return kept


ROUTES = [Route("/observations", keep_observation, methods=["POST"])]
