"""What a health check may expect is the limit of the wiring: published numbers, an oracle, and what is down."""

import json
from fractions import Fraction

import pytest
from measuring import ALGORITHM_GB, factor, measure, report
from measuring import run as describe
from prometheus_client.parser import text_string_to_metric_families

import trninv
from conftest import Run, both_ways
from trninv.database.engine import write_transaction
from trninv.errors import InvalidArgumentError, ScopeTooLargeError, UnknownAddressError, WrongLevelError
from trninv.inventory.state.bindings import bind
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.placement_fleet import Fleet
from trninv.reconcile.latest_observations import pinned_binding
from trninv.routing.questions.expected_bandwidth import SIZES, ExpectedBandwidthAnswer, ExpectedOperation

pytestmark = pytest.mark.slow_on_postgresql
GB = 10**9
TRN2, TRN1, ULTRA = "trn2-16.48xlarge/d0/s0", "trn1.32xlarge/d0/s0", "u-trn2x64/d0"
EFA_FROM_HBM = {"efa-device": 19.3, "efa": 270}
"""Published for trn2.48xlarge, GB/s: of 25 a device and of 400 together."""


def by_operation(answer: ExpectedBandwidthAnswer, server: str = "") -> dict[str, ExpectedOperation]:
    return {each.operation: each for each in answer.operations if each.address.endswith(server)}


def take_down(fleet: Fleet, address: str) -> None:
    with write_transaction(fleet.engine) as connection:
        set_state(connection, [address], Condition("down"), why="test", who="anna")


def bind_instance(fleet: Fleet, instance: str) -> None:
    with write_transaction(fleet.engine) as connection:
        bind(connection, [pinned_binding(connection, TRN2, instance)], who="anna")


def test_published_measurements_are_possible_and_450_on_a_trn1_is_not(lite_fleet: Fleet) -> None:
    expected = by_operation(lite_fleet.expected_bandwidth(TRN2, cores_per_rank=2))
    for (operation, _), speeds in ALGORITHM_GB.items():
        limit = expected[operation]
        assert (limit.members, limit.ranks, limit.limit / GB) == (16, 64, 512)
        assert max(speeds) * GB < limit.algorithm_limit
        assert max(speeds) * factor(operation, 64) * GB < (limit.nccom_limit or 0)
    assert {name: (expected[name].limit / GB, expected[name].members) for name in EFA_FROM_HBM} == {
        "efa-device": (25, 16),
        "efa": (400, 16),
    }
    assert all(speed * GB < expected[name].limit for name, speed in EFA_FROM_HBM.items())
    trn1 = by_operation(lite_fleet.expected_bandwidth(TRN1))
    assert trn1["all-gather"].limit == 192 * GB
    assert (trn1["all-gather"].nccom_limit or 0) < 199 * GB < 450 * GB


def test_the_limits_are_those_of_collectives_and_their_arithmetic(lite_fleet: Fleet) -> None:
    answer = lite_fleet.expected_bandwidth("u-trn2x64", cores_per_rank=2, percent=60)
    assert [each.address for each in answer.operations[::5]] == [f"{ULTRA}/s{server}" for server in range(4)]
    limits = lite_fleet.collectives(f"{ULTRA}/s1")
    for name, each in by_operation(answer, "/s1").items():
        if each.ranks is None:
            continue
        assert each.limit == getattr(limits, name.replace("-", "_")).upper
        doubled = 2 if name == "all-reduce" else 1
        assert each.algorithm_limit == int(Fraction(each.limit) * 16 / 15 / doubled)
        assert each.nccom_limit == int(Fraction(each.limit) * 16 / 15 * 63 / 64)
        assert each.minimum == each.nccom_limit * 60 // 100
        for shortest, size in zip(each.times, SIZES, strict=True):
            assert shortest.size == size
            # no run can be faster than the limit, and one nanosecond less would be
            assert size * GB / shortest.time <= Fraction(each.limit) * 16 / 15 / doubled
            assert size * GB / (shortest.time - 1) > Fraction(each.limit) * 16 / 15 / doubled
    assert by_operation(answer, "/s1")["efa"].minimum == 240 * GB


def test_what_is_down_lowers_the_limits_of_its_server_alone(seeded: str) -> None:
    with trninv.open(seeded) as fleet:
        for part in ("s0/c0", "s0/efa1", "s2/c0--u-trn2x64/d0/s2/c1"):
            take_down(fleet, f"{ULTRA}/{part}")
        answer = fleet.expected_bandwidth(ULTRA)
        healthy, broken, cable = (by_operation(answer, server) for server in ("/s1", "/s0", "/s2"))
        assert (broken["all-gather"].members, broken["efa"].members) == (15, 14)  # with the device of the chip
        assert broken["efa"].limit == 350 * GB
        assert broken["all-gather"].limit < healthy["all-gather"].limit == 512 * GB
        assert cable["all-gather"].limit == 384 * GB
        scenario = fleet.what_if([f"{ULTRA}/s1/c3--{ULTRA}/s1/c7"]).expected_bandwidth(f"{ULTRA}/s1")
        assert by_operation(scenario)["all-gather"].limit < 512 * GB
        take_down(fleet, f"{ULTRA}/s3")
        assert by_operation(fleet.expected_bandwidth(f"{ULTRA}/s3")) == {}


def test_the_machine_and_its_best_run_stand_beside_the_limit(seeded: str) -> None:
    with trninv.open(seeded) as fleet:
        bind_instance(fleet, "i-0ab")
        for speed in (310.0, 387.45, 5_000.0):  # the last is impossible
            measure(seeded, (report("all-gather", "bf16", 64, [(2**30, speed)]), describe(TRN2, "all-gather")))
        expected = by_operation(fleet.expected_bandwidth(TRN2))
    assert expected["all-gather"].machine == "i-0ab"
    assert (expected["all-gather"].best or 0) / GB == pytest.approx(387.45 * 15 / 16, rel=1e-4)
    assert expected["all-reduce"].best is None


def test_what_is_refused(lite_fleet: Fleet) -> None:
    with pytest.raises(WrongLevelError, match="name a server"):
        lite_fleet.expected_bandwidth(f"{TRN2}/c0")
    with pytest.raises(UnknownAddressError):
        lite_fleet.expected_bandwidth("trn2-16.48xlarge/d1")
    with pytest.raises(InvalidArgumentError, match="8 cores, which ranks of 3"):
        lite_fleet.expected_bandwidth(TRN2, cores_per_rank=3)
    for percent in (0, 101):
        with pytest.raises(InvalidArgumentError, match="out of range"):
            lite_fleet.expected_bandwidth(TRN2, percent=percent)
    with pytest.raises(InvalidArgumentError, match="is not a choice"):
        lite_fleet.expected_bandwidth(TRN2, "iperf")


def test_too_many_servers_are_refused(lite_fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    for most in (4, 3):
        monkeypatch.setattr("trninv.routing.questions.expected_bandwidth.MAX_SERVERS", most)
        if most == 4:
            assert len(lite_fleet.expected_bandwidth(ULTRA).operations) == 20
        else:
            with pytest.raises(ScopeTooLargeError, match="more than 3 servers"):
                lite_fleet.expected_bandwidth(ULTRA)


def test_prometheus_json_and_graphql_say_the_same(lite_fleet: Fleet, run: Run) -> None:
    status, text, error = run("expected", TRN2, "--for", "nccom", "--percent", "50", "--prometheus")
    assert status == 0, error
    answer = lite_fleet.expected_bandwidth(TRN2, percent=50)
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    bus = {sample.labels["operation"]: sample.value for sample in samples if sample.labels.get("measure") == "bus"}
    assert bus == {name: each.limit for name, each in by_operation(answer).items()}
    minimum = {(s.labels["operation"], s.value) for s in samples if s.labels["measure"] == "minimum"}
    assert minimum == {(each.operation, each.minimum) for each in answer.operations}
    assert run("expected", TRN2, "--prometheus", "--format", "json")[0] == 2
    written = json.loads(run("expected", TRN2, "--percent", "50", "--format", "json")[1])["operations"]
    fields = "{ operations { operation limit { bytesPerSecond } } }"
    document = f'{{ expectedBandwidth(scope: "{TRN2}", percent: 50) {fields} }}'
    listed = both_ways(lite_fleet)(document)["data"]["expectedBandwidth"]["operations"]
    assert [(each["operation"], each["limit"]["bytesPerSecond"]) for each in written] == [
        (each["operation"], each["limit"]["bytesPerSecond"]) for each in listed
    ]
