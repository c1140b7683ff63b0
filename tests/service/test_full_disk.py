"""The disk of PostgreSQL is full: changes are refused in words, reads go on, and both go on once there is space."""

import pwd
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from full_disks import SmallDisk, needs_mount, small_disk
from starlette.testclient import TestClient

import postgres
from conftest import Run, seed_everything
from trninv.service.application import create_app
from trninv.settings import Settings

pytestmark = [pytest.mark.slow, needs_mount]

_SET = (
    'mutation {{ setState(input: {{addresses: ["u-trn2x64/d0/s0/c0", "u-trn2x64/d0/s1/c0-15"], state: {state}, '
    'who: "me", why: "{why}"}}) {{ __typename }} }}'
)


@pytest.fixture
def disk_and_url() -> Iterator[tuple[SmallDisk, str]]:
    """A server whose data are on a disk of their own."""
    with tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as directory:
        server = postgres.Server(Path(directory))
        owner = pwd.getpwnam(postgres.ordinary_user() or "")
        with small_disk(server.data, 200, f"mode=0700,uid={owner.pw_uid},gid={owner.pw_gid}") as disk:
            server.make()
            server.start()
            try:
                url = server.url.format("postgres")
                seed_everything(url)
                yield disk, url
            finally:
                disk.empty()
                server.stop()


def _events(client: TestClient) -> int:
    answer = client.post("/graphql", json={"query": "{ events(first: 1) { totalCount } }"})
    assert answer.status_code == 200
    return int(answer.json()["data"]["events"]["totalCount"])


def test_a_service_reads_on_while_the_disk_is_full(disk_and_url: tuple[SmallDisk, str], run: Run) -> None:
    disk, url = disk_and_url
    with TestClient(create_app(url, Settings(url, log="off")), base_url="http://127.0.0.1") as client:

        def change(number: int) -> tuple[int, str]:
            document = _SET.format(state="DOWN" if number % 2 else "UP", why="x" * 900 + str(number))
            answer = client.post("/graphql", json={"query": document})
            errors = answer.json().get("errors", [])
            return answer.status_code, errors[0]["extensions"]["code"] if errors else ""

        assert change(1) == (200, "")
        disk.fill()
        made = 1
        while (outcome := change(made + 1)) == (200, ""):
            made += 1
            assert made < 500
        assert outcome == (503, "DISK_FULL")
        assert client.get("/readyz").json() == {"status": "reads only", "code": "DISK_FULL"}
        assert client.get("/readyz").status_code == 200
        kept = _events(client)
        assert change(made + 1) == (503, "DISK_FULL")
        assert _events(client) == kept
        assert client.get("/chips/u-trn2x64").status_code == 200
        status, _, error = run("seed", "trn1.32xlarge", "--name", "lab", database=url)
        assert (status, "has no space left" in error, "free some; nothing changed" in error) == (1, True, True), error
        disk.empty()
        assert change(made + 1) == (200, "")
        assert client.get("/readyz").json() == {"status": "ok"}
    assert run("verify", database=url)[0] == 0
    assert run("seed", "trn1.32xlarge", "--name", "lab", database=url)[0] == 0
