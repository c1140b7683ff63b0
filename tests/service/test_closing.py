"""A service that is closed leaves no thread, file or connection."""

import gc
import threading
import time
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from conftest import Databases
from trninv.graphql import api
from trninv.service.application import create_app
from trninv.settings import Settings

_TIMES = 20


def _left() -> tuple[int, int]:
    """Threads and open files of this process."""
    gc.collect()
    return threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))


def _is_clean(before: tuple[int, int]) -> bool:
    return all(now <= then for now, then in zip(_left(), before, strict=True))


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_a_service_made_and_closed_many_times_leaves_nothing(
    databases: Databases, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "MAX_INLINE_OBJECTS", -1)  # every document runs on a loop of its own
    url = databases.seeded(backend)

    def serve_once() -> None:
        with TestClient(create_app(url, Settings(url)), base_url="http://127.0.0.1") as client:
            whatif = '{ whatIf(down: ["trn1.32xlarge/d0/s0/c0"]) { bisection(scope: "trn1.32xlarge") { exact } } }'
            for query in ("{ clusters { nodes { slug } } }", whatif):
                assert "errors" not in client.post("/graphql", json={"query": query}).json()
            assert client.get("/metrics").is_success
            assert client.get("/healthz").is_success

    serve_once()
    before = _left()
    for _ in range(_TIMES):
        serve_once()
    until = time.monotonic() + 5
    while not _is_clean(before) and time.monotonic() < until:  # threads end after their last work
        time.sleep(0.01)
    assert _is_clean(before), (_left(), before)
