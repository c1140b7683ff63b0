"""GET /changes: each event once, in the order of the commits, whatever becomes of servers and readers."""

import asyncio
import json
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hearing import Hearing, change, served
from sqlalchemy import Engine, text
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from archives import at, happen
from conftest import Databases
from serving import serving
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.revision import RevisionTracker
from trninv.history.archive.archive_pruner import prune_events
from trninv.history.archive.archive_store import open_for_writing
from trninv.history.archive.archive_writer import archive_history
from trninv.inventory.access import bearer_tokens
from trninv.inventory.state import hash_chain
from trninv.service import event_broadcast, event_stream
from trninv.service.event_broadcast import BroadcastEvent, EventBroadcaster

pytestmark = pytest.mark.slow_on_postgresql

if TYPE_CHECKING:
    import subprocess

U = "u-trn2x64/d0"
_QUIET = logging.getLogger("quiet")


def _until(holds: Callable[[], bool]) -> None:
    assert any(holds() for _ in range(1_000) if not threading.Event().wait(0.01))


@pytest.fixture
def lite_copy(databases: Databases) -> Iterator[tuple[str, Engine]]:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine:
        yield url, engine


@pytest.fixture
def tracker(lite_copy: tuple[str, Engine]) -> Iterator[RevisionTracker]:
    with closing(RevisionTracker(lite_copy[1])) as made:
        yield made


@pytest.mark.slow
def test_none_is_lost_and_none_told_twice_when_a_server_is_killed(seeded: str, engine: Engine) -> None:
    begun: list[subprocess.Popen[bytes]] = []
    with serving(seeded, begun=begun.append, TRNINV_LOG="off") as url, Hearing(url) as first:
        change(engine, f"{U}/s0/c0")
        heard = first.events(1)
        begun[0].kill()
        change(engine, f"{U}/s1")  # nobody hears that: 33 events or so
        assert list(first) == []
    with (
        served(seeded) as other,
        Hearing(other, last_event_id=heard[0]["id"]) as second,
        temporary_engine(seeded) as meanwhile,
    ):
        with meanwhile.connect() as connection:
            missed = connection.scalar(text("SELECT max(id) FROM state_event")) - 1
        heard += second.events(missed)
        change(engine, f"{U}/s0/c1")
        heard += second.events(1)
    assert [int(each["id"]) for each in heard] == [each["event"] for each in heard] == list(range(1, missed + 3))
    assert [heard[at]["address"] for at in (0, -1)] == [f"{U}/s0/c0", f"{U}/s0/c1"]
    assert sum(each["cascaded"] for each in heard) == missed - 1
    assert {each["named"] for each in heard} == {each["kind"] for each in heard} >= {"server", "chip", "nic"}


def test_writers_that_overlap_are_told_in_the_order_of_their_commits(databases: Databases) -> None:
    """One begins before another and commits after it; a third has its change done, and waits for the lock."""
    url, down = databases.seeded("postgresql"), "UPDATE node SET state = 'down' WHERE id = {}"
    with temporary_engine(url) as engine, served(url) as service, Hearing(service, "/changes?lastEventId=0") as hearing:
        with engine.connect() as early, engine.connect() as late, ThreadPoolExecutor(1) as pool:
            early.execute(text("CREATE TABLE written_early (id int)"))  # has its number before the others
            late.execute(text(down.format(1)))

            def third() -> None:
                with engine.begin() as connection:
                    connection.execute(text(down.format(2)))

            waiting = pool.submit(third)
            while not late.scalar(text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")):
                pass
            late.commit()
            waiting.result(20)
            early.execute(text(down.format(3)))
            early.commit()
        assert [each["event"] for each in hearing.events(3)] == [1, 2, 3]
        with engine.connect() as connection:
            parts = connection.scalars(text("SELECT part_id FROM state_event ORDER BY id")).all()
    assert parts == [1, 2, 3]


def test_a_scope_narrows_to_a_place_what_it_holds_and_its_links(lite_copy: tuple[str, Engine]) -> None:
    url, engine = lite_copy
    link = f"{U}/s0/c0--{U}/s1/c0"
    told = {"u-trn2x64": 3, f"{U}/s1": 3, f"{U}/s1/c0": 2, f"{U}/s0": 1, link: 1, "u-trn2x64/r0": 3}
    with served(url) as service:
        listening = {scope: Hearing(service, f"/changes?scope={scope}&lastEventId=0") for scope in told}
        for address in ("trn1.2xlarge/d0/s0/c0", link, f"{U}/s1/c0", f"{U}/s1/c1"):
            change(engine, address)
        for scope, most in told.items():
            with listening[scope] as each:
                heard = [event["address"] for event in each.events(most)]
            assert heard == [a for a in (link, f"{U}/s1/c0", f"{U}/s1/c1") if a in heard]
            assert len(heard) == most


@pytest.mark.parametrize(
    ("asked", "headers", "code", "says"),
    [
        ("", {"last_event_id": "x"}, "BAD_REQUEST", "is not an event number"),
        ("?lastEventId=-1", {}, "BAD_REQUEST", "is not an event number"),
        ("?lastEventId=1", {}, "BAD_TIME", "event 1 does not exist; the last event is 0"),
        ("?lastEventId=0", {"last_event_id": "7"}, "BAD_TIME", "event 7 does not exist"),
        ("?scope=nowhere", {}, "UNKNOWN_ADDRESS", "nowhere"),
        (f"?scope={U}/s0/c0/nc0", {}, "WRONG_LEVEL", "name its chip"),
    ],
)
def test_what_can_not_be_listened_to_is_said(
    quiet: str, asked: str, headers: dict[str, str], code: str, says: str
) -> None:
    with Hearing(quiet, f"/changes{asked}", **headers) as refused:
        (error,) = refused.body()["errors"]
    assert refused.status in (400, 404)
    assert (error["extensions"]["code"], says in error["message"]) == (code, True), error


@pytest.fixture(scope="module")
def quiet(lite: str) -> Iterator[str]:
    """A service of which nothing is told but that it is there."""
    with served(lite, heartbeat=0.2, listeners=2) as url:
        yield url


def test_a_heartbeat_names_the_last_event_and_no_proxy_keeps_anything(quiet: str) -> None:
    with Hearing(quiet) as hearing:
        frames = iter(hearing)
        assert 1_000 <= int(next(frames)["retry"]) < 3_000
        assert next(frames) == {"": "", "id": "0"}
    for header in ("content-type: text/event-stream", "cache-control: no-store, no-transform", "x-accel-buffering: no"):
        assert header in hearing.head
    assert "content-encoding" not in hearing.head


def test_only_so_many_listen_and_who_leaves_makes_room(quiet: str) -> None:
    with Hearing(quiet), Hearing(quiet), Hearing(quiet) as third:
        assert (third.status, third.body()["errors"][0]["extensions"]["code"]) == (503, "BUSY")
        assert "retry-after: 1" in third.head

    def is_heard() -> bool:
        with Hearing(quiet) as again:
            return again.status == 200

    _until(is_heard)


def test_listening_wants_a_token_and_ends_when_it_is_revoked(lite_copy: tuple[str, Engine]) -> None:
    url, engine = lite_copy
    with write_transaction(engine) as connection:
        tokens = {scope: bearer_tokens.create_token(connection, scope, scope, None) for scope in ("read", "observe")}
    with served(url, heartbeat=0.2, auth="tokens") as service:
        for headers, status in (({}, 401), ({"authorization": f"Bearer {tokens['observe']}"}, 403)):
            with Hearing(service, **headers) as refused:
                assert refused.status == status
        with Hearing(service, authorization=f"Bearer {tokens['read']}") as hearing:
            frames = iter(hearing)
            next(frames)
            with write_transaction(engine) as connection:
                bearer_tokens.revoke_token(connection, "read")
            assert len(list(islice(frames, 30))) < 30, "it ends"


def test_one_look_at_the_database_serves_all_who_listen(
    lite_copy: tuple[str, Engine], tracker: RevisionTracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_broadcast, "POLL_SECONDS", 0.01)
    _, engine = lite_copy
    looks, reads = [0], [0]

    async def watch(find: Callable[[Engine], Any], /) -> Any:
        looks[0] += 1
        return await asyncio.to_thread(find, engine)

    async def read(find: Callable[..., Any], *given: Any) -> Any:
        reads[0] += 1
        return await asyncio.to_thread(find, *given)

    async def listen(told: EventBroadcaster) -> tuple[list[int], int]:
        told.subscribe(0)
        heard: list[int] = []
        while len(heard) < 2:
            heard += [each.number for each in await told.wait_for_events(heard[-1] if heard else 0, 20)]
        told.unsubscribe()
        return heard, looks[0]

    async def run() -> None:
        told = EventBroadcaster(watch, read, tracker, _QUIET)
        listeners = [asyncio.create_task(listen(told)) for _ in range(50)]
        await asyncio.to_thread(_until, lambda: looks[0] >= 3)
        for address in (f"{U}/s0/c0", f"{U}/s0/c1"):
            await asyncio.to_thread(change, engine, address)
        assert {tuple(heard) for heard, _ in await asyncio.gather(*listeners)} == {(1, 2)}
        assert reads == [0]
        told.subscribe(2)
        assert [each.number for each in await told.wait_for_events(0, 20)] == [1, 2]
        told.unsubscribe()
        ended = looks[0]
        await asyncio.sleep(0.05)
        assert looks[0] <= ended + 1, "nobody listens, nobody looks"

    asyncio.run(run())


class _Noted:
    """A log that only counts."""

    def __init__(self) -> None:
        self.count = 0

    def exception(self, _event: str, /) -> None:
        self.count += 1


def test_a_look_that_fails_as_none_should_is_noted_and_not_the_last(
    lite_copy: tuple[str, Engine], tracker: RevisionTracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_broadcast, "POLL_SECONDS", 0.01)
    _, engine = lite_copy
    log, looks = _Noted(), [0]

    async def watch(find: Callable[[Engine], Any], /) -> Any:
        looks[0] += 1
        if looks[0] < 4:
            raise PoolTimeoutError
        return await asyncio.to_thread(find, engine)

    async def run() -> None:
        told = EventBroadcaster(watch, asyncio.to_thread, tracker, log)
        change(engine, f"{U}/s0/c0")
        told.subscribe(0)
        assert [each.number for each in await told.wait_for_events(0, 20)] == [1]
        told.unsubscribe()

    asyncio.run(run())
    assert log.count == 1


def _told(told: EventBroadcaster, tell: Callable[[BroadcastEvent], bytes]) -> AsyncIterator[bytes]:
    """What a listener is told who begins with the first event, without HTTP."""
    shared = SimpleNamespace(broadcaster=told, settings=SimpleNamespace(heartbeat=60.0))
    request: Any = SimpleNamespace(app=SimpleNamespace(state=SimpleNamespace(shared=shared)))
    return event_stream._generate_frames(request, 0, None, tell)


def _news(engine: Engine, tracker: RevisionTracker) -> EventBroadcaster:
    async def watch(find: Callable[[Engine], Any], /) -> Any:
        return await asyncio.to_thread(find, engine)

    return EventBroadcaster(watch, asyncio.to_thread, tracker, _QUIET)


def _down(engine: Engine, most: int) -> None:
    with write_transaction(engine) as connection:
        connection.execute(text("UPDATE node SET state = 'down' WHERE id <= :most"), {"most": most})
        hash_chain.seal_events(connection)


def test_who_hears_much_at_once_lets_others_hear_between(
    lite_copy: tuple[str, Engine], tracker: RevisionTracker
) -> None:
    """One change of 100 parts: each is told once, and nobody keeps the loop for all of them."""
    _, engine = lite_copy
    _down(engine, 100)
    order: list[tuple[str, int]] = []

    async def listen(told: EventBroadcaster, name: str) -> None:
        def tell(each: BroadcastEvent) -> bytes:
            order.append((name, each.number))
            return each.frame

        told.subscribe(100)
        heard = b""
        async for some in _told(told, tell):
            heard += some
            if heard.count(b"\ndata: ") == 100:
                break
        told.unsubscribe()

    async def run() -> None:
        told = _news(engine, tracker)
        await asyncio.gather(*(listen(told, name) for name in "ab"))

    asyncio.run(run())
    assert [[number for name, number in order if name == each] for each in "ab"] == [list(range(1, 101))] * 2
    runs = [len(list(group)) for _, group in groupby(order, key=itemgetter(0))]
    assert max(runs) <= 64


def test_events_that_are_archived_before_they_are_told_are_no_silent_gap(
    lite_copy: tuple[str, Engine], tracker: RevisionTracker, tmp_path: Path
) -> None:
    _, engine = lite_copy
    happen(engine, at(1, 8), "UPDATE node SET state = 'down' WHERE id <= 3")
    change(engine, f"{U}/s0/c5")

    async def run() -> list[bytes]:
        told = _news(engine, tracker)
        told.subscribe(4)
        with open_for_writing(tmp_path) as store:
            archive_history(engine, store)
            assert prune_events(engine, store, "me").last_event == 3
        return [some async for some in _told(told, lambda each: each.frame) if not some.startswith(b"retry")]

    assert asyncio.run(asyncio.wait_for(run(), 20)) == [b": events before 4 are no longer stored\n\n"]


@pytest.mark.slow
def test_a_thousand_listen_to_one_process(lite_copy: tuple[str, Engine]) -> None:
    url, engine = lite_copy
    with serving(url, TRNINV_LOG="off") as service:
        everybody = [Hearing(service) for _ in range(1_000)]
        try:
            change(engine, f"{U}/s0/c0")
            change(engine, f"{U}/s0/c1")
            assert {tuple(each["id"] for each in hearing.events(2)) for hearing in everybody} == {("1", "2")}
        finally:
            for each in everybody:
                each.__exit__()


def test_a_service_that_stops_ends_what_it_tells(lite: str) -> None:
    with served(lite, heartbeat=60.0) as service:
        hearing = Hearing(service)
    with hearing:
        assert [*frame] == ["retry"] if (frame := next(iter(hearing), None)) else False
        assert list(hearing) == []


def _subscribing(service: str, document: str, **headers: str) -> Hearing:
    return Hearing(service, "/graphql", json.dumps({"query": document}).encode(), **headers)


def test_a_subscription_tells_what_its_document_selects(lite_copy: tuple[str, Engine]) -> None:
    url, engine = lite_copy
    document = f'subscription {{ changes(scope: "{U}/s0") {{ event address after factor lastly: why cascaded }} }}'
    for address in ("trn1.2xlarge/d0/s0/c0", f"{U}/s0/c0"):
        change(engine, address)
    with served(url) as service, _subscribing(service, document, last_event_id="0") as hearing:
        (heard,) = hearing.events(1)
        change(engine, f"{U}/s1/c0")
        change(engine, f"{U}/s0/c0", "up")
        (again,) = hearing.events(1)
    event = {"event": 2, "address": f"{U}/s0/c0", "after": "DOWN", "factor": None, "lastly": "so it goes"}
    assert heard == {"data": {"changes": event | {"cascaded": False}}, "id": "2", "named": "next"}
    assert (again["id"], again["data"]["changes"]["after"]) == ("4", "UP")


def test_a_subscription_loses_nothing_of_a_change_of_many_parts(lite_copy: tuple[str, Engine]) -> None:
    """More than it remembers for all who send the same document."""
    url, engine = lite_copy
    _down(engine, 100)
    with served(url) as service:
        both = [_subscribing(service, "subscription { changes { event } }", last_event_id="0") for _ in "ab"]
        for hearing in both:
            with hearing:
                assert [each["data"]["changes"]["event"] for each in hearing.events(100)] == list(range(1, 101))


@pytest.mark.parametrize(
    ("document", "headers", "says"),
    [
        ("{ clusters { totalCount } }", {}, "is for subscriptions"),
        ("subscription { changes { event } }", {"accept": "application/json"}, "a subscription is a stream"),
        ("subscription { changes { nothing } }", {}, "nothing"),
        ('subscription { changes(scope: "nowhere") { event } }', {}, "nowhere"),
        ("subscription { changes { event } }", {"last_event_id": "9"}, "event 9 does not exist"),
    ],
)
def test_what_is_no_subscription_is_said(quiet: str, document: str, headers: dict[str, str], says: str) -> None:
    with _subscribing(quiet, document, **headers) as refused:
        (error,) = refused.body()["errors"]
    assert "text/event-stream" not in refused.head
    assert says in error["message"]


@pytest.mark.parametrize("position", range(7))
def test_who_is_behind_what_is_kept_misses_nothing(
    lite_copy: tuple[str, Engine], tracker: RevisionTracker, monkeypatch: pytest.MonkeyPatch, position: int
) -> None:
    """Of seven events the last three are kept: whoever is just behind them reads what is missing."""
    monkeypatch.setattr(event_broadcast, "_MAX_RECENT_EVENTS", 3)
    _, engine = lite_copy
    _down(engine, 7)

    async def run() -> list[int]:
        told, heard = _news(engine, tracker), list[int]()
        told.subscribe(7)
        assert [each.number for each in await told.wait_for_events(6, 20)] == [7], "they are kept by now"
        while (heard or [position])[-1] < 7:
            heard += [each.number for each in await told.wait_for_events((heard or [position])[-1], 20)]
        told.unsubscribe()
        return heard

    assert asyncio.run(run()) == list(range(position + 1, 8))
