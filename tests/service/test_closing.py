"""A service that is closed leaves no thread, child process, file, connection or temporary directory."""

import gc
import tempfile
import time
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from conftest import Databases
from trninv.graphql import api
from trninv.service.application import create_app
from trninv.settings import Settings

_PROCESS = Path("/proc/self")


def _left() -> dict[str, int]:
    """What this process has open; connections are files."""
    gc.collect()
    tasks = list((_PROCESS / "task").iterdir())
    return {
        "threads": len(tasks),
        "children": sum(len((task / "children").read_text().split()) for task in tasks if task.exists()),
        "files": len(list((_PROCESS / "fd").iterdir())),
        "temporary": len(list(Path(tempfile.gettempdir()).iterdir())),
    }


def _is_clean(before: dict[str, int]) -> bool:
    return all(count <= before[kind] for kind, count in _left().items())


@pytest.mark.slow_on_postgresql(cases="all")
@pytest.mark.parametrize("times", [1, pytest.param(15, marks=pytest.mark.slow)])
@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_a_service_made_and_closed_many_times_leaves_nothing(
    databases: Databases, backend: str, times: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = databases.seeded(backend)
    monkeypatch.setattr(api, "MAX_INLINE_OBJECTS", -1)  # every document runs on a loop of its own
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def serve_once() -> None:
        with TestClient(create_app(url, Settings(url)), base_url="http://127.0.0.1") as client:
            whatif = '{ whatIf(down: ["trn1.32xlarge/d0/s0/c0"]) { bisection(scope: "trn1.32xlarge") { exact } } }'
            for query in ("{ clusters { nodes { slug } } }", whatif):
                assert "errors" not in client.post("/graphql", json={"query": query}).json()
            assert client.get("/metrics").is_success
            assert client.get("/healthz").is_success

    serve_once()
    before = _left()
    for _ in range(times):
        serve_once()
    until = time.monotonic() + 5
    while not _is_clean(before) and time.monotonic() < until:  # threads end after their last work
        time.sleep(0.01)
    assert _is_clean(before), (_left(), before)
