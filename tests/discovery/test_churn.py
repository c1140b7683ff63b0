"""A day of changes in seconds: AWS and Kubernetes are pulled while instances start, stop and are replaced."""

import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import clouds
import kubernetes_api
import pytest
from adopting import standing
from clouds import Cloud, Machine
from kubernetes_api import Cluster
from sqlalchemy import Engine, text

from conftest import BACKENDS, Databases
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.discovery import aws_client, kubernetes_watch
from trninv.discovery.provider import all_providers
from trninv.discovery.pull import pull_target
from trninv.discovery.target import parse_target
from trninv.errors import TrninvError
from trninv.reconcile.adoption import adopt
from trninv.reconcile.findings import list_findings

pytestmark = pytest.mark.slow

AWS, KUBERNETES = parse_target("aws:us-east-2"), parse_target("kubernetes")
DOMAINS, SERVERS = 6, 4
INTERVALS = int(os.environ.get("TRNINV_TEST_INTERVALS", "14"))
"""A day has 288 intervals of five minutes."""
START_RATE, REPLACE_RATE, FAULT_RATE = 0.5, 0.5, 0.3
AWS_FAULTS = [(400, "ExpiredToken"), (503, "RequestLimitExceeded"), (500, "InternalError"), (403, "AccessDenied")]
KUBERNETES_FAULTS: list[int | str] = [410, 500, 429, 401, '{"kind": "List", "items": [{}]}', "nonsense"]


@dataclass
class World:
    """What really runs: the instance in each slot, by domain and ring position; None while a slot is empty."""

    cloud: Cloud
    cluster: Cluster
    slots: dict[tuple[int, int], str | None] = field(default_factory=dict)
    started: int = 0

    def start(self, slot: tuple[int, int]) -> None:
        domain, server = slot
        machine = Machine(f"i-{self.started:017x}", block=f"cb-{domain:017x}", nodes=("nn-1", "nn-2", f"nn-3-{domain}"))
        self.cloud.add(machine)
        node = kubernetes_api.node(self.started)
        node["metadata"]["labels"] |= {
            "topology.k8s.aws/capacity-block-id": machine.block,
            "neuron.amazonaws.com/ultraserver-server-id-4": f"us{domain:014x}",
            "neuron.amazonaws.com/ultraserver-node-id-4": str(server),
        }
        self.cluster.change("nodes", node)
        self.slots[slot] = machine.instance
        self.started += 1

    def stop(self, slot: tuple[int, int]) -> None:
        instance = self.slots[slot]
        assert instance
        del self.cloud.machines[instance]
        self.cluster.remove("nodes", kubernetes_api.node(int(instance.removeprefix("i-"), 16))["metadata"]["name"])
        self.slots[slot] = None

    def change(self, chance: random.Random) -> None:
        """Start what is stopped half of the time, stop some, and replace some at once."""
        for slot in [slot for slot, instance in self.slots.items() if not instance and chance.random() < START_RATE]:
            self.start(slot)
        running = [slot for slot, instance in self.slots.items() if instance]
        for slot in chance.sample(running, k=chance.choice((0, 1, 1, 2))):
            self.stop(slot)
            if chance.random() < REPLACE_RATE:
                self.start(slot)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[World]:
    with clouds.serving(Cloud()) as cloud, kubernetes_api.serving(Cluster()) as cluster:
        clouds.use(monkeypatch, cloud)
        kubernetes_api.use(monkeypatch, tmp_path, cluster)
        monkeypatch.setattr(aws_client, "_MAX_ATTEMPTS", 2)
        monkeypatch.setattr(kubernetes_watch, "FIRST_PAUSE_SECONDS", 0.02)
        yield World(cloud, cluster)


@pytest.fixture(params=BACKENDS)
def lab(request: pytest.FixtureRequest, databases: Databases, world: World) -> Iterator[Engine]:
    """A fleet that was adopted from the first listings."""
    for number in range(DOMAINS * SERVERS):
        world.start(divmod(number, SERVERS))
    with temporary_engine(databases.migrated(request.param)) as engine:
        for target in (AWS, KUBERNETES):
            pull_target(engine, target)
        with write_transaction(engine) as connection:
            adopt(connection, default_catalog(), default_systems(), "lab")
        yield engine


def wrong_bindings(engine: Engine, world: World, slots: dict[str, tuple[int, int]]) -> list[tuple[str, str]]:
    """Slots with an instance that runs elsewhere; a ring that fits both ways is not wrong."""
    where = {instance: slot for slot, instance in world.slots.items() if instance}
    query = "SELECT address, instance, confidence FROM binding WHERE ended_at IS NULL"
    with read_transaction(engine) as connection:
        rows = list(connection.execute(text(query)))
    assert len({row.instance for row in rows}) == len(rows)
    return [
        (row.address, row.instance)
        for row in rows
        if (slot := where.get(row.instance)) and slot != slots[row.address]
        if row.confidence != "interchangeable" or slot[0] != slots[row.address][0]
    ]


def test_a_day_of_churn(world: World, lab: Engine) -> None:
    chance = random.Random(7)
    where = {instance: slot for slot, instance in world.slots.items()}
    slots = {address: where[instance] for address, instance in standing(lab).items()}
    assert len(slots) == DOMAINS * SERVERS
    follow = all_providers()["kubernetes"].follow
    assert follow
    results = Counter[str]()
    with closing(follow(KUBERNETES)) as follower:
        for _ in range(INTERVALS):
            world.change(chance)
            set_faults(world, chance if chance.random() < FAULT_RATE else None)
            for target, kept in ((AWS, None), (KUBERNETES, follower)):
                try:
                    pull_target(lab, target, every_seconds=300, follower=kept)
                    results["imported"] += 1
                except TrninvError as error:
                    results[error.code] += 1
                assert wrong_bindings(lab, world, slots) == []
        set_faults(world, None)
        for _ in range(2):
            pull_target(lab, AWS)
            pull_target(lab, KUBERNETES, follower=follower)
    assert results["imported"] > results["DISCOVERY_FAILED"] > 0
    running = {instance for instance in world.slots.values() if instance}
    assert running <= set(standing(lab).values())
    with read_transaction(lab) as connection:
        gone = {finding.address for finding in list_findings(connection) if finding.rule == "instance-gone"}
    assert gone == {address for address, slot in slots.items() if world.slots[slot] is None}
    declared = {call.name.partition(":")[2] for call in all_providers()["aws"].api_calls()}
    assert set(world.cloud.calls) <= declared
    assert {method for method, _ in world.cluster.calls} == {"GET", "WATCH"}


def set_faults(world: World, chance: random.Random | None) -> None:
    """Have some of the next calls fail, and watches break off; None ends that."""
    world.cloud.fault = lambda *_: None
    world.cluster.fault = world.cluster.watch_fault = lambda *_: None
    if chance is None:
        return
    fault, call = chance.choice(AWS_FAULTS), chance.randrange(3)
    other = chance.choice(KUBERNETES_FAULTS)
    first = len(world.cloud.calls)
    world.cloud.fault = lambda _, number: fault if number == first + 1 + call else None
    world.cluster.fault = world.cluster.watch_fault = lambda resource, _: other if resource == "nodes" else None
    if chance.random() < 0.3:
        world.cluster.compact()
    world.cluster.break_off()
