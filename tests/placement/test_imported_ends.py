"""Imported jobs end when Slurm says: a reservation that begins later is no conflict."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from listings import HOSTS, claim, slurm, told
from sqlalchemy import Connection, Engine, text

from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import write_transaction
from trninv.errors import ConflictError, InvalidFileError
from trninv.inventory.seeding.verification import verify
from trninv.placement.allocations import job_import
from trninv.placement.allocations.job_allocations import Job, change_transaction, list_jobs
from trninv.placement.changes.reserve import reserve
from trninv.units import format_timestamp

pytestmark = pytest.mark.slow_on_postgresql
D = "u-trn2x64/d0"
NOW = int(datetime.now(UTC).timestamp())
CHIPS = "neuron:16(IDX:0-15)"


def _time(seconds: float) -> str:
    return format_timestamp(datetime.fromtimestamp(NOW, UTC) + timedelta(seconds=seconds))


def _number(value: int, *, infinite: bool = False) -> dict[str, Any]:
    return {"set": True, "infinite": infinite, "number": value}


def _only(connection: Connection, **fields: Any) -> Job:
    """The job of a listing with only one, which starts now."""
    told(connection, {"jobs": [slurm(1, HOSTS[0], CHIPS, start_time=NOW, **fields)]})
    (job,) = list_jobs(connection, None, 10)
    return job


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ({}, None),
        ({"time_limit": 60}, 3600),
        ({"time_limit": _number(60), "end_time": _number(NOW + 7200)}, 7200),  # extended
        ({"time_limit": _number(60), "end_time": _number(0)}, 3600),
        ({"time_limit": _number(0, infinite=True), "end_time": _number(NOW + 31_536_000)}, None),
        ({"time_limit": None, "end_time": NOW + 31_536_000}, None),  # 22.05
        ({"time_limit": 2**32 - 1, "end_time": NOW + 31_536_000}, None),
        ({"time_limit": {"set": False, "infinite": False, "number": 0}, "end_time": NOW + 60}, None),
        ({"time_limit": 60, "end_time": NOW + 7200, "job_state": "SUSPENDED"}, None),
        ({"time_limit": 60, "start_time": 0}, None),
    ],
)
def test_a_job_ends_as_slurm_says(engine: Engine, fields: dict[str, Any], seconds: int | None) -> None:
    with write_transaction(engine) as connection:
        start = fields.pop("start_time", NOW)
        told(connection, {"jobs": [slurm(1, HOSTS[0], CHIPS, start_time=start, **fields)]})
        (job,) = list_jobs(connection, None, 10)
    assert job.until_at == (None if seconds is None else _time(seconds))


@pytest.mark.parametrize("wrong", ["soon", -1, 2**32, 1.5, [], {"set": True, "number": "x"}])
@pytest.mark.parametrize("name", ["time_limit", "end_time"])
def test_a_time_that_is_none_is_refused(engine: Engine, name: str, wrong: object) -> None:
    if name == "end_time" and wrong == 2**32:
        return  # a time
    with engine.connect() as connection, pytest.raises(InvalidFileError) as refused:
        told(connection, {"jobs": [slurm(1, HOSTS[0], CHIPS, time_limit=5) | {name: wrong}]})
    assert name in refused.value.errors[0]


def test_a_reservation_after_the_end_is_no_conflict(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        _only(connection, time_limit=60)
        for start in _time(3599), _time(3599.999999):
            with pytest.raises(ConflictError, match="have job job1 until"):
                reserve(connection, "next", [f"{D}/s0"], from_=start, until="9h", who="me")
        reserve(connection, "next", [f"{D}/s0"], from_=_time(3600), until="9h", who="me")


def test_an_end_that_changes_is_taken_over(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        first = _only(connection, time_limit=60)
        assert _only(connection, time_limit=60) == first  # nothing is written
        later = _only(connection, time_limit=120)
        assert (later.until_at, later.name, later.external_id) == (_time(7200), "job1", "1")
        assert (later.chips, later.servers) == (first.chips, first.servers)
        assert _only(connection, time_limit=1, end_time=NOW - 1) == later  # has passed: Slurm ends it now
        endless = _only(connection)
        assert endless.until_at is None
        moved = _only(connection, time_limit=30, gres_detail=["neuron:4(IDX:0-3)"])
        assert (moved.until_at, moved.chips) == (_time(1800), 4)
        starts = connection.scalars(text("SELECT coalesce(first_started_at, started_at) FROM job")).all()
        assert set(starts) == {first.started_at}
        assert connection.scalar(text("SELECT count(*) FROM allocation WHERE ended_at IS NULL")) == 4
        actions = connection.scalars(text("SELECT action FROM state_event WHERE action IS NOT NULL ORDER BY id")).all()
        assert actions[0] == "allocate"
        assert set(actions[1:]) == {"move"}
        assert list(verify(connection, default_catalog(), default_systems())) == []


@pytest.mark.parametrize(("end", "is_changed"), [(59, False), (60, False), (61, True)])
def test_an_end_counts_if_it_is_after_the_import(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, end: int, is_changed: bool
) -> None:
    @contextmanager
    def change_in_a_minute(connection: Connection, **change: Any) -> Iterator[str]:
        with change_transaction(connection, **change):
            yield _time(60)

    with write_transaction(engine) as connection:
        first = _only(connection, time_limit=60)
        monkeypatch.setattr(job_import, "change_transaction", change_in_a_minute)
        assert (_only(connection, time_limit=60, end_time=NOW + end) != first) == is_changed


def test_claims_of_kubernetes_name_no_end(engine: Engine) -> None:
    listing = {"items": [claim("a", (HOSTS[0], "neuron-device-0"))], "kind": "List"}
    with write_transaction(engine) as connection:
        told(connection, listing, kind="kubernetes")
        assert [job.until_at for job in list_jobs(connection, None, 10)] == [None]
