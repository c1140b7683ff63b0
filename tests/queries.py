"""Run and stream queries on an engine: each on a snapshot of its own."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from sqlalchemy import Engine

from trninv.database.query_result import QueryResult, RowStream
from trninv.database.revision import RevisionTracker
from trninv.database.snapshot import SharedSnapshot
from trninv.reports import query_runner


@contextmanager
def snapshot_of(engine: Engine) -> Iterator[SharedSnapshot]:
    with closing(RevisionTracker(engine)) as tracker, closing(SharedSnapshot(tracker)) as snapshot:
        yield snapshot


def run_query(engine: Engine, sql: str, **limits: Any) -> QueryResult:
    with snapshot_of(engine) as snapshot:
        return query_runner.run_query(snapshot, sql, **limits)


@contextmanager
def stream_query(engine: Engine, sql: str, *, seconds: float) -> Iterator[RowStream]:
    with snapshot_of(engine) as snapshot, query_runner.stream_query(snapshot, sql, seconds=seconds) as stream:
        yield stream
