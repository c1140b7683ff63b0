"""What drift could not compare is said: a machine whose counters nobody reports is not one that has no errors."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from drifting import MINUTES, START, alive_fleet, bound, found, keep, monitored, seeded
from sqlalchemy import Engine

from conftest import Databases, Run
from fleet_outputs import FAULTS, Outputs, machines, outputs
from trninv.database.engine import temporary_engine, write_transaction
from trninv.importers.ingestion import import_files
from trninv.reconcile.drift import UncomparedServers

pytestmark = pytest.mark.slow_on_postgresql

PLAIN = machines()[13]
DEVICES = [{"neuron_device_index": chip, "mem_ecc_uncorrected": 0} for chip in range(16)]
COUNTERS = {"neuron_hw_counters": {"neuron_devices": DEVICES}}


@pytest.fixture(params=["sqlite", "postgresql"])
def alive(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.copied(request.param, alive_fleet)) as engine:
        yield engine


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.copied(request.param, seeded)) as engine:
        yield engine


def moved_counters(chips: int = 16) -> Outputs:
    """What a fleet prints where one machine's driver has its counters of so many chips elsewhere."""
    changed = outputs(machines())
    values = changed.sysfs[PLAIN.instance]
    for chip in range(chips):
        old = f"/sys/devices/virtual/neuron_device/neuron{chip}/stats/hardware/mem_ecc_uncorrected/total"
        values[old.replace("hardware", "health")] = values.pop(old)
    return changed


def test_where_all_is_reported_all_is_compared(alive: Engine, run: Run) -> None:
    assert found(alive, START).uncompared_servers == ()
    keep(alive, outputs(machines()), datetime.now(UTC).replace(microsecond=0))
    _, out, _ = run("drift", database=alive.url.render_as_string(hide_password=False))
    assert "not compared" not in out


@pytest.mark.parametrize("chips", [1, 16])
def test_counters_that_a_driver_does_not_report_are_a_finding_until_somebody_does(alive: Engine, chips: int) -> None:
    keep(alive, moved_counters(chips), START + 10 * MINUTES, set(outputs(machines()).files()))
    made = found(alive, START + 11 * MINUTES)
    (finding,) = made.findings
    assert (finding.rule, finding.address) == ("field-missing", "trn2-16.48xlarge/d1/s0")
    assert (finding.expected, finding.observed) == ("ecc_uncorrected by neuron-sysfs", "not reported")
    assert made.uncompared_servers == (UncomparedServers("ecc-uncorrected", 1),)
    with write_transaction(alive) as connection:
        line = monitored(PLAIN.instance, system_data=COUNTERS)
        import_files(connection, "neuron-monitor", [line], taken_at=START + 12 * MINUTES)
    made = found(alive, START + 13 * MINUTES)
    assert (made.findings, made.cleared_count, made.uncompared_servers) == ((), 1, ())


def test_what_no_source_reports_is_not_compared_and_no_finding(engine: Engine, run: Run) -> None:
    fleet = machines()
    printed = outputs(fleet)
    printed.sysfs.clear()
    keep(engine, printed, datetime.now(UTC).replace(microsecond=0))
    bound(engine, fleet)
    made = found(engine, datetime.now(UTC))
    assert (made.findings, made.uncompared_servers) == ((), (UncomparedServers("ecc-uncorrected", len(fleet)),))
    _, out, _ = run("drift", database=engine.url.render_as_string(hide_password=False))
    told = (
        f"not compared: ecc-uncorrected for {len(fleet)} of {len(fleet)} servers; no current source reports the value"
    )
    assert told in " ".join(out.split())


def test_a_fleet_of_which_managers_alone_speak_has_no_chip_compared(engine: Engine) -> None:
    fleet = machines()
    printed = outputs(fleet)
    for each in (printed.sysfs, printed.devices):
        each.clear()
    keep(engine, printed, START)
    bound(engine, fleet)
    servers = len(fleet)
    assert found(engine, START).uncompared_servers == tuple(
        UncomparedServers(rule, servers)
        for rule in ("cores-wrong", "ecc-uncorrected", "memory-wrong", "neighbour-wrong")
    )


def test_what_is_documented_for_a_type_is_not_compared_where_no_source_reports_the_type(engine: Engine) -> None:
    changed = outputs(machines())
    FAULTS["numa-wrong"](changed)
    for of in (changed.sysfs, changed.instances, changed.topology, changed.nodes, changed.slices, changed.slurm):
        del of[PLAIN.instance]
    for device in changed.devices[PLAIN.instance]:
        del device["instance_type"]
    keep(engine, changed, START)
    bound(engine, machines())
    made = found(engine, START)
    assert made.findings == ()
    assert made.uncompared_servers == tuple(
        UncomparedServers(rule, 1) for rule in ("ecc-uncorrected", "efa-map-wrong", "numa-wrong")
    )
