"""The sender against a receiver that fails: retries, dead letters, restarts, and one sender for all processes."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from flaky_receiver import SECRET_TEXT, FlakyReceiver, flaky_receiver
from hearing import change
from sqlalchemy import Engine, make_url

from conftest import BACKENDS, Databases
from trninv.checks.check_report import CheckReport, CheckStatus, write_report
from trninv.checks.evaluation import Verdict
from trninv.database.engine import open_engine, temporary_engine
from trninv.database.revision import RevisionTracker
from trninv.errors import UnknownAddressError
from trninv.webhooks import progress
from trninv.webhooks import sender as sender_module
from trninv.webhooks.progress import list_dead_letters, list_receivers
from trninv.webhooks.receiver import parse_receivers
from trninv.webhooks.sender import ReceiverSender, send_webhooks
from trninv.webhooks.sender_lock import sender_lock

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

CHIP, OTHER = "u-trn2x64/d0/s1/c5", "trn1.32xlarge/d0/s0/c3"
FAILED = CheckStatus(
    "up", 1, "hops", Verdict.FAILED, None, "at most 1 hop", "no path", changed_at="2026-11-22T02:00:00Z"
)


class Sending:
    """A database, a flaky receiver, and senders to it, one at a time, as after restarts."""

    def __init__(self, engine: Engine, flaky: FlakyReceiver, results: Path) -> None:
        self.engine, self.flaky, self.results = engine, flaky, results
        self.stop, self.lines = Event(), list[str]()
        self.tracker = RevisionTracker(engine)

    def sender(self, selections: str, more: str = "") -> ReceiverSender:
        raw = self.flaky.file(selections=selections, more=more)
        (receiver,) = parse_receivers(raw, "f", {"PAGER": SECRET_TEXT})
        sender = ReceiverSender(
            self.engine, self.tracker, receiver, self.results, self.lines.append, self.stop, random.Random(1)
        )
        sender.poll()
        return sender

    def change(self, state: str, *addresses: str) -> None:
        for address in addresses:
            change(self.engine, address, state)

    def accepted(self) -> list[tuple[str, Any]]:
        return [
            (body["type"], body["data"].get("address") or body["data"].get("place")) for body in self.flaky.accepted
        ]

    def status(self) -> tuple[int, int, str | None]:
        with self.engine.connect() as connection:
            (status,) = list_receivers(connection)
        return status.sent, status.failed, status.error

    def dead(self) -> list[tuple[str, int, str]]:
        with self.engine.connect() as connection:
            return [(letter.type, letter.attempts, letter.error) for letter in list_dead_letters(connection)]


@pytest.fixture(params=BACKENDS)
def sending(
    request: pytest.FixtureRequest, databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Sending]:
    monkeypatch.setattr(sender_module, "_FIRST_BACKOFF", 0.01)
    url = databases.seeded(request.param)
    with temporary_engine(url) as engine, flaky_receiver() as flaky:
        sending = Sending(engine, flaky, tmp_path / "results.json")
        yield sending
        sending.tracker.close()
    databases.drop(url)


def test_a_new_receiver_gets_what_happens_from_then_on_by_its_selection(sending: Sending) -> None:
    sending.change("down", CHIP)
    sender = sending.sender("events: {scope: u-trn2x64, state: down}\nincidents: {scope: u-trn2x64, severity: medium}")
    assert sending.accepted() == []
    sending.change("down", OTHER)  # in another cluster
    sending.change("up", CHIP)  # no event of the selected state, but the end of an incident
    sending.change("down", "u-trn2x64/d0/s2/c1")
    assert sender.poll()
    assert sending.accepted() == [
        ("event.recorded", "u-trn2x64/d0/s2/c1"),
        ("incident.opened", "u-trn2x64/d0/s2/c1"),
        ("incident.resolved", CHIP),
    ]
    assert sending.flaky.unsigned == 0
    assert sending.status() == (3, 0, None)


def test_checks_are_sent_once_when_they_fail_and_when_they_recover(sending: Sending) -> None:
    sender = sending.sender("checks: {names: [up]}")
    passed = replace(FAILED, verdict=Verdict.PASSED, value="1 hop")
    other = replace(FAILED, name="other")
    error = replace(FAILED, verdict=Verdict.ERROR, changed_at="later")
    for number, status in enumerate((FAILED, FAILED, error, passed, passed)):
        write_report(sending.results, CheckReport(number, 0.1, [status, other]))
        sender.poll()
    assert [body["type"] for body in sending.flaky.accepted] == ["check.failed", "check.recovered"]
    assert sending.flaky.accepted[0]["text"] == "up: no value, not at most 1 hop (no path)"


def test_failed_attempts_are_repeated_with_the_same_id_and_in_order(sending: Sending) -> None:
    sender = sending.sender("events: {}")
    sending.flaky.script = [500, 0, 429, 204, 503]
    sending.change("down", CHIP, OTHER)
    sender.poll()
    assert sending.accepted() == [("event.recorded", CHIP), ("event.recorded", OTHER)]
    ids = [number for number, _ in sending.flaky.attempts]
    assert (len(set(ids[:4])), len(set(ids[4:])), len(set(ids))) == (1, 1, 2)
    assert sending.status() == (2, 4, None)


@pytest.mark.parametrize(("script", "attempts"), [([500, 502, 503], 3), ([500, 400], 2), ([302], 1)])
def test_a_message_is_given_up_after_its_attempts_or_at_a_refusal_and_others_follow(
    sending: Sending, script: list[int], attempts: int
) -> None:
    sender = sending.sender("events: {}", "  attempts: 3\n")
    sending.flaky.script = list(script)
    sending.change("down", CHIP, OTHER)
    sender.poll()
    assert sending.accepted() == [("event.recorded", OTHER)]
    ((kind, number, error),) = sending.dead()
    assert (kind, number, str(script[-1]) in error) == ("event.recorded", attempts, True)
    assert "given up" in sending.lines[0]
    assert sending.status() == (1, attempts, None)
    sender.poll()
    assert len(sending.flaky.attempts) == attempts + 1


def test_the_newest_dead_letters_are_kept(sending: Sending, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "MAX_DEAD_LETTERS", 2)
    sender = sending.sender("events: {}")
    sending.flaky.script = [400, 401, 403]
    sending.change("down", CHIP, OTHER, "u-trn2x64/d0/s2/c1")
    sender.poll()
    assert [error[-3:] for _, _, error in sending.dead()] == ["401", "403"]


def test_after_a_restart_it_goes_on_where_it_stopped(sending: Sending) -> None:
    sender = sending.sender("events: {}")
    sending.change("down", CHIP)
    sender.poll()
    sending.change("down", OTHER)  # while no sender runs
    sending.sender("events: {}")
    assert sending.accepted() == [("event.recorded", CHIP), ("event.recorded", OTHER)]


def test_a_message_whose_sender_stops_before_it_is_accepted_is_sent_by_the_next(
    sending: Sending, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender = sending.sender("events: {}")
    monkeypatch.setattr(sender_module, "_FIRST_BACKOFF", 1_000.0)
    monkeypatch.setattr(sender_module, "_MAX_BACKOFF", 1_000.0)
    sending.flaky.script = [500]
    sending.change("down", CHIP)
    thread = Thread(target=sender.run)
    thread.start()
    _await(lambda: sending.status()[1] == 1)
    assert sending.status()[2] == "127.0.0.1 responded with 500"
    sending.stop.set()
    thread.join(10)
    assert not thread.is_alive()
    sending.stop = Event()
    sending.sender("events: {}")
    assert sending.accepted() == [("event.recorded", CHIP)]
    (first, _), (second, _) = sending.flaky.attempts
    assert first == second


@pytest.mark.quick_on_postgresql
def test_events_are_read_page_by_page(sending: Sending, monkeypatch: pytest.MonkeyPatch) -> None:
    sender = sending.sender("events: {}")
    monkeypatch.setattr("trninv.webhooks.collection.PAGE_SIZE", 2)
    chips = [f"u-trn2x64/d0/s0/c{number}" for number in range(5)]
    sending.change("down", *chips)
    assert [sender.poll() for _ in range(3)] == [False, False, True]
    assert [address for _, address in sending.accepted()] == chips


def test_a_place_that_does_not_exist_is_an_error_of_its_receiver(sending: Sending) -> None:
    with pytest.raises(UnknownAddressError):
        sending.sender("incidents: {scope: nowhere/d0}")


@pytest.mark.quick_on_postgresql
def test_one_process_of_a_database_sends(sending: Sending) -> None:
    with sender_lock(sending.engine) as check:
        assert check
        check()
        other = open_engine(sending.engine.url)
        with sender_lock(other) as second:
            assert second is None
    with sender_lock(other) as third:
        assert third
    other.dispose()


def test_each_installation_in_a_database_sends(databases: Databases) -> None:
    url = make_url(databases.migrated("postgresql"))
    with temporary_engine(url.render_as_string(hide_password=False)) as engine, engine.begin() as connection:
        connection.exec_driver_sql("CREATE SCHEMA fleet")
    other_url = url.update_query_dict({"options": "-csearch_path=fleet"})
    with ExitStack() as stack:
        engine, other, again = (
            stack.enter_context(temporary_engine(each.render_as_string(hide_password=False)))
            for each in (url, other_url, other_url)
        )
        assert stack.enter_context(sender_lock(engine))
        assert stack.enter_context(sender_lock(other))
        assert stack.enter_context(sender_lock(again)) is None


def test_one_receiver_that_fails_delays_no_other(sending: Sending) -> None:
    with flaky_receiver() as second:
        environ = {"PAGER": SECRET_TEXT}
        receivers = [
            *parse_receivers(sending.flaky.file(selections="events: {}"), "f", environ),
            *parse_receivers(second.file(selections="events: {}", name="second"), "f", environ),
        ]
        ended = Event()
        arguments = (sending.engine, receivers, None, sending.lines.append, lambda: not ended.is_set())
        thread = Thread(target=send_webhooks, args=arguments)
        thread.start()
        _await(lambda: _receivers(sending.engine) == 2)
        sending.flaky.headers, sending.flaky.script = {"Retry-After": "60"}, [503]
        sending.change("down", CHIP)
        _await(lambda: bool(second.accepted and sending.flaky.attempts))
        ended.set()
        thread.join(10)
    assert not thread.is_alive()
    assert sending.flaky.accepted == []


def _receivers(engine: Engine) -> int:
    with engine.connect() as connection:
        return len(list_receivers(connection))


def _await(is_true: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not is_true():
        assert time.monotonic() < end, "it did not come within half a minute"
        time.sleep(0.02)
