"""Watches of Kubernetes: pulls between which nothing is lost, whatever happens to the connection."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import kubernetes_api
import pytest
from click.testing import CliRunner
from kubernetes_api import Cluster, node

from trninv.cli.main import trninv
from trninv.discovery import kubernetes_client, kubernetes_watch
from trninv.discovery.provider import Follower, PulledListings, all_providers
from trninv.discovery.target import parse_target
from trninv.errors import DiscoveryError

TARGET = parse_target("kubernetes")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Cluster]:
    with kubernetes_api.serving(Cluster()) as served:
        kubernetes_api.use(monkeypatch, tmp_path, served)
        monkeypatch.setattr(kubernetes_watch, "FIRST_PAUSE_SECONDS", 0.05)
        monkeypatch.setattr(kubernetes_watch, "_SHORT_SECONDS", 0.05)
        served.objects["nodes"] = [node(number) for number in range(8)]
        yield served


@pytest.fixture
def follower(cluster: Cluster) -> Iterator[Follower]:
    follow = all_providers()["kubernetes"].follow
    assert follow
    with closing(follow(TARGET)) as opened:
        opened.pull(lambda *_: None)
        until(lambda: cluster.watching == len(cluster.objects))
        yield opened


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def states(pulled: PulledListings) -> dict[str, str]:
    """The state of each node by name."""
    documents = (json.loads(entry.line()) for entry in pulled.listings[0].entries)
    return {
        document["items"][0]["metadata"]["name"]: document["items"][0]["status"]["conditions"][0]["status"]
        for document in documents
    }


def is_current(follower: Follower, cluster: Cluster) -> Callable[[], bool]:
    def check() -> bool:
        expected = {
            entry["metadata"]["name"]: entry["status"]["conditions"][0]["status"] for entry in cluster.objects["nodes"]
        }
        return states(follower.pull(lambda *_: None)) == expected

    return check


def has_note(follower: Follower, text: str) -> Callable[[], bool]:
    return lambda: any(
        text in note and note.startswith("the watch ended") for note in follower.pull(lambda *_: None).notes
    )


def test_changes_come_by_watch_without_another_list(cluster: Cluster, follower: Follower) -> None:
    cluster.change("nodes", node(2, is_ready=False))
    cluster.change("nodes", node(8))
    cluster.remove("nodes", node(0)["metadata"]["name"])
    until(is_current(follower, cluster))
    assert len(states(follower.pull(lambda *_: None))) == 8
    assert cluster.lists("nodes") == 1
    assert {method for method, _ in cluster.calls} == {"GET", "WATCH"}


def test_the_command_with_every_watches_between_pulls(
    cluster: Cluster, tables: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pulls(_: object) -> Iterator[float]:
        yield 0.0
        until(lambda: cluster.watching == len(cluster.objects))
        cluster.change("nodes", node(2, is_ready=False))
        cluster.change("nodes", node(8))
        time.sleep(0.2)
        yield 0.0

    monkeypatch.setattr("trninv.cli.discover_command.CollectionSchedule.wait", pulls)
    printed = CliRunner().invoke(trninv, ["--database", tables, "discover", "kubernetes", "--every", "5m"])
    assert [line.partition(",")[0] for line in printed.stdout.splitlines()] == [
        "kubernetes: 8 servers",
        "kubernetes: 9 servers",
    ]
    assert cluster.lists("nodes") == 1


def test_what_changes_between_list_and_watch_is_not_lost(
    cluster: Cluster, follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change comes after the list is answered, and before the watch begins."""
    follower.close()
    answer = Cluster.answer

    def late(self: Cluster, path: str, query: dict[str, str]) -> tuple[int, str]:
        answered = answer(self, path, query)
        if path.endswith("/nodes"):
            self.change("nodes", node(3, is_ready=False))
            self.remove("nodes", node(4)["metadata"]["name"])
            monkeypatch.setattr(Cluster, "answer", answer)
        return answered

    monkeypatch.setattr(Cluster, "answer", late)
    assert len(states(follower.pull(lambda *_: None))) == 8  # as listed
    until(is_current(follower, cluster))
    assert cluster.lists("nodes") == 2


def test_watches_that_end_continue_where_they_were(cluster: Cluster, follower: Follower) -> None:
    for number in range(3):
        cluster.break_off()
        cluster.change("nodes", node(number, is_ready=False))
        cluster.bookmark("nodes")
    until(is_current(follower, cluster))
    assert cluster.lists("nodes") == 1


def test_after_failures_the_watch_is_opened_again_with_pauses(cluster: Cluster, follower: Follower) -> None:
    """While no watch runs, a pull lists the nodes, so that it never returns old ones."""
    tries = list[float]()

    def fail(resource: str, _: int) -> int | None:
        if resource == "nodes":
            tries.append(time.monotonic())
        return 503 if resource == "nodes" and len(tries) <= 4 else None

    cluster.watch_fault = fail
    cluster.break_off()
    until(has_note(follower, "watch /api/v1/nodes: 503"))
    assert cluster.lists("nodes") == 2
    cluster.change("nodes", node(1, is_ready=False))
    until(lambda: len(tries) == 5)
    until(is_current(follower, cluster))


def test_pauses_grow(monkeypatch: pytest.MonkeyPatch, cluster: Cluster, follower: Follower) -> None:
    monkeypatch.setattr("random.uniform", lambda _low, high: high)
    tries = list[float]()

    def fail(resource: str, _: int) -> int | None:
        if resource == "nodes":
            tries.append(time.monotonic())
        return 500 if resource == "nodes" else None

    cluster.watch_fault = fail
    cluster.break_off()
    until(lambda: len(tries) == 5)
    pauses = [later - earlier for earlier, later in pairwise(tries)]
    assert all(pause >= 0.05 * 2**number for number, pause in enumerate(pauses))
    follower.close()


@pytest.mark.parametrize("is_event", [True, False])
def test_after_410_the_objects_are_listed_again(cluster: Cluster, follower: Follower, is_event: bool) -> None:
    if not is_event:
        cluster.watch_fault = lambda resource, _: 410 if resource == "nodes" else None
    cluster.break_off()
    cluster.objects["nodes"] = [node(number, is_ready=False) for number in range(5)]  # as no event says
    cluster.compact()
    until(is_current(follower, cluster))
    assert cluster.lists("nodes") >= 2
    cluster.watch_fault = lambda *_: None
    cluster.change("nodes", node(6))
    until(is_current(follower, cluster))


@pytest.mark.parametrize(
    "text",
    [
        *("nonsense", "3", "{}", '{"type": "ADDED"}', '{"type": "ADDED", "object": {"metadata": {}}}'),
        '{"type": "NEW", "object": {"metadata": {"name": "a", "resourceVersion": "5000"}}}',
        '{"type": "ADDED", "object": {"metadata": {"name": "\\ud800", "resourceVersion": "5000"}}}',
        '{"type": "ERROR", "object": {"code": 500, "message": "x"}}',
        '{"type": "ERROR", "object": 3}',
        "x" * (2 << 20),
    ],
    ids=range(10),
)
def test_hostile_events_change_nothing(
    cluster: Cluster, follower: Follower, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes_client, "_MAX_EVENT_BYTES", 1 << 20)
    cluster.watch_fault = lambda resource, _: text if resource == "nodes" else None
    cluster.break_off()
    until(lambda: cluster.calls.count(("WATCH", "/api/v1/nodes")) >= 2)
    until(has_note(follower, ""))
    assert is_current(follower, cluster)()


def test_without_the_permission_to_watch_each_pull_lists(cluster: Cluster, follower: Follower) -> None:
    cluster.watch_fault = lambda resource, _: 403 if resource == "nodes" else None
    cluster.break_off()
    until(has_note(follower, "watch /api/v1/nodes: 403"))
    cluster.objects["nodes"] = [node(1)]
    until(is_current(follower, cluster))


def test_a_failed_pull_reads_the_credentials_again(cluster: Cluster, follower: Follower) -> None:
    cluster.watch_fault = cluster.fault = lambda resource, _: 401 if resource == "nodes" else None
    cluster.break_off()
    with pytest.raises(DiscoveryError, match="401"):
        until(has_note(follower, "never"))
    cluster.watch_fault = cluster.fault = lambda *_: None
    assert is_current(follower, cluster)()


def test_closing_ends_all_watches(cluster: Cluster, follower: Follower) -> None:
    follower.close()
    cluster.break_off()  # the stand-in does not notice closed connections
    until(lambda: not cluster.watching)
    time.sleep(0.2)
    assert not cluster.watching


def test_a_list_without_a_version_is_not_watched(cluster: Cluster, follower: Follower) -> None:
    follower.close()
    before = len(cluster.calls)
    cluster.fault = lambda *_: '{"items": [{"metadata": {"name": "a"}}]}'
    for _ in range(2):
        assert len(follower.pull(lambda *_: None).listings[0].entries) == 1
    assert not [call for call in cluster.calls[before:] if call[0] == "WATCH"]
