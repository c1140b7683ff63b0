"""Send the rows of a query in the requested format, with the revision they were read from."""

from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import Final

from starlette.responses import Response

from trninv.database.snapshot import AsOf
from trninv.errors import RequestError
from trninv.reports.query_runner import QueryResult, RowStream, run_query
from trninv.reports.report_library import QueryRunner
from trninv.reports.row_formats import column_types, to_json, to_text, write_parquet
from trninv.routing.fleet import BaseFleet
from trninv.service.services import Services

AS_OF_HEADER: Final = "X-As-Of"
OMITTED_CLUSTERS_HEADER: Final = "X-Omitted-Clusters"


def revision_headers(as_of: AsOf | None) -> dict[str, str]:
    """Return X-As-Of and, if clusters were omitted, X-Omitted-Clusters.

    X-As-Of is the time, with the revision if known: 2026-11-22T07:20:00.000Z; revision=0f3a…. X-Omitted-Clusters lists
    the clusters without data at that time, separated by commas.
    """
    if as_of is None:
        return {}
    fields = as_of.fields()
    omitted = {OMITTED_CLUSTERS_HEADER: ", ".join(cluster.slug for cluster in as_of.omitted)} if as_of.omitted else {}
    state = f"{fields['time']}; revision={fields['revision']}" if fields["revision"] else str(fields["time"])
    return {AS_OF_HEADER: state} | omitted


MEDIA_TYPES: Final = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "ndjson": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}


async def query_response(
    services: Services, read: Callable[[QueryRunner], QueryResult], style: object, time: str | None = None
) -> Response:
    """Return a query's rows, now or at a time, in one of the formats of `MEDIA_TYPES`.

    Raises
    ------
    RequestError
        The format is unknown.
    UsageError
        Parquet is requested and PyArrow is not installed.

    """
    if style not in MEDIA_TYPES:
        raise RequestError(f"{str(style)[:20]!r} is not a format; use one of {', '.join(MEDIA_TYPES)}")
    (body, truncated), state = await services.read(
        services.readers.read, partial(_read_body, services, read, str(style), time)
    )
    headers = {"X-Truncated": str(truncated).lower()} | revision_headers(state)
    return Response(body, headers=headers, media_type=MEDIA_TYPES[str(style)])


def _read_body(
    services: Services, read: Callable[[QueryRunner], QueryResult], style: str, time: str | None, present: BaseFleet
) -> tuple[tuple[bytes, bool], AsOf]:
    seconds, max_bytes, login = (
        services.settings.request_seconds,
        services.settings.answer_bytes,
        services.readers.logins.get(present.engine),
    )
    fleet = present if time is None else present.at(time)
    run = partial(run_query, fleet.engine, seconds=seconds, max_bytes=max_bytes, login=login)
    rows, state = fleet.read_with_revision(partial(read, run))
    return (_encode(rows, style), rows.truncated), state


def _encode(rows: QueryResult, style: str) -> bytes:
    if style == "parquet":
        file = BytesIO()
        write_parquet(RowStream(rows.columns, iter(rows.rows)), column_types(rows), file)
        return file.getvalue()
    return to_json(rows) if style == "json" else to_text(rows, style).encode()
