"""Each rule of drift finds its own fault in a whole fleet, and nothing where all is well, on both databases."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import BytesIO

import pytest
from fleet_outputs import FAULTS, NEW, Machine, Outputs, machines, outputs
from sqlalchemy import Engine, insert, select, update

from conftest import Databases
from trninv.catalog.facts import catalog
from trninv.catalog.models import systems
from trninv.importers.observation import File, observe
from trninv.inventory import migrate, stamp
from trninv.inventory.address import resolve
from trninv.inventory.database import connect, writing
from trninv.inventory.rules import RULES
from trninv.inventory.schema import TABLES
from trninv.inventory.state import Condition, set_state
from trninv.live.drift import Drift, drift
from trninv.live.rules import CHIP, COMPARES, DOMAIN, FLEET, SERVER

FLEET_OF = {"u-trn2x64": 3, "trn2-16.48xlarge": 4, "trn1.32xlarge": 2}
START = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=2)
MINUTES = timedelta(minutes=1)


def _seeded(url: str) -> None:
    with connect(url) as engine:
        migrate.migrate(engine)
        with writing(engine) as connection:
            for slug, domains in FLEET_OF.items():
                stamp.seed(connection, catalog(), systems().get(slug).resized(domains), slug)


def _alive(url: str) -> None:
    """A fleet that is bound, and of which all is well."""
    _seeded(url)
    fleet = machines()
    with connect(url) as engine:
        keep(engine, outputs(fleet), START)
        bound(engine, fleet, START + MINUTES)


@pytest.fixture(params=["sqlite", "postgresql"])
def alive(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    with connect(databases._copied(request.param, _alive)) as engine:
        yield engine


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    with connect(databases._copied(request.param, _seeded)) as engine:
        yield engine


def keep(engine: Engine, of: Outputs, at: datetime) -> None:
    """Import everything that a fleet prints."""
    by_kind: dict[str, list[File]] = {}
    for name, content in of.files():
        kind, _, file = name.partition("/")
        by_kind.setdefault(kind, []).append(File(file, BytesIO(content.encode())))
    with writing(engine) as connection:
        for kind, files in by_kind.items():
            observe(connection, kind, files, taken_at=at)


def bound(engine: Engine, fleet: list[Machine], at: datetime) -> None:
    with writing(engine) as connection:
        for number, machine in enumerate(fleet, 1):
            address = f"{machine.system}/d{machine.domain}/s{machine.position}"
            values = {"id": number, "server_id": resolve(connection, address).id, "address": address}
            values |= {"instance": machine.instance, "host": machine.host, "since": at.isoformat(timespec="seconds")}
            connection.execute(insert(TABLES["binding"]).values(**values, how="pin", confidence="certain", who="tests"))


def found(engine: Engine, at: datetime, **more: bool) -> Drift:
    with writing(engine) as connection:
        return drift(connection, now=at, **more)


def rules(of: Drift) -> list[str]:
    return [finding.rule for finding in of.findings]


def test_every_rule_is_declared_once_and_has_a_fault() -> None:
    asked = [*CHIP.rules, *SERVER.rules, *DOMAIN.rules, *FLEET.rules]
    assert sorted(asked) == sorted(COMPARES) == sorted(RULES)
    assert sorted([*FAULTS, "stale"]) == sorted(RULES)


def replace(engine: Engine, at: datetime) -> None:
    """What binding does where another instance has the place of one that is bound."""
    binding, now = TABLES["binding"], at.isoformat(timespec="seconds")
    old = binding.c.instance == machines()[1].instance
    with writing(engine) as connection:
        row = connection.execute(select(binding).where(old)).mappings().one()
        connection.execute(update(binding).where(old).values(until=now, ending="replaced", ended_by="tests"))
        new = {"id": 99, "instance": NEW.instance, "host": NEW.host, "since": now}
        connection.execute(insert(binding).values(**{**row, **new}))


def faulty(engine: Engine, rule: str, at: datetime) -> None:
    """Import what the fleet prints with a fault."""
    changed = outputs(machines())
    FAULTS[rule](changed)
    keep(engine, changed, at)


@pytest.mark.parametrize("rule", sorted(FAULTS.keys() - {"server-unbound"}))
def test_a_rule_finds_its_fault_and_no_other_does(alive: Engine, rule: str) -> None:
    faulty(alive, rule, START + 10 * MINUTES)
    if rule == "instance-replaced":
        replace(alive, START + 11 * MINUTES)
    made = found(alive, START + 20 * MINUTES)
    assert set(rules(made)) == {rule}
    assert {finding.severity for finding in made.findings} == {RULES[rule].severity}


def test_where_all_is_well_nothing_is_found_until_it_is_stale(alive: Engine) -> None:
    assert found(alive, START + 60 * MINUTES).findings == ()
    made = found(alive, START + 61 * MINUTES)
    assert set(rules(made)) == {"stale"}
    assert (made.new, made.cleared) == (len(machines()), 0)


def test_a_slot_without_an_instance_is_unbound_unless_it_is_out_of_service(engine: Engine) -> None:
    fleet = [machine for machine in machines() if machine.number != 17]
    keep(engine, outputs(fleet), START)
    bound(engine, fleet, START)
    (finding,) = found(engine, START).findings
    assert (finding.rule, finding.address) == ("server-unbound", "trn1.32xlarge/d1/s0")
    with writing(engine) as connection:
        set_state(connection, ["trn1.32xlarge/d1/s0"], Condition("down"), why="none there", who="tests")
    assert found(engine, START).findings == ()
