"""A batch of reports is stored as each would be by itself: all at once, and none because of another."""

import itertools
import json
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any

import pytest
from printed import neuron_ls
from sqlalchemy import Engine, event, func, select, update

from conftest import BACKENDS, Databases, seeds
from trninv.database.engine import open_engine, read_transaction, temporary_engine, write_transaction
from trninv.database.revision import RevisionTracker
from trninv.database.tables import TABLES
from trninv.errors import (
    BusyError,
    DatabaseError,
    DiskFullError,
    ForbiddenError,
    InvalidFileError,
    QuotaError,
    RequestError,
    UnauthenticatedError,
    UnreachableError,
)
from trninv.importers import report_batches
from trninv.importers.import_report import ImportResult
from trninv.importers.ingestion import ImportFile, import_files
from trninv.importers.report_batches import Outcome, PostedReport, ReportLimits, store_reports
from trninv.inventory.access.bearer_tokens import PREFIX, Principal, create_token, revoke_token
from trninv.inventory.access.quota import Quota
from trninv.inventory.state.observation_commits import ObservationCommits
from trninv.setting_parsers import LEAST_OBSERVATIONS as NEWEST

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

START = datetime(2026, 1, 1, tzinfo=UTC)
ADMIN = Principal("", "admin")
LIMITS = ReportLimits(Quota(10_000, 1 << 20), NEWEST)
OBSERVATION = TABLES["observation"]
UNKNOWN = f"{PREFIX}x"


@pytest.fixture(params=BACKENDS)
def engine(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.migrated(request.param)) as made:
        yield made


@pytest.fixture
def postgresql(databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.migrated("postgresql")) as made:
        yield made


def content(number: int = 1, instance: str = "i-0a") -> bytes:
    devices = neuron_ls(instance, chips=[0, 1])
    devices[0]["memory_size"] = number
    return json.dumps({"host": "n0", "neuron_ls": devices, "sysfs": {}}).encode()


def report(number: int = 1, instance: str = "i-0a", at: datetime = START) -> PostedReport:
    return PostedReport(content(number, instance), at, ADMIN)


def store(engine: Engine, *reports: PostedReport, limits: ReportLimits = LIMITS) -> list[Outcome]:
    with closing(RevisionTracker(engine)) as tracker:
        return store_reports(engine, "neuron-ls", reports, limits, ObservationCommits(tracker))


def rows(engine: Engine) -> dict[str, int]:
    """Return how many rows there are in each table of observations."""
    with read_transaction(engine) as connection:
        names = ("observation", "observed_server", "observed_chip")
        return {name: connection.scalar(select(func.count()).select_from(TABLES[name])) or 0 for name in names}


def tokens(engine: Engine, *names: str, scope: str = "observe", expires: str | None = None) -> list[str]:
    with write_transaction(engine) as connection:
        return [create_token(connection, name, scope, expires) for name in names]


def seen(engine: Engine) -> dict[int, str]:
    """Return when each observation was seen last, by the number in it."""
    with read_transaction(engine) as connection:
        query = select(TABLES["observed_chip"].c.memory_bytes, OBSERVATION.c.seen_at).join_from(
            TABLES["observed_chip"], TABLES["observed_server"]
        )
        query = query.join(OBSERVATION).where(TABLES["observed_chip"].c.ordinal == 0)
        return {number: at[:19] for number, at in connection.execute(query)}


def test_what_is_refused_concerns_no_other(engine: Engine) -> None:
    mine, other, gone, late, reader = tokens(engine, "i-0a", "i-0b", "i-0c", "i-0d", "i-0e")
    with write_transaction(engine) as connection:
        revoke_token(connection, "i-0c")
        table = TABLES["token"]
        principal = TABLES["principal"]
        ids = {row.name: row.id for row in connection.execute(select(principal))}
        connection.execute(
            update(table).where(table.c.principal_id == ids["i-0d"]).values(expires="2026-01-01T00:00:00")
        )
        connection.execute(update(table).where(table.c.principal_id == ids["i-0e"]).values(scope="read"))

    def refuse(_: bytes) -> None:
        raise RequestError("no")

    def break_down(_: bytes) -> None:
        raise ZeroDivisionError

    given: list[tuple[PostedReport, type[Outcome]]] = [
        (PostedReport(content(1), START, token=mine), ImportResult),
        (PostedReport(content(2, "i-0b"), START, token=mine), ForbiddenError),
        (PostedReport(content(1), START, token=other), ForbiddenError),
        (PostedReport(content(3, "i-0c"), START, token=gone), UnauthenticatedError),
        (PostedReport(content(4, "i-0d"), START, token=late), UnauthenticatedError),
        (PostedReport(content(5, "i-0e"), START, token=reader), ForbiddenError),
        (PostedReport(content(6), START, token=UNKNOWN), UnauthenticatedError),
        (PostedReport(content(7), START), UnauthenticatedError),
        (PostedReport(b"[", START, token=mine), InvalidFileError),
        (PostedReport(b"", START, token=mine), InvalidFileError),
        (PostedReport(content(8), START, token=mine, check=refuse), RequestError),
        (PostedReport(content(8), START, token=gone, check=refuse), UnauthenticatedError),
        (PostedReport(content(9), START, token=mine, check=break_down), ZeroDivisionError),
        (PostedReport(content(10, "i-0b"), START, token=other), ImportResult),
    ]
    outcomes = store(engine, *(report for report, _ in given))
    assert [type(outcome) for outcome in outcomes] == [expected for _, expected in given]
    assert rows(engine) == {"observation": 2, "observed_server": 2, "observed_chip": 4}
    assert [report.principal and report.principal.name for report, _ in given[:2]] == ["i-0a", "i-0a"]


@pytest.mark.parametrize("seed", seeds(10))
def test_a_batch_does_what_its_reports_do_one_by_one(databases: Databases, seed: int) -> None:
    """Random reports of few machines and contents, so that there are duplicates, refusals and full quotas."""
    dice = random.Random(seed)
    names = ["i-0a", "i-0b"]
    drawn = [
        (dice.choice([*names, "i-0c"]), dice.randrange(6), START + timedelta(minutes=minute))
        for minute in dice.sample(range(100), 14)
    ]
    limits, found = ReportLimits(Quota(12, 1 << 20), NEWEST), list[Any]()
    for backend in BACKENDS:
        for size in (1, 5, 14):
            with temporary_engine(databases.migrated(backend)) as engine:
                made = dict(zip(names, tokens(engine, *names), strict=True))
                outcomes = list[Outcome]()
                for first in range(0, len(drawn), size):
                    batch = [
                        PostedReport(content(number, names[number % 2]), at, token=made.get(who, UNKNOWN))
                        for who, number, at in drawn[first : first + size]
                    ]
                    outcomes += store(engine, *batch, limits=limits)
                # what exceeds the quota and names another machine is refused for one or the other
                shown = [str(outcome) if isinstance(outcome, ImportResult) else "refused" for outcome in outcomes]
                found.append((shown, rows(engine), seen(engine)))
    for result in found[1:]:
        assert result == found[0]
    assert 0 < found[0][1]["observation"] <= 6


def test_a_full_quota_refuses_what_comes_after(engine: Engine) -> None:
    (mine,) = tokens(engine, "i-0a")
    limits = replace(LIMITS, quota=Quota(8, 1 << 20))
    reports = [PostedReport(content(number), START, token=mine) for number in (1, 2, 1, 3)]
    outcomes = store(engine, *reports, limits=limits)  # each has four rows
    assert [type(outcome) for outcome in outcomes] == [ImportResult, ImportResult, ImportResult, QuotaError]
    assert isinstance(outcomes[2], ImportResult)
    assert outcomes[2].is_duplicate
    assert rows(engine)["observation"] == 2


def test_a_report_without_an_answer_may_be_repeated(engine: Engine) -> None:
    """What arrives late is no news, and what a machine reports again is."""
    early, later, last = START, START + timedelta(minutes=5), START + timedelta(minutes=10)
    store(engine, report(1, at=early))
    store(engine, report(2, at=later), report(1, at=early))
    assert seen(engine) == {1: early.isoformat()[:19], 2: later.isoformat()[:19]}
    outcomes = store(engine, report(1, at=last), report(1, at=later))
    assert [outcome.is_duplicate for outcome in outcomes if isinstance(outcome, ImportResult)] == [True, True]
    assert seen(engine) == {1: last.isoformat()[:19], 2: later.isoformat()[:19]}
    assert rows(engine)["observation"] == 2


def test_nobody_sees_half_of_a_batch(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    save, between = report_batches._Batch.save, list[dict[str, int]]()

    def save_and_look(batch: Any, connection: Any) -> None:
        save(batch, connection)
        between.append(rows(engine))

    monkeypatch.setattr(report_batches._Batch, "save", save_and_look)
    store(engine, *(report(number) for number in range(5)))
    assert between == [{"observation": 0, "observed_server": 0, "observed_chip": 0}]
    assert rows(engine) == {"observation": 5, "observed_server": 5, "observed_chip": 10}


def spoil(monkeypatch: pytest.MonkeyPatch, *positions: int) -> None:
    """Have the rows of some reports violate a constraint of the database."""
    parse = report_batches._parse

    def parse_and_spoil(kind: str, position: int, *arguments: Any) -> Any:
        candidate = parse(kind, position, *arguments)
        if position not in positions:
            return candidate
        (batch,) = candidate.batches
        bad = batch._replace(chips=[(server, -1, *chip) for server, _, *chip in batch.chips])
        return replace(candidate, batches=[bad])

    monkeypatch.setattr(report_batches, "_parse", parse_and_spoil)


def test_a_row_that_cannot_be_stored_keeps_no_other_from_it(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, 0, 5)
    outcomes = store(engine, *(report(number) for number in range(11)))
    bad = [position for position, outcome in enumerate(outcomes) if isinstance(outcome, DatabaseError)]
    assert bad == [0, 5]
    assert rows(engine) == {"observation": 9, "observed_server": 9, "observed_chip": 18}
    monkeypatch.undo()
    assert [type(outcome) for outcome in store(engine, report(0), report(5))] == [ImportResult] * 2


def test_a_full_disk_refuses_all_at_once_and_loses_nothing(databases: Databases) -> None:
    with temporary_engine(databases.migrated("sqlite")) as engine:
        begun = list[str]()

        @event.listens_for(engine, "before_cursor_execute")
        def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
            begun.extend(["BEGIN"] if statement == "BEGIN IMMEDIATE" else [])

        store(engine, report(0))

        @event.listens_for(engine, "connect")
        def fill(connection: Any, _entry: object) -> None:
            connection.execute("PRAGMA max_page_count = 1")  # the number that it has

        engine.dispose()
        begun.clear()
        outcomes = store(engine, *(report(number) for number in range(1, 500)))
        assert {type(outcome) for outcome in outcomes} == {DiskFullError}
        assert "full" in str(outcomes[0])
        assert len(begun) == 1
        event.remove(engine, "connect", fill)
        engine.dispose()
        assert rows(engine)["observation"] == 1
        assert isinstance(store(engine, report(1))[0], ImportResult)


def test_a_token_that_is_revoked_meanwhile_stores_nothing(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, other = tokens(engine, "i-0a", "i-0b")
    parse, revoke = report_batches._parse, iter([True])

    def parse_and_revoke(*arguments: Any) -> Any:
        if next(revoke, False):
            with write_transaction(engine) as connection:
                revoke_token(connection, "i-0a")
        return parse(*arguments)

    monkeypatch.setattr(report_batches, "_parse", parse_and_revoke)
    reports = PostedReport(content(1), START, token=mine), PostedReport(content(2, "i-0b"), START, token=other)
    assert [type(outcome) for outcome in store(engine, *reports)] == [UnauthenticatedError, ImportResult]
    assert rows(engine)["observation"] == 1


def test_what_is_removed_while_it_is_reported_again_is_to_be_sent_again(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(engine, report(1))
    read, times = report_batches._read_stored, itertools.count()

    def read_once(*arguments: Any) -> Any:
        return {} if next(times) else read(*arguments)

    monkeypatch.setattr(report_batches, "_read_stored", read_once)
    (outcome,) = store(engine, report(1))
    assert isinstance(outcome, BusyError)


def test_the_inventory_may_be_locked_meanwhile(postgresql: Engine) -> None:
    """A drift over the fleet takes seconds: reports do not wait, and what it may have read is not removed."""
    for first in range(0, NEWEST, 50):
        store(postgresql, *(report(number) for number in range(first, first + 50)))
    with write_transaction(postgresql):
        assert isinstance(store(postgresql, report(NEWEST))[0], ImportResult)
        assert rows(postgresql)["observation"] == NEWEST + 1
    store(postgresql, report(NEWEST + 1))
    assert rows(postgresql)["observation"] == NEWEST


def test_as_many_as_are_kept_remain(engine: Engine) -> None:
    at = [START + timedelta(minutes=minute) for minute in range(NEWEST + 3)]
    store(engine, *(report(number, at=at[number]) for number in range(NEWEST)), report(0, "i-0b"))
    assert rows(engine)["observation"] == NEWEST + 1
    store(engine, *(report(number, at=at[number]) for number in range(NEWEST, NEWEST + 3)))
    assert rows(engine)["observation"] == NEWEST + 1
    assert sorted(seen(engine)) == [0, *range(3, NEWEST + 3)]


def test_writers_of_several_processes_share_the_numbers(databases: Databases) -> None:
    """Workers store batches and an import runs beside them; each observation has a number of its own and its rows."""
    for backend in BACKENDS:
        url = databases.migrated(backend)
        engines = [open_engine(url) for _ in range(4)]

        def post(worker: int, engines: Sequence[Engine] = engines) -> None:
            for first in range(0, 20, 5):
                numbers = range(100 * worker + first, 100 * worker + first + 5)
                outcomes = store(engines[worker], *(report(number, f"i-0{worker}") for number in numbers))
                assert all(isinstance(outcome, ImportResult) for outcome in outcomes)

        def import_some(engines: Sequence[Engine] = engines) -> None:
            for number in range(4):
                with write_transaction(engines[3]) as connection:
                    import_files(connection, "neuron-ls", [ImportFile("f", BytesIO(content(900 + number, "i-0f")))])

        with ThreadPoolExecutor(4) as threads:
            running = [*(threads.submit(post, worker) for worker in range(3)), threads.submit(import_some)]
        for future in running:
            future.result()
        assert rows(engines[0]) == {"observation": 64, "observed_server": 64, "observed_chip": 128}
        assert len(seen(engines[0])) == 64
        for engine in engines:
            engine.dispose()


def test_without_a_database_all_fail(databases: Databases) -> None:
    url = databases.migrated("sqlite")
    with temporary_engine(url.replace("sqlite:///", "sqlite:////nowhere")) as engine, pytest.raises(DatabaseError):
        store(engine, report())
    with temporary_engine("postgresql://trninv@/x?host=/nowhere") as engine, pytest.raises(UnreachableError):
        store(engine, report())
