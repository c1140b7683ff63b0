"""Send the rows of a report or of /sql in the requested format, with the revision they were read from."""

from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from io import BytesIO
from typing import Final

from starlette.responses import Response

from trninv.database.query_result import QueryResult, RowStream
from trninv.database.snapshot import AsOf
from trninv.errors import RequestError
from trninv.reports.row_formats import column_types, to_json, to_text, with_text_cells, write_parquet
from trninv.routing.fleet import BaseFleet
from trninv.service.api_route import BINARY, TEXT, JsonSchema, array, json_object
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
    value = f"{fields['time']}; revision={fields['revision']}" if fields["revision"] else str(fields["time"])
    return {AS_OF_HEADER: value} | omitted


MEDIA_TYPES: Final = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "ndjson": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}
ROWS: Final[Mapping[str, JsonSchema]] = {
    MEDIA_TYPES["json"]: json_object(
        {"columns": array(TEXT), "rows": array({"type": "object"}), "truncated": {"type": "boolean"}}
    ),
    MEDIA_TYPES["csv"]: TEXT,
    MEDIA_TYPES["ndjson"]: TEXT,
    MEDIA_TYPES["parquet"]: BINARY,
}
"""The schema of a query's rows in each format."""


async def query_response(
    services: Services, read: Callable[..., QueryResult], file_format: object, time: str | None = None
) -> Response:
    """Return a query's rows, now or at a time, in one of the formats of `MEDIA_TYPES`.

    Parameters
    ----------
    read
        Runs the query on a snapshot, current or at ``time``, within the limits of `run_query`, and returns the rows.

    Raises
    ------
    RequestError
        The format is unknown.
    UsageError
        Parquet is requested and PyArrow is not installed.

    """
    if file_format not in MEDIA_TYPES:
        raise RequestError(f"{str(file_format)[:20]!r} is not a format; use one of {', '.join(MEDIA_TYPES)}")
    (body, truncated), as_of = await services.read(
        services.readers.read, partial(_read_body, services, read, str(file_format), time)
    )
    headers = {"X-Truncated": str(truncated).lower()} | revision_headers(as_of)
    return Response(body, headers=headers, media_type=MEDIA_TYPES[str(file_format)])


def _read_body(
    services: Services,
    read: Callable[..., QueryResult],
    file_format: str,
    time: str | None,
    current_fleet: BaseFleet,
) -> tuple[tuple[bytes, bool], AsOf | None]:
    """Return the encoded rows, whether rows were omitted, and the time and revision read."""
    seconds, max_bytes = services.settings.request_seconds, services.settings.answer_bytes
    login = services.readers.logins.get(current_fleet.engine)
    fleet = current_fleet if time is None else current_fleet.at(time)
    with closing(fleet.shared_snapshot()) as snapshot:
        rows = read(snapshot, seconds=seconds, max_bytes=max_bytes, login=login)
    return (_encode(rows, file_format), rows.truncated), snapshot.as_of


def _encode(rows: QueryResult, file_format: str) -> bytes:
    if file_format in ("csv", "parquet"):
        rows = with_text_cells(rows)
    if file_format == "parquet":
        file = BytesIO()
        write_parquet(RowStream(rows.columns, iter(rows.rows)), column_types(rows), file)
        return file.getvalue()
    return to_json(rows) if file_format == "json" else to_text(rows, file_format).encode()
