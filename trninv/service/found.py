"""The rows of a query as an answer."""

from functools import partial
from typing import Final

from starlette.responses import Response

from trninv.errors import RequestError
from trninv.reports.output import as_json, as_text
from trninv.reports.reader import find
from trninv.service.shared import Shared
from trninv.service.stamped import as_of

MEDIA: Final = {"json": "application/json", "csv": "text/csv; charset=utf-8", "ndjson": "application/x-ndjson"}


async def found(at: Shared, sql: str, style: object) -> Response:
    """What a checked query finds, in one of the formats of `MEDIA`.

    Raises
    ------
    RequestError
        There is no such format.

    """
    if style not in MEDIA:
        raise RequestError(f"the format is one of {', '.join(MEDIA)}, not {str(style)[:20]!r}")
    read = partial(find, at.fleet.engine, sql, seconds=at.settings.request_seconds)
    rows, state = await at.read(at.fleet.stamped, read)
    body = as_json(rows) if style == "json" else as_text(rows, str(style)).encode()
    headers = {"X-Truncated": str(rows.truncated).lower()} | as_of(state)
    return Response(body, headers=headers, media_type=MEDIA[str(style)])
