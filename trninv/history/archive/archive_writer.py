"""Write completed days to the archive, for `trninv archive`.

An archive has the events and observations of each day, the unhealthy parts at the end of each day (dataset `states`),
and all parts of the fleet, which are written again whenever the fleet changes (dataset `parts`).

Days are in UTC, by the recorded time. If a row is recorded later with a time of an archived day (the clock went back,
or a transaction waited), it goes to another file of that day; the states of that day are not written again.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import Any, Final

from sqlalchemy import Column, Connection, Engine, Integer, Select, Table, Text, func, select

from trninv.database.as_of import engine_as_of
from trninv.database.engine import read_transaction
from trninv.database.tables import TABLES
from trninv.errors import InvalidFileError
from trninv.history.archive import parquet
from trninv.history.archive.archive_store import MANIFEST, ArchiveFile, ArchiveStore, ManifestEntry
from trninv.history.archive.part_rows import part_queries, part_rows, unhealthy_rows
from trninv.history.point_in_time import last_event_by, parse_time
from trninv.inventory.state.hash_chain import (
    SEALED_COLUMNS,
    event_bytes,
    former_event_bytes,
    last_archived_event,
    newest_seal,
)

Progress = Callable[[str, int], None]
"""Called with a label of the file being written and the number of rows written so far."""

_OBSERVED_TABLES: Final = ("observed_server", "observed_chip", "observed_link")
"""Tables of the servers, chips and links that observations report."""
_NOT_ARCHIVED: Final = ("seen_at", "speaker", "is_cited")
_OBSERVATION_COLUMNS: Final = tuple(column for column in TABLES["observation"].c if column.name not in _NOT_ARCHIVED)
"""The columns of an observation that never change and can't be derived from other columns."""
_PART_COLUMNS: Final = tuple(next(part_queries())[1].selected_columns)
"""The columns of the datasets `states` and `parts`; the queries of all kinds of parts select the same columns."""
_HISTORY_COLUMNS: Final = (Column("known_since", Text), Column("known_from", Integer))
"""Further columns of `parts`: the time and the event number after which the history of the part's cluster is known."""


@dataclass(frozen=True, slots=True)
class ArchiveResult:
    """What one run added to an archive.

    Attributes
    ----------
    before
        The day before which all days are archived, as YYYY-MM-DD.
    rows
        The number of rows by dataset.

    """

    before: str
    rows: dict[str, int]


def archive_history(
    engine: Engine, store: ArchiveStore, before: str | datetime | None = None, progress: Progress | None = None
) -> ArchiveResult:
    """Add to an archive the missing rows of all days that ended before a time, by default now.

    Raises
    ------
    InvalidTimeError
        The time has no zone, or is in the future.
    InvalidFileError
        The archive belongs to another database, or lacks events that were removed from the database.

    """
    end = parse_time(datetime.now(UTC) if before is None else before).date()
    entry_count, report = len(store.entries), progress or (lambda _file, _rows: None)
    with read_transaction(engine) as connection:
        for name, columns in (("state_event", SEALED_COLUMNS), ("observation", _OBSERVATION_COLUMNS)):
            _check_same_database(store, connection, name, columns)
        _check_complete(store, connection)
        store.recover()
        for day, after in _pending(store, connection, "state_event", end):
            _add_events(store, connection, day, after, report)
        for day, after in _pending(store, connection, "observation", end):
            _add_observations(store, connection, day, after, report)
        starts = _history_starts(store, connection)
        version = _parts_version(connection, starts)
    _add_states(store, engine, end, starts, report)
    _add_parts(store, engine, end, starts, version, report)
    files = [file for entry in store.entries[entry_count:] for file in entry.files]
    rows = Counter[str]()
    for file in files:
        rows[file.path.partition("/")[0]] += file.rows
    return ArchiveResult(end.isoformat(), dict(rows))


def _check_same_database(
    store: ArchiveStore, connection: Connection, name: str, columns: Sequence[Column[Any]]
) -> None:
    """Refuse an archive whose last rows are neither in the database nor removed from it."""
    id_column, removed_up_to = TABLES[name].c.id, _removed_up_to(connection, name)
    for entry in sorted(store.entries_of(_DATASETS[name]), key=lambda entry: entry.last, reverse=True):
        row = connection.execute(select(*columns).where(id_column == entry.last)).first()
        is_foreign = entry.said["last_row"] not in _row_digests(name, row) if row else entry.last > removed_up_to
        if is_foreign:
            problem = "is the archive of another database, or of a later state of this database; use another directory"
            raise InvalidFileError(f"{store.name} {problem}")
        if row or name == "state_event":  # events are removed oldest first: earlier entries are removed too
            return


def _row_digests(name: str, row: Any) -> set[str]:
    """Return the digests that an archive may have for a row.

    Actions of events have been renamed, so an event has one digest with the new name and one with the former name.
    """
    if name == "state_event":
        return {_sha256(event_bytes(row)), _sha256(former_event_bytes(row))}
    return {_digest(row)}


def _removed_up_to(connection: Connection, name: str) -> int:
    """Return the id up to which rows may have been removed.

    Events are removed after they have been archived. An observation can be removed at any time, because newer ones
    supersede it.
    """
    if name == "state_event":
        last_removal = last_archived_event(connection)
        return last_removal.id if last_removal else 0
    return connection.scalar(select(func.max(TABLES[name].c.id))) or 0


def _check_complete(store: ArchiveStore, connection: Connection) -> None:
    """Refuse an archive whose manifest lacks events that the database removed into this directory."""
    last_removal = last_archived_event(connection)
    is_this_directory = last_removal is not None and last_removal.directory == store.name
    if is_this_directory and last_removal.id > max((entry.last for entry in store.entries_of("events")), default=0):
        problem = f"lacks events up to {last_removal.id}, which the database no longer has; restore it from a copy"
        raise InvalidFileError(f"{store.name}/{MANIFEST} {problem}")


_DATASETS: Final = {"state_event": "events", "observation": "observation"}
"""The dataset of each table that is archived day by day."""


def _pending(store: ArchiveStore, connection: Connection, name: str, end: date) -> Iterator[tuple[str, int]]:
    """Yield each day before `end` with rows that the archive lacks, and the id of its last archived row or 0."""
    table, last_archived = TABLES[name], dict[str, int]()
    for entry in store.entries_of(_DATASETS[name]):
        last_archived[entry.day] = max(entry.last, last_archived.get(entry.day, 0))
    day = func.substr(table.c.at, 1, 10)
    query = select(day.label("day"), func.max(table.c.id).label("newest")).where(table.c.at < end.isoformat())
    for row in connection.execute(query.group_by(day).order_by(day)).all():
        if row.newest > last_archived.get(row.day, 0):
            yield _checked_day(name, row.day), last_archived.get(row.day, 0)


def _checked_day(name: str, text: str) -> str:
    """Return a day as YYYY-MM-DD, and refuse any other text, because the day becomes the name of a directory."""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise InvalidFileError(
            f"{name}: {text!r} is not a day; correct the times that begin with it, then run trninv archive again"
        ) from None


def _day_conditions(table: Table, day: str, after: int) -> tuple[Any, ...]:
    """Return the conditions for rows of a day with an id greater than `after`."""
    return table.c.at >= day, table.c.at < f"{day}~", table.c.id > after  # ~ sorts after every character of a time


def _add_events(store: ArchiveStore, connection: Connection, day: str, after: int, progress: Progress) -> None:
    event = TABLES["state_event"]
    conditions = _day_conditions(event, day, after)
    first, last = connection.execute(select(func.min(event.c.id), func.max(event.c.id)).where(*conditions)).one()
    rows = _stream(connection, select(*SEALED_COLUMNS).where(*conditions).order_by(event.c.id))
    file = _write_file(
        store,
        f"events/day={day}/{_file_name(first, last)}",
        SEALED_COLUMNS,
        rows,
        partial(progress, f"events of {day}"),
    )
    row = connection.execute(select(*SEALED_COLUMNS).where(event.c.id == last)).one()
    store.append(
        ManifestEntry(
            "events", day, first, last, (file,), {"last_row": _sha256(event_bytes(row)), "sealed": _sealed(connection)}
        )
    )


def _sealed(connection: Connection) -> str | None:
    """Return the newest seal of the database, in the form that ``trninv verify --sealed`` accepts."""
    seal = newest_seal(connection)
    return seal and f"{seal.id}:{seal.sha256}"


def _add_observations(store: ArchiveStore, connection: Connection, day: str, after: int, progress: Progress) -> None:
    """Write a day's observations and the servers, chips and links that they report, with one manifest entry for all."""
    observation, server = TABLES["observation"], TABLES["observed_server"]
    conditions = _day_conditions(observation, day, after)
    first, last = connection.execute(
        select(func.min(observation.c.id), func.max(observation.c.id)).where(*conditions)
    ).one()
    files = []
    for name in ("observation", *_OBSERVED_TABLES):
        table = TABLES[name]
        columns = _OBSERVATION_COLUMNS if name == "observation" else tuple(table.c)
        query = select(*columns).where(*conditions).order_by(table.c.id)
        if name == "observed_chip":
            query = query.join(server, server.c.id == table.c.observed_server_id)
            query = query.join(observation, observation.c.id == server.c.observation_id)
        elif name != "observation":
            query = query.join(observation, observation.c.id == table.c.observation_id)
        path, rows = f"{name}/day={day}/{_file_name(first, last)}", _stream(connection, query)
        files.append(_write_file(store, path, columns, rows, partial(progress, f"{name} of {day}")))
    row = connection.execute(select(*_OBSERVATION_COLUMNS).where(observation.c.id == last)).one()
    store.append(ManifestEntry("observation", day, first, last, tuple(files), {"last_row": _digest(row)}))


def _add_states(store: ArchiveStore, engine: Engine, end: date, starts: dict[str, Any], progress: Progress) -> None:
    """Write the states of each day that has none, beginning with the day on which the earliest history starts."""
    archived_days = {entry.day for entry in store.entries_of("states")}
    next_day = date.fromisoformat(min((since for since, _ in starts.values()), default=end.isoformat())[:10])
    while next_day < end:
        day, next_day = next_day.isoformat(), next_day + timedelta(days=1)
        if day not in archived_days:
            _add_day_states(store, engine, day, partial(progress, f"states of {day}"))


def _add_day_states(store: ArchiveStore, engine: Engine, day: str, progress: Callable[[int], None]) -> None:
    day_end = datetime.fromisoformat(f"{day}T23:59:59.999999+00:00")
    with read_transaction(engine) as connection:
        event = last_event_by(connection, day_end)
    with read_transaction(engine_as_of(engine, event, day_end)) as connection:
        rows = unhealthy_rows(connection, day_end.isoformat())
        file = _write_file(store, f"states/day={day}/{_file_name(event, event)}", _PART_COLUMNS, rows, progress)
    store.append(ManifestEntry("states", day, event, event, (file,)))


def _add_parts(
    store: ArchiveStore, engine: Engine, end: date, starts: dict[str, Any], version: str, progress: Progress
) -> None:
    """Write all parts if the fleet has changed since they were last written."""
    starts_by_slug = {slug: since for slug, since in starts.items() if since[0] < end.isoformat()}
    written, details = store.entries_of("parts"), {"known": starts_by_slug, "version": version}
    if not starts_by_slug or (written and written[-1].said == details):
        return
    last_day_end = datetime.combine(end, datetime.min.time(), UTC) - timedelta(microseconds=1)
    with read_transaction(engine) as connection:
        event = last_event_by(connection, last_day_end)
    with read_transaction(engine_as_of(engine, event, last_day_end)) as connection:
        rows = ((*row, *starts_by_slug[row.cluster]) for row in part_rows(connection) if row.cluster in starts_by_slug)
        number, columns = str(len(written) + 1), (*_PART_COLUMNS, *_HISTORY_COLUMNS)
        path = f"parts/version={number}/{_file_name(event, event)}"
        file = _write_file(store, path, columns, rows, partial(progress, "parts"))
    store.append(ManifestEntry("parts", number, event, event, (file,), details))


def _history_starts(store: ArchiveStore, connection: Connection) -> dict[str, Any]:
    """Return, by cluster slug, the time and event number after which the archive or the database has its history."""
    last_removal, cluster = last_archived_event(connection), TABLES["cluster"]
    archived_starts = {
        slug: since for entry in store.entries_of("parts") for slug, since in entry.said["known"].items()
    }
    query = select(cluster.c.slug, cluster.c.known_since, cluster.c.known_from).where(
        cluster.c.known_since.is_not(None)
    )
    starts = {}
    for slug, *since in connection.execute(query.order_by(cluster.c.slug)):
        # the last removal of events may have shortened the history in the database, but the archive has those events
        is_cut_off = last_removal is not None and since == [last_removal.since, last_removal.id]
        starts[slug] = archived_starts.get(slug, since) if is_cut_off else since
    return starts


def _parts_version(connection: Connection, starts: dict[str, Any]) -> str:
    """Return a digest that changes with the clusters, the number of parts or the columns written for each part."""
    cluster = TABLES["cluster"]
    clusters = connection.execute(select(cluster.c.id, cluster.c.slug, cluster.c.system).order_by(cluster.c.id))
    tables = (TABLES[name] for name in ("rack", "server", "node", "link"))
    sizes = [
        connection.execute(select(func.count(), func.max(table.c.id)).select_from(table)).one() for table in tables
    ]
    columns = [column.name for column in (*_PART_COLUMNS, *_HISTORY_COLUMNS)]
    return _digest([[*map(list, clusters)], [*map(list, sizes)], starts, columns])


def _stream(connection: Connection, query: Select[Any]) -> Iterator[Any]:
    with connection.execute(query, execution_options={"yield_per": 10_000}) as rows:
        yield from rows


def _write_file(
    store: ArchiveStore, name: str, columns: Sequence[Any], rows: Iterable[Any], progress: Callable[[int], None]
) -> ArchiveFile:
    return store.write(name, lambda path: parquet.write_rows(path, columns, _report_progress(rows, progress)))


def _report_progress(rows: Iterable[Any], progress: Callable[[int], None]) -> Iterator[Any]:
    for number, row in enumerate(rows):
        if number % 10_000 == 0:
            progress(number)
        yield row


def _file_name(first: int, last: int) -> str:
    return f"part-{first:012}-{last:012}.parquet"


def _digest(row: Any) -> str:
    """Return a row's digest.

    Whole seconds are written without a fraction, as times once were, so that digests in old archives match.
    """
    text = json.dumps(list(row), ensure_ascii=False, separators=(",", ":"))
    return _sha256(text.replace(".000000+00:00", "+00:00").encode())


def _sha256(data: bytes) -> str:
    return sha256(data).hexdigest()
