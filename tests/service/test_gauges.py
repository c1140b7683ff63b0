"""What /metrics tells of the fleet: as the rows are, read anew only where anything was written, and off the loop."""

import asyncio
import re
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hearing import Hearing, change, served
from sqlalchemy import Connection, Engine, event, text
from starlette.testclient import TestClient

from conftest import wear
from trninv.database.engine import temporary_engine
from trninv.database.revision import RevisionTracker
from trninv.service import fleet_metrics
from trninv.service.application import create_app
from trninv.service.fleet_metrics import FleetMetrics

pytestmark = pytest.mark.slow_on_postgresql

Samples = dict[tuple[str, ...], float]
"""Values by name and values of labels, in the order of the labels' names."""
_SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)


def _samples(shown: str) -> Samples:
    return {(name, *re.findall('="([^"]*)"', labels)): float(value) for name, labels, value in _SAMPLE.findall(shown)}


def _of(name: str, shown: str) -> Samples:
    return {key[1:]: value for key, value in _samples(shown).items() if key[0] == name}


def _above_zero(samples: Samples) -> Samples:
    return {key: value for key, value in samples.items() if value}


@pytest.fixture
def asked(seeded: str) -> Iterator[TestClient]:
    with TestClient(create_app(seeded), base_url="http://127.0.0.1") as client:
        yield client


def test_what_is_not_up_is_as_the_rows_are(asked: TestClient, seeded: str, engine: Engine) -> None:
    wear(seeded)
    change(engine, "trn1.2xlarge/d0/s0", "maintenance")
    shown = asked.get("/metrics").text
    lost, there = _of("trninv_parts_unhealthy", shown), _of("trninv_parts", shown)
    with engine.connect() as connection:
        parts = list(_parts(connection))
    assert there == Counter(part[:2] for part in parts)
    assert _above_zero(lost) == Counter(part for part in parts if part[2] != "up")
    assert lost["u-trn2x64", "chip", "maintenance"] == 16
    assert lost["trn3-gen1", "chip", "down"] == 0
    assert {key[:2] for key in lost} == set(there)
    impaired = _of("trninv_domains_impaired", shown)
    assert impaired.keys() == _of("trninv_domains", shown).keys() >= {("trn1.2xlarge",)}  # that is planned
    damaged = {"u-trn2x64", "trn3-gen1", "trn1.32xlarge", "trn2-16.48xlarge"}
    assert _above_zero(impaired) == {(slug,): 1 for slug in damaged}


def _parts(connection: Connection) -> Iterator[tuple[str, str, str]]:
    """Cluster, kind and state of every part, row by row."""

    def rows(columns: str) -> Iterator[Any]:
        return (tuple(row) for row in connection.execute(text(f"SELECT {columns}")))

    slug: dict[int, str] = dict(rows("id, slug FROM cluster"))
    domain: dict[int, int] = dict(rows("id, cluster_id FROM domain"))
    node = {
        key: (slug[cluster], kind, state) for key, cluster, kind, state in rows("id, cluster_id, kind, state FROM node")
    }
    yield from node.values()
    yield from ((slug[domain[of]], "server", state) for of, state in rows("domain_id, state FROM server"))
    yield from ((node[end][0], "link", state) for end, state in rows("b_id, state FROM link"))


def test_changes_count_from_the_first_reading_and_without_what_a_server_takes_along(
    asked: TestClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> Samples:
        return _above_zero(_of("trninv_changes_total", asked.get("/metrics").text))

    change(engine, "u-trn2x64/d0/s0/c0")
    assert found() == {}
    change(engine, "u-trn2x64/d0/s1")
    change(engine, "u-trn2x64/d0/s1/c4")  # by itself, in a server that is down
    with engine.begin() as connection:
        connection.execute(text("UPDATE link SET state = 'maintenance' WHERE id = 1"))
    monkeypatch.setattr(fleet_metrics, "MAX_INCREMENTAL_EVENTS", 10)
    assert sum(found().values()) == 1  # of some 35 events the first 10
    counted = [found() for _ in range(4)][-1]
    assert counted == {
        ("server", "command", "down"): 1,
        ("chip", "command", "down"): 1,
        ("link", "sql", "maintenance"): 1,
    }


def test_nothing_is_read_twice_and_every_write_is_seen(engine: Engine, seeded: str) -> None:
    with temporary_engine(seeded) as watched:
        revision = RevisionTracker(watched)
        of, sent = FleetMetrics(revision), list[str]()
        event.listen(watched, "before_cursor_execute", lambda *given: sent.append(given[2]))
        first = of.render(watched)
        assert _of("trninv_parts", first.decode())
        sent.clear()
        assert of.render(watched) == first
        assert sent == []
        with engine.begin() as connection:
            connection.execute(text("UPDATE node SET state = 'down' WHERE id = 1"))
        assert of.render(watched) != first
        tables = ("FROM server", "FROM node", "FROM link")
        assert all("!= 'up'" in each for each in sent if any(table in each for table in tables))
        revision.close()


def test_a_database_that_does_not_answer_leaves_nothing_old(tmp_path: Path, lite: str) -> None:
    with TestClient(create_app(f"sqlite:///{tmp_path / 'gone.db'}"), base_url="http://localhost") as client:
        answer = client.get("/metrics")
    assert answer.status_code == 200
    assert _samples(answer.text)["trninv_ready",] == 0
    assert "trninv_parts" not in answer.text
    with TestClient(create_app(lite), base_url="http://localhost") as client:
        assert _samples(client.get("/metrics").text)["trninv_ready",] == 1


def test_the_loop_counts_nothing(lite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(_self: FleetMetrics, _engine: Engine) -> bytes:
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        return b"found in a thread"

    monkeypatch.setattr(FleetMetrics, "render", found)
    with TestClient(create_app(lite), base_url="http://localhost") as client:
        assert client.get("/metrics").text.endswith("found in a thread")


def test_streams_are_no_slow_requests(lite: str) -> None:
    with served(lite) as url:
        with Hearing(url) as listener:
            assert listener.status == 200
            assert _metrics(url)["trninv_listeners",] == 1
        ended = ("trninv_requests_total", "/changes", "200")
        found = next(found for _ in range(1_000) if ended in (found := _metrics(url)) or Event().wait(0.01))
    assert found["trninv_request_seconds_count", "/metrics"] >= 1
    assert ("trninv_request_seconds_count", "/changes") not in found


def _metrics(url: str) -> Samples:
    with urllib.request.urlopen(f"{url}/metrics", timeout=20) as answer:
        return _samples(answer.read().decode())


def test_a_probe_does_not_wait_for_the_first_count(lite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, probed = Event(), Event()

    def found(_self: FleetMetrics, _engine: Engine) -> bytes:
        begun.set()
        return b"probed meanwhile" if probed.wait(20) else b""

    monkeypatch.setattr(FleetMetrics, "render", found)
    with TestClient(create_app(lite), base_url="http://localhost") as client, ThreadPoolExecutor(1) as other:
        scraped = other.submit(client.get, "/metrics")
        assert begun.wait(20)
        assert client.get("/readyz").status_code == 200
        probed.set()
        assert scraped.result().text.endswith("probed meanwhile")
