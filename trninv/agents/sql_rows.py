"""Run the SELECT of an agent."""

import json
from collections.abc import Mapping
from contextlib import closing
from typing import Any, Final

from sqlalchemy import Engine

from trninv.routing.fleet import BaseFleet
from trninv.settings import Settings

_MAX_ROWS: Final = 1_000
"""Maximum number of rows, which an agent reads page by page."""


def select_rows(
    fleet: BaseFleet, sql: str, as_of: str | None, settings: Settings, login: Engine | None = None
) -> Mapping[str, Any]:
    """Return the columns and rows of a SELECT as JSON values, now or as of a time, and whether rows were omitted.

    Parameters
    ----------
    login
        On PostgreSQL, the engine of the login to use instead of the fleet's.

    """
    # imported when SQL is asked for: the SQL parser takes 8 MB
    from trninv.reports.query_compiler import compile_query  # noqa: PLC0415
    from trninv.reports.query_runner import run_query  # noqa: PLC0415
    from trninv.reports.row_formats import to_json  # noqa: PLC0415

    earlier_fleet = fleet if as_of is None else fleet.at(as_of)
    with closing(earlier_fleet.shared_snapshot()) as snapshot:
        result = run_query(
            snapshot,
            compile_query(sql, snapshot.engine.dialect.name),
            seconds=settings.request_seconds,
            max_rows=_MAX_ROWS,
            max_bytes=settings.answer_bytes,
            login=login,
        )
    rows: Mapping[str, Any] = json.loads(to_json(result))
    return rows
