"""Many machines report to a real service at once; it is killed in between, and nothing that it answered is lost."""

import http.client
import json
import signal
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Event, Lock
from urllib.parse import urlsplit

import pytest
from printed import neuron_ls
from sqlalchemy import func, select

from conftest import BACKENDS, Databases
from serving import is_running, serving, workers
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.inventory.access.bearer_tokens import issue_tokens

pytestmark = pytest.mark.slow

MACHINES, THREADS = 240, 24


def observation(machine: int) -> bytes:
    return json.dumps({"host": f"n{machine}", "neuron_ls": neuron_ls(name(machine)), "sysfs": {}}).encode()


def name(machine: int) -> str:
    return f"i-{machine:017x}"


def made_tokens(url: str) -> list[str]:
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        names = [name(machine) for machine in range(MACHINES)]
        return [issued.token for issued in issue_tokens(connection, names, "observe", None, who="test")]


def stored(url: str) -> dict[str, int]:
    """Return the number of chips of each instance that has an observation."""
    chip, server = TABLES["observed_chip"], TABLES["observed_server"]
    query = select(server.c.instance, func.count()).join(chip, chip.c.observed_server_id == server.c.id)
    with temporary_engine(url) as engine, read_transaction(engine) as connection:
        chips = {row[0]: row[1] for row in connection.execute(query.group_by(server.c.instance))}
        assert connection.scalar(select(func.count()).select_from(TABLES["observation"])) == len(chips)
    return chips


class Storm:
    """Machines that post over several connections; a machine whose post fails goes home."""

    def __init__(self, url: str, tokens: Sequence[str]) -> None:
        self._address, self._tokens = urlsplit(url).netloc, tokens
        self._machines, self._lock = iter(range(MACHINES)), Lock()
        self.answered, self.some_answered = dict[str, bool](), Event()

    def run(self) -> None:
        with ThreadPoolExecutor(THREADS) as threads:
            for future in [threads.submit(self._post_all) for _ in range(THREADS)]:
                future.result()

    def _post_all(self) -> None:
        with closing(http.client.HTTPConnection(self._address, timeout=60)) as connection:
            while (machine := self._next_machine()) is not None:
                headers = {"Authorization": f"Bearer {self._tokens[machine]}", "Content-Type": "application/json"}
                try:
                    connection.request("POST", "/observations", observation(machine), headers)
                    response = connection.getresponse()
                    answer = json.loads(response.read())
                except (OSError, http.client.HTTPException):  # the service was killed
                    return
                assert response.status == 202, answer
                with self._lock:
                    self.answered[name(machine)] = answer["isKnown"]
                    if len(self.answered) >= MACHINES // 4:
                        self.some_answered.set()

    def _next_machine(self) -> int | None:
        with self._lock:
            return next(self._machines, None)


@pytest.mark.parametrize(("backend", "number"), [*((backend, 1) for backend in BACKENDS), ("postgresql", 4)])
def test_what_was_answered_is_there_after_a_kill(databases: Databases, backend: str, number: int) -> None:
    url = databases.migrated(backend)
    tokens, processes = made_tokens(url), list[subprocess.Popen[bytes]]()
    options = ("--workers", str(number))
    with serving(url, begun=processes.append, options=options, TRNINV_AUTH="tokens", TRNINV_LOG="off") as service:
        storm = Storm(service, tokens)
        with ThreadPoolExecutor(1) as thread:
            running = thread.submit(storm.run)
            assert storm.some_answered.wait(60)
            children = workers(processes[0].pid)
            assert len(children) == (number if number > 1 else 0)
            processes[0].send_signal(signal.SIGKILL)
            running.result()
        end = time.monotonic() + 60
        while any(map(is_running, children)):
            assert time.monotonic() < end, "a worker goes on without its parent"
            time.sleep(0.1)
    kept = stored(url)
    assert storm.answered.keys() <= kept.keys()
    assert set(kept.values()) == {16}
    assert not any(storm.answered.values())
    with serving(url, TRNINV_AUTH="tokens", TRNINV_LOG="off") as service:
        again = Storm(service, tokens)
        again.run()
    # a batch that was being committed during the kill is durable too, though nobody was told
    assert kept.keys() <= {machine for machine, is_known in again.answered.items() if is_known}
    assert stored(url) == {name(machine): 16 for machine in range(MACHINES)}


def test_workers_share_a_storm(databases: Databases) -> None:
    """Two processes of one service store batches of one fleet on each database."""
    for backend in BACKENDS:
        url = databases.migrated(backend)
        tokens = made_tokens(url)
        first, second = (serving(url, TRNINV_AUTH="tokens", TRNINV_LOG="off") for _ in range(2))
        with first as one, second as other:
            storms = [Storm(one, tokens), Storm(other, tokens)]
            with ThreadPoolExecutor(2) as threads:
                for future in [threads.submit(storm.run) for storm in storms]:
                    future.result()
        assert [len(storm.answered) for storm in storms] == [MACHINES] * 2
        twice = zip(*(storm.answered.values() for storm in storms), strict=True)
        assert sum(map(sum, twice)) == MACHINES  # the second report of each was known
        assert stored(url) == {name(machine): 16 for machine in range(MACHINES)}
