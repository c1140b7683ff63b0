"""Measurements are compared with the wiring of their time: truth of public sweeps, history, and chips that are gone."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measuring import ALGORITHM_GB, SIZES, factor, measure, report, run, seed
from sqlalchemy import func, select, update

import trninv
from conftest import BACKENDS, Databases, examples
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.drawing.measurement_chart import draw_measurements
from trninv.errors import DatabaseError, InvalidFileError, UnknownAddressError
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.seeding.cluster_seeding import unseed
from trninv.inventory.state.bindings import bind, unbind
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.reconcile.latest_observations import pinned_binding
from trninv.routing.measurement_rows import BrokenAssumption, broken_assumption
from trninv.units import current_timestamp

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

GB = 10**9
TRN2, TRN1 = "trn2-16.48xlarge/d0/s0", "trn1.32xlarge/d0/s0"


@pytest.fixture(params=BACKENDS)
def url(request: pytest.FixtureRequest, databases: Databases) -> Iterator[str]:
    copy = databases.copied(request.param, seed)
    yield copy
    databases.drop(copy)


def one(
    url: str, operation: str, speed: float, host: str = TRN2, ranks: int = 64, size: int = 2**30, at: str = ""
) -> None:
    content = report(operation, "bf16", ranks, [(size, speed)])
    measure(url, (content, run(host, operation, ranks, 2 if host != TRN1 else 1, at)))


def set_link(url: str, link: str, state: str, factor: float | None = None) -> None:
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        set_state(connection, [link], Condition.from_user(state, factor), why="test", who="anna", source="command")


def test_the_public_sweep_reaches_its_published_shares(url: str) -> None:
    files = [
        (report(operation, data_type, 64, zip(SIZES, speeds, strict=True)), run(TRN2, operation))
        for (operation, data_type), speeds in ALGORITHM_GB.items()
    ]
    assert [(result.measurements, result.impossible) for result in measure(url, *files)] == [(4, 0)] * 6
    with trninv.open(url) as fleet:
        answer = fleet.measured_bandwidth("trn2-16.48xlarge")
    assert (answer.runs_size, answer.impossible, answer.truncated) == (24, 0, False)
    assert {run.limit for run in answer.runs} == {512 * GB}
    shares = {(run.operation, run.data_type): round((run.share or 0) * 100) for run in answer.best()}
    assert {name: shares[name, "bf16"] for name in ("all-gather", "all-reduce", "reduce-scatter")} == {
        "all-gather": 71,
        "all-reduce": 61,
        "reduce-scatter": 51,
    }
    svg = draw_measurements(answer).to_file()
    assert svg.count("<circle") == 24
    assert svg.count("<polyline") == 6


def test_450_gb_on_a_trn1_is_impossible(url: str) -> None:
    one(url, "all-gather", 450 * 16 / 15, TRN1, ranks=32)
    with trninv.open(url) as fleet:
        answer = fleet.measured_bandwidth(TRN1)
    (run_,) = answer.runs
    assert run_.bandwidth / GB == pytest.approx(450)
    assert run_.limit == 192 * GB
    assert run_.breaks is BrokenAssumption.RANKS
    svg = draw_measurements(answer).to_file()
    assert svg.count("<circle") == 1
    assert 'points=""' in svg  # no line leads to what is impossible


def test_transfers_over_efa(url: str) -> None:
    table = (
        b"from,to,bytes,seconds\n"
        b"u-trn2x64/d0/s0/efa0,u-trn2x64/d0/s1/efa0,19300000000,1\n"
        b"u-trn2x64/d0/s0/c0,u-trn2x64/d0/s0/c1,1000000000,0.01\n"
    )
    measure(url, (table, {}), kind="bandwidth")
    with trninv.open(url) as fleet:
        inner, efa = sorted(fleet.measured_bandwidth("u-trn2x64/d0/s0").runs, key=lambda run: run.address)
        assert inner.limit == fleet.bandwidth("u-trn2x64/d0/s0/c0", "u-trn2x64/d0/s0/c1").maximum_flow
        assert fleet.measured_bandwidth("u-trn2x64/d0/s1").runs == ()
    assert (efa.limit, efa.share) == (25 * GB, 0.772)


def test_the_limit_is_that_of_the_wiring_at_the_time(url: str) -> None:
    before = current_timestamp()
    set_link(url, f"{TRN2}/c0--{TRN2}/c1", "down")
    one(url, "all-gather", 300)
    one(url, "all-gather", 301, at=before)
    set_link(url, f"{TRN2}/c0--{TRN2}/c1", "up")
    with trninv.open(url) as fleet:
        damaged, healthy = fleet.measured_bandwidth(TRN2).runs
        for run_ in (damaged, healthy):
            assert run_.limit == fleet.at(run_.event).collectives(TRN2).all_gather.upper
        assert (damaged.limit, healthy.limit) == (384 * GB, 512 * GB)
        assert fleet.at(before).measured_bandwidth(TRN2).runs == (healthy,)


def test_fewer_ranks_run_on_the_first_chips(url: str) -> None:
    one(url, "all-gather", 100, ranks=8)
    with trninv.open(url) as fleet:
        (run_,) = fleet.measured_bandwidth(TRN2).runs
        pair = fleet.collectives(TRN2, [f"{TRN2}/c0", f"{TRN2}/c1"])
    assert (run_.chips, run_.limit) == (2, pair.all_gather.upper)
    assert run_.bandwidth / GB == pytest.approx(50)


def test_a_chip_alone_and_other_operations_have_no_limit(url: str) -> None:
    one(url, "all-gather", 100, ranks=4)
    one(url, "all-to-all", 100)
    with trninv.open(url) as fleet:
        runs = fleet.measured_bandwidth(TRN2).runs
    assert [(run_.chips, run_.limit, run_.share, run_.breaks) for run_ in runs] == [
        (16, None, None, None),
        (1, None, None, None),
    ]


def test_several_servers_share_the_ranks(url: str) -> None:
    servers = ("u-trn2x64/d0/s0", "u-trn2x64/d0/s1")
    described = run("", "all-reduce", 128) | {"hosts": servers}
    measure(url, (report("all-reduce", "bf16", 128, [(2**30, 100.0)]), described))
    with trninv.open(url) as fleet:
        (run_,) = fleet.measured_bandwidth("u-trn2x64").runs
        limit = fleet.collectives("u-trn2x64", servers).all_reduce.upper
    assert (run_.address, run_.chips, run_.limit, run_.machine) == ("u-trn2x64/d0", 32, limit, None)


def test_the_machine_is_the_one_bound_at_the_time(url: str) -> None:
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        bind(connection, [pinned_binding(connection, TRN2, "i-0a")], who="anna")
    one(url, "all-gather", 300, host="i-0A")
    one(url, "all-gather", 301, host="@i-0a")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        unbind(connection, TRN2, who="anna")
    with pytest.raises(InvalidFileError) as refused:
        one(url, "all-gather", 302, host="i-0a")
    assert refused.value.errors == [
        "0.json: no instance or host i-0a is bound to a slot: trninv bindings lists those that are"
    ]
    with trninv.open(url) as fleet:
        assert [run_.machine for run_ in fleet.measured_bandwidth(TRN2).runs] == ["i-0a", "i-0a"]


def test_chips_that_were_recorded_as_down_leave_no_limit(url: str) -> None:
    set_link(url, f"{TRN2}/c3", "down")
    results = measure(url, (report("all-gather", "bf16", 64, [(2**30, 300.0)]), run(TRN2, "all-gather")))
    assert results[0].notes == (
        f"{TRN2}: no limit, because 15 of its 16 chips were recorded as healthy at that moment",
    )
    with trninv.open(url) as fleet:
        assert fleet.measured_bandwidth(TRN2).runs[0].limit is None


def test_a_cluster_that_is_gone_keeps_no_measurements_for_its_successor(url: str) -> None:
    one(url, "all-gather", 300)
    with temporary_engine(url) as engine:
        with write_transaction(engine) as connection:
            unseed(connection, resolve_place(connection, "trn2-16.48xlarge").id)
        with pytest.raises(InvalidFileError, match="1 error"):
            one(url, "all-gather", 301)
        with trninv.open(url) as fleet, pytest.raises(UnknownAddressError):
            fleet.measured_bandwidth(TRN2)
    set_link(url, f"{TRN1}/c0", "down")  # an event between the two clusters
    seed(url, ["trn2-16.48xlarge"])
    one(url, "all-gather", 302)
    with trninv.open(url) as fleet:
        assert [round(run_.bandwidth / GB * 16 / 15) for run_ in fleet.measured_bandwidth(TRN2).runs] == [302]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hosts": ("trn2-16.48xlarge",)}, "no instance or host trn2-16.48xlarge is bound"),
        ({"hosts": ("trn2-16.48xlarge/d0",)}, "is a domain; name the server"),
        ({"hosts": (TRN2, TRN1)}, "several clusters"),
        ({"ranks": 128}, "128 ranks of 2 cores need 32 chips"),
        ({"cores_per_rank": 3}, "a chip of trn2-16.48xlarge/d0/s0 has 8 cores, which ranks of 3 do not fill"),
        ({"cores_per_rank": 16}, "do not fill"),
        ({"measured_at": "2100-01-01T00:00:00Z"}, "in the future"),
        ({"measured_at": "2000-01-01T00:00:00Z"}, "history"),
        ({"measured_at": "yesterday"}, "write a time with its zone"),
        ({"measured_at": 5}, "is not text"),
    ],
)
def test_runs_that_cannot_be(url: str, change: dict[str, object], message: str) -> None:
    described = run(TRN2, "all-gather") | change
    content = report("all-gather", "bf16", int(str(described["ranks"])), [(2**30, 300.0)])
    with pytest.raises(InvalidFileError) as refused:
        measure(url, (content, described))
    assert message in refused.value.errors[0]
    with trninv.open(url) as fleet, fleet.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(TABLES["measurement"])) == 0


def test_one_bad_file_stores_nothing_and_equal_content_is_stored_once(url: str) -> None:
    good = report("all-gather", "bf16", 64, [(2**30, 300.0)]), run(TRN2, "all-gather")
    with pytest.raises(InvalidFileError) as refused:
        measure(url, good, (b"{}", run(TRN2, "all-gather")), (b"", run("x/d0/s0", "all-gather")))
    assert [error.partition(":")[0] for error in refused.value.errors] == ["1.json", "2.json", "2.json"]
    assert [result.is_duplicate for result in measure(url, good, good)] == [False, True]
    assert [result.is_duplicate for result in measure(url, good)] == [True]
    other_run = good[0], run(TRN2, "all-gather", cores=1)
    assert [result.is_duplicate for result in measure(url, other_run)] == [False]
    table = b"from,to,bytes,seconds\nu-trn2x64/d0/s0,u-trn2x64/d0/s9,1,1\n,,,\n"
    with pytest.raises(InvalidFileError) as refused:
        measure(url, (table, {}), kind="bandwidth")
    assert len(refused.value.errors) == 3


def test_rows_are_append_only(url: str) -> None:
    one(url, "all-gather", 300)
    with (
        temporary_engine(url) as engine,
        pytest.raises(DatabaseError, match="append only"),
        write_transaction(engine) as connection,
    ):
        connection.execute(update(TABLES["measurement"]).values(chips=1))


def test_newest_first_and_truncated(url: str) -> None:
    for speed in (300, 310, 320):
        one(url, "all-gather", speed)
    with trninv.open(url) as fleet:
        answer = fleet.measured_bandwidth(TRN2, last=2)
    assert [round(run_.bandwidth / GB * 16 / 15) for run_ in answer.runs] == [320, 310]
    assert (answer.runs_size, answer.truncated) == (3, True)


@examples(300)
@given(st.integers(1, 10**13), st.integers(0, 10**12) | st.none(), st.integers(2, 256) | st.none())
def test_an_assumption_breaks_exactly_above_the_limit(bandwidth: int, limit: int | None, ranks: int | None) -> None:
    broken = broken_assumption(bandwidth, limit, ranks)
    assert (broken is not None) == (limit is not None and bandwidth > limit)
    if broken and limit:
        assert (broken is BrokenAssumption.DIRECTION) == (1.074 * limit < bandwidth <= 2 * limit)


def test_assumptions_at_their_bounds() -> None:
    assert broken_assumption(100, 100, 8) is None
    assert broken_assumption(101, 100, 8) is BrokenAssumption.UNITS
    assert broken_assumption(107, 100, 8) is BrokenAssumption.UNITS
    assert broken_assumption(108, 100, 8) is BrokenAssumption.DIRECTION
    assert broken_assumption(200, 100, 8) is BrokenAssumption.DIRECTION
    assert broken_assumption(201, 100, 8) is BrokenAssumption.RANKS
    assert broken_assumption(800, 100, 8) is BrokenAssumption.RANKS
    assert broken_assumption(801, 100, 8) is BrokenAssumption.UNITS
    assert broken_assumption(201, 100, None) is BrokenAssumption.UNITS
    assert broken_assumption(1, 0, 8) is BrokenAssumption.PATH


def test_the_chips_own_formula(url: str) -> None:
    for operation in ("all-gather", "all-reduce", "reduce-scatter"):
        one(url, operation, 123.456)
    with trninv.open(url) as fleet:
        for run_ in fleet.measured_bandwidth(TRN2).runs:
            assert run_.bandwidth / GB == pytest.approx(123.456 * factor(run_.operation, 16), rel=1e-6)
