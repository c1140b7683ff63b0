"""The rows of a query as an answer."""

from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import Final

from starlette.responses import Response

from trninv.errors import RequestError
from trninv.inventory.pinned import AsOf
from trninv.reports.asked import Find
from trninv.reports.output import as_json, as_text, kinds_of, parquet
from trninv.reports.reader import Found, Stream, find
from trninv.routing.fleet import Fleet
from trninv.service.shared import Shared
from trninv.service.stamped import as_of

MEDIA: Final = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "ndjson": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}


async def found(at: Shared, read: Callable[[Find], Found], style: object, time: str | None = None) -> Response:
    """What is read by checked queries, now or as of a time, in one of the formats of `MEDIA`.

    Raises
    ------
    RequestError
        There is no such format.
    UsageError
        Parquet, and PyArrow is not installed.

    """
    if style not in MEDIA:
        raise RequestError(f"the format is one of {', '.join(MEDIA)}, not {str(style)[:20]!r}")
    (body, truncated), state = await at.read(at.readers.read, partial(_body, at, read, str(style), time))
    headers = {"X-Truncated": str(truncated).lower()} | as_of(state)
    return Response(body, headers=headers, media_type=MEDIA[str(style)])


def _body(
    at: Shared, read: Callable[[Find], Found], style: str, time: str | None, present: Fleet
) -> tuple[tuple[bytes, bool], AsOf]:
    seconds, most, login = at.settings.request_seconds, at.settings.answer_bytes, at.readers.logins.get(present.engine)
    fleet = present if time is None else present.at(time)
    run = partial(find, fleet.engine, seconds=seconds, most_bytes=most, login=login)
    rows, state = fleet.stamped(partial(read, run))
    return (_written(rows, style), rows.truncated), state


def _written(rows: Found, style: str) -> bytes:
    if style == "parquet":
        file = BytesIO()
        parquet(Stream(rows.columns, iter(rows.rows)), kinds_of(rows), file)
        return file.getvalue()
    return as_json(rows) if style == "json" else as_text(rows, style).encode()
