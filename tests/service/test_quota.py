"""A token of scope observe reports so much in an hour, whichever worker it reaches; the database stops to grow."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import BytesIO

import pytest
from hearing import served
from httpx2 import Response
from printed import neuron_ls
from sqlalchemy import Connection, func, select, update
from starlette.testclient import TestClient

from conftest import BACKENDS, Databases, Run
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.errors import QuotaError, UsageError
from trninv.importers.ingestion import ImportFile, import_files
from trninv.inventory.access import bearer_tokens
from trninv.inventory.access.quota import Quota, Usage, save_usage
from trninv.inventory.schema.listing import select_things
from trninv.inventory.schema.things import THINGS
from trninv.service.application import create_app
from trninv.setting_parsers import LEAST_OBSERVATIONS as NEWEST
from trninv.settings import Settings

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

ROWS = 3
"""Of an observation of one chip: itself, its server, its chip."""
OPEN = {"log": "off", "auth": "tokens", "allowed_hosts": ("127.0.0.1",)}
HOUR = datetime(2026, 11, 24, 12, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def observation(number: int, instance: str = "i-0a") -> bytes:
    """Return a small observation; those of numbers of as many digits are as long as each other."""
    devices = neuron_ls(instance, chips=[0])
    devices[0]["memory_size"] = number
    return json.dumps({"host": "n0", "neuron_ls": devices, "sysfs": {}}).encode()


SIZE = len(observation(1))


def charge(connection: Connection, name: str, rows: int, size: int, quota: Quota, now: datetime) -> None:
    """Add to what a token has reported, as a batch does."""
    row = connection.execute(select(TABLES["principal"]).where(TABLES["principal"].c.name == name)).one()
    save_usage(connection, {name: Usage.from_row(row, now).check(rows, size, quota, now)})


@pytest.fixture(params=BACKENDS)
def url(request: pytest.FixtureRequest, databases: Databases) -> str:
    return databases.migrated(request.param)


def token(url: str, name: str = "i-0a", scope: str = "observe") -> str:
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        return bearer_tokens.create_token(connection, name, scope, None)


@contextmanager
def serving(url: str, **limits: int) -> Iterator[Callable[..., Response]]:
    settings = Settings(url, **OPEN, **limits)  # type: ignore[arg-type] # each has its own type
    with TestClient(create_app(url, settings), base_url="http://127.0.0.1") as client:

        def post(token: str, body: bytes) -> Response:
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            return client.post("/observations", content=body, headers=headers)

        post.client = client  # type: ignore[attr-defined] # for what else is asked
        yield post


def counts(url: str) -> list[int]:
    """Return how many observations, servers and chips are kept."""
    with temporary_engine(url) as engine, read_transaction(engine) as connection:
        tables = (TABLES[name] for name in ("observation", "observed_server", "observed_chip"))
        return [connection.scalar(select(func.count()).select_from(table)) or 0 for table in tables]


def used(url: str) -> list[tuple[int | None, int | None]]:
    with temporary_engine(url) as engine, read_transaction(engine) as connection:
        return [(row.rows_this_hour, row.bytes_this_hour) for row in connection.execute(select_things(THINGS["token"]))]


@pytest.mark.parametrize("limits", [{"observe_rows": 2 * ROWS}, {"observe_bytes": 2 * SIZE}])
def test_as_much_as_the_quota_is_kept_and_no_more(url: str, limits: dict[str, int]) -> None:
    mine = token(url)
    with serving(url, **limits) as post:
        assert [post(mine, observation(n)).status_code for n in range(2)] == [202, 202]
        refused = post(mine, observation(2))
        assert refused.status_code == 429
        assert 0 < int(refused.headers["Retry-After"]) <= 3600
        (error,) = refused.json()["errors"]
        (name, most), unit = next(iter(limits.items())), next(iter(limits)).removeprefix("observe_")
        assert error["extensions"] == {"code": "QUOTA_EXCEEDED"}
        assert error["message"].startswith(f"this token has reported {most:,} {unit} since ")
        assert error["message"].endswith(f" UTC, or raise TRNINV_{name.upper()}")
        assert counts(url) == [2, 2, 2]
        assert used(url) == [(2 * ROWS, 2 * SIZE)]
        metrics = post.client.get("/metrics", headers={"Authorization": f"Bearer {token(url, 'm', 'read')}"}).text  # type: ignore[attr-defined]
        assert f'trninv_observations_refused_total{{unit="{unit}"}} 1.0' in metrics


@pytest.mark.parametrize("limits", [{"observe_rows": 2 * ROWS - 1}, {"observe_bytes": 2 * SIZE - 1}])
def test_one_less_has_no_room_for_the_second(url: str, limits: dict[str, int]) -> None:
    mine = token(url)
    with serving(url, **limits) as post:
        assert [post(mine, observation(n)).status_code for n in range(2)] == [202, 429]
    assert used(url) == [(ROWS, SIZE)]


def test_what_is_too_much_is_refused_before_it_is_parsed(url: str) -> None:
    mine = token(url)
    with serving(url, observe_bytes=SIZE) as post:
        refused = post(mine, b"[" * (SIZE + 1))
        assert refused.status_code == 429
        assert "report fewer at once" in refused.json()["errors"][0]["message"]  # the next hour would refuse it too
        assert post(mine, b"[" * SIZE).status_code == 400
    assert used(url) == [(0, 0)]


def test_what_is_known_counts_once_and_is_taken_when_the_quota_is_used_up(url: str) -> None:
    mine = token(url)
    with serving(url, observe_rows=ROWS) as post:
        answers = [post(mine, observation(1)) for _ in range(3)]
        assert [(each.status_code, each.json()["isKnown"]) for each in answers] == [
            (202, False),
            (202, True),
            (202, True),
        ]
        assert post(mine, observation(2)).status_code == 429
        other = token(url, "i-0b")
        assert post(other, observation(1)).status_code == 403  # it may not repeat it for another
    assert used(url) == [(ROWS, SIZE), (0, 0)]


def test_two_tokens_do_not_share_and_a_new_service_goes_on_counting(url: str) -> None:
    mine, other = token(url), token(url, "i-0b")
    with serving(url, observe_rows=ROWS) as post:
        assert post(mine, observation(1)).status_code == 202
        assert post(mine, observation(2)).status_code == 429
        assert post(other, observation(1, "i-0b")).status_code == 202
    with serving(url, observe_rows=ROWS) as post:
        assert {post(mine, observation(3)).status_code, post(other, observation(3, "i-0b")).status_code} == {429}


def test_tokens_without_the_scope_are_refused_as_before_and_admin_has_no_quota(url: str) -> None:
    with serving(url, observe_rows=1, observe_bytes=1) as post:
        for scope in ("read", "sql", "operate"):
            assert post(token(url, scope, scope), observation(1)).status_code == 403
        assert post("", observation(1)).status_code == 401
        assert post(token(url, "admin", "admin"), observation(1)).status_code == 202
    assert used(url)[-1] == (None, None)


@pytest.mark.slow
def test_several_workers_together_keep_no_more(databases: Databases) -> None:
    for backend in BACKENDS:
        url = databases.migrated(backend)
        mine = token(url)
        with serving(url, observe_rows=5 * ROWS) as one, serving(url, observe_rows=5 * ROWS) as other:
            with ThreadPoolExecutor(4) as threads:
                posts = [
                    threads.submit((one, other)[number % 2], mine, observation(10 + number)) for number in range(12)
                ]
            assert sorted(each.result().status_code for each in posts) == [202] * 5 + [429] * 7
        assert counts(url) == [5, 5, 5]
        assert used(url) == [(5 * ROWS, 5 * len(observation(10)))]


@pytest.mark.parametrize(
    ("now", "rows"), [(HOUR - MICROSECOND, 4), (HOUR, 4), (HOUR + timedelta(hours=1) - MICROSECOND, 4)]
)
def test_an_hour_lasts_to_its_end(url: str, now: datetime, rows: int) -> None:
    """A clock that went back, or another worker's that is behind, begins no hour again."""
    quota = Quota(rows, 100)
    token(url)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        charge(connection, "i-0a", 4, 1, quota, HOUR)
        with pytest.raises(QuotaError) as refused:
            charge(connection, "i-0a", 1, 1, quota, now)
    assert refused.value.retry_after == -(-(HOUR + timedelta(hours=1) - now) // timedelta(seconds=1))


def test_the_next_hour_begins_at_its_instant(url: str) -> None:
    token(url)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        for hours in range(2):
            charge(connection, "i-0a", 4, 100, Quota(4, 100), HOUR + timedelta(hours=hours))
        row = connection.execute(select(TABLES["principal"])).one()
        assert Usage.from_row(row, HOUR) == Usage(HOUR + timedelta(hours=1), 4, 100)


def test_what_fails_after_it_was_counted_is_not_counted(url: str) -> None:
    def fail() -> None:
        with write_transaction(engine) as connection:
            charge(connection, "i-0a", 4, 100, Quota(4, 100), HOUR)
            raise ZeroDivisionError

    token(url)
    with temporary_engine(url) as engine:
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                fail()
    assert used(url) == [(0, 0)]


@pytest.mark.slow
def test_a_token_that_reports_all_morning_stays_below_the_bound(url: str) -> None:
    """Each hour of a morning it uses up its quota, and the database has no more rows than before."""
    mine, hourly = token(url), 5
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        for number in range(NEWEST):
            import_files(connection, "neuron-ls", [ImportFile("f", BytesIO(observation(number)))])
    with serving(url, observe_rows=hourly * ROWS) as post, temporary_engine(url) as engine:
        for hour in range(6):
            numbers = range(1000 + 10 * hour, 1001 + 10 * hour + hourly)
            assert [post(mine, observation(number)).status_code for number in numbers] == [202] * hourly + [429]
            assert counts(url) == [NEWEST] * 3
            with engine.begin() as connection:
                connection.execute(update(TABLES["principal"]).values(quota_hour="2026-01-01T00:00:00.000000+00:00"))


def test_the_list_of_tokens_shows_what_was_reported(run: Run, lite: str) -> None:
    mine = token(lite)
    token(lite, "grafana", "read")
    with serving(lite) as post:
        assert post(mine, observation(1)).status_code == 202
    listed = json.loads(run("token", "list", "--format", "json", database=lite)[1])
    assert [(each["name"], each["rowsThisHour"], each["bytesThisHour"]) for each in listed] == [
        ("i-0a", ROWS, SIZE),
        ("grafana", None, None),
    ]


def test_collect_says_when_it_may_report_again(run: Run, databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    url = databases.migrated("sqlite")
    monkeypatch.setattr("trninv.importers.collector.collect", lambda **_: json.loads(observation(1)))
    monkeypatch.setenv("TRNINV_OBSERVE_ROWS", "1")
    with served(url, auth="tokens", observe_rows=1) as service:
        monkeypatch.setenv("TRNINV_TOKEN", token(url))
        status, out, err = run("collect", "--to", service)
    assert (status, out) == (2, "")
    assert "responded with 429: this token has reported 0 rows since " in err


@pytest.mark.parametrize("value", ["0", "99", "many"])
def test_fewer_than_are_always_kept_are_no_setting(value: str) -> None:
    with pytest.raises(UsageError, match=r"^TRNINV_OBSERVATIONS="):
        Settings.load({"TRNINV_OBSERVATIONS": value})
    assert Settings.load({"TRNINV_OBSERVATIONS": "100"}).observations == NEWEST
