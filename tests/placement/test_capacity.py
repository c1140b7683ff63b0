"""What is left when parts fail: draws against closed forms, the same figures for any number of workers."""

import signal
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from math import comb, exp, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import trninv
from conftest import Databases, Run
from graphs import seed_clusters
from trninv.cli.question_commands import dask_executor
from trninv.database.engine import write_transaction
from trninv.errors import InvalidArgumentError
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.capacity_estimate import CapacityEstimate
from trninv.placement.placement_fleet import Fleet
from trninv.placement.questions import find
from trninv.solvers.survival import sample_failures, spares_needed

pytestmark = pytest.mark.slow_on_postgresql

if TYPE_CHECKING:
    import subprocess

KINDS = {"chip": 0.02, "server": 0.03, "rack": 0.04}


def rates(**likely: float) -> str:
    """Such that each kind is down so likely at any time."""
    return "".join(f"[{kind}]\nmtbf_hours = {(1 - u) / u!r}\nmttr_hours = 1\n" for kind, u in likely.items())


def closed(chips: int, servers: int, racks: int) -> float:
    return prod((1 - KINDS[kind]) ** count for kind, count in (("chip", chips), ("server", servers), ("rack", racks)))


def by_size(figures: tuple[CapacityEstimate, ...]) -> dict[int | None, CapacityEstimate]:
    return {each.job_chips: each for each in figures}


def test_draws_are_within_four_standard_errors_of_closed_forms(lite_fleet: Fleet) -> None:
    answer = lite_fleet.capacity("u-trn2x64", rates(**KINDS), samples=6_000, seed=11)
    assert answer.domain_probability == pytest.approx(closed(64, 4, 2))
    sizes = by_size(answer.sizes)
    assert sizes[64].exact
    assert sizes[64].mean == pytest.approx(64 * closed(64, 4, 2))
    assert sizes[32].exact
    assert sizes[32].mean == pytest.approx(64 * closed(32, 2, 1))
    for size, servers, racks in ((1, 1, 1), (4, 1, 1), (8, 1, 1), (16, 1, 1)):
        found = sizes[size]
        assert found.standard_error
        assert abs(found.mean - 64 * closed(size, servers, racks)) < 4 * found.standard_error
    again = lite_fleet.capacity("u-trn2x64", rates(**KINDS), samples=6_000, seed=11)
    assert again == answer
    assert lite_fleet.capacity("u-trn2x64", rates(**KINDS), samples=6_000, seed=12) != answer


def test_how_many_are_drawn_is_told(lite_fleet: Fleet) -> None:
    told = list[tuple[object, ...]]()
    lite_fleet.ask(
        find("capacity"),
        scope="u-trn2x64",
        rates=rates(**KINDS),
        samples=5_000,
        progress=lambda *each: told.append(each),
    )
    assert told[-1] == ("samples", 5_000, 5_000)


def test_what_is_drawn_has_the_binomials_mean_and_percentiles(databases: Databases) -> None:
    """Racks of one domain alone: whole domains are exact, and jobs of 16 are drawn because servers fail in racks."""
    with trninv.open(seed_clusters(databases.migrated("sqlite"), {"u-trn2x64": 30})) as own:
        answer = own.capacity("c-u-trn2x64", rates(chip=0.001), samples=4_000)
        likely = 0.999**64
        assert answer.samples == 0
        assert answer.domains.mean == pytest.approx(30 * likely)
        below = np.cumsum([comb(30, k) * likely**k * (1 - likely) ** (30 - k) for k in range(31)])
        parts = [int(np.searchsorted(below, part)) for part in (0.05, 0.5, 0.95)]
        assert [answer.domains.p5, answer.domains.p50, answer.domains.p95] == parts
        pairs = own.capacity("c-u-trn2x64", rates(server=0.02), samples=4_000)
        eights, sixteens = (by_size(pairs.sizes)[size] for size in (8, 16))
        assert (eights.exact, sixteens.exact) == (False, True)
        assert abs(eights.mean - sixteens.mean) < 4 * (eights.standard_error or 0)
        assert abs(eights.p5 - sixteens.p5) <= 32
        need = [each.spares for each in answer.spares]
        assert need == [spares_needed(n, likely, 0.99, 10**6) for n in (1, 10)]


@pytest.mark.parametrize(("count", "likely"), [(10, 0.9), (100, 0.952), (1, 0.5), (3, 1.0)])
def test_spares_are_the_fewest(count: int, likely: float) -> None:
    def enough(more: int) -> bool:
        n = count + more
        return sum(comb(n, k) * likely**k * (1 - likely) ** (n - k) for k in range(count, n + 1)) >= 0.99

    found = spares_needed(count, likely, 0.99, 10**6)
    assert found is not None
    assert enough(found)
    assert not found or not enough(found - 1)
    assert spares_needed(10, 0.001, 0.99, 100) is None
    need = spares_needed(10, 0.7, 0.99, 10**6)
    assert need == 11  # not a power of two
    assert [spares_needed(10, 0.7, 0.99, limit) for limit in (need, need - 1)] == [need, None]


def test_parts_fail_one_by_one() -> None:
    found = np.concatenate([sample_failures(np.random.default_rng(seed), 1_000, 0.3) for seed in range(200)])
    assert abs(len(found) - 60_000) < 4 * (200_000 * 0.3 * 0.7) ** 0.5
    times = np.bincount(found, minlength=1_000)
    assert len(times) == 1_000
    assert abs(times[0] - 60) < 4 * 42**0.5 > abs(times[-1] - 60)
    assert len(sample_failures(np.random.default_rng(0), 1_000, 1.0)) == 1_000
    assert len(sample_failures(np.random.default_rng(0), 1_000, 0.0)) == 0


def test_links_switches_and_nics_take_along_what_needs_them(lite_fleet: Fleet) -> None:
    links = by_size(lite_fleet.capacity("u-trn2x64", rates(link=0.01)).sizes)
    assert links[1].mean == 64
    assert links[4].mean == pytest.approx(64 * 0.99**4)
    assert links[16].mean == pytest.approx(64 * 0.99**32)
    nics = lite_fleet.capacity("u-trn2x64", rates(nic=0.01))
    assert by_size(nics.sizes)[64].mean == 64
    assert nics.domains.mean == pytest.approx(0.99**64)
    switched = lite_fleet.capacity("trn3-gen2", rates(switch=0.5), samples=500)
    assert by_size(switched.sizes)[1].mean == 144
    assert by_size(switched.sizes)[4].mean < 100


def test_two_readings_and_two_beginnings(seeded: str) -> None:
    with trninv.open(seeded) as own:
        text = "[chip]\nmtbf_hours = 1000\n"
        mission = own.capacity("u-trn2x64", text, mission=100)
        assert mission.domain_probability == pytest.approx(exp(-0.1) ** 64)
        assert (mission.rates[0].mtbf_hours, mission.mission_hours) == (1000, 100)
        with pytest.raises(InvalidArgumentError, match="mttr_hours"):
            own.capacity("u-trn2x64", text)
        with write_transaction(own.engine) as connection:
            set_state(connection, ["u-trn2x64/d0/s0/c0"], Condition("down"), why="x", who="me")
        now = own.capacity("u-trn2x64", text, mission=1)
        new = own.capacity("u-trn2x64", text, mission=1, start="new")
        assert ([each.chips for each in now.sizes], now.domains.chips) == ([63, 60, 56, 48, 32, 0], 0)
        assert ({each.chips for each in new.sizes}, new.domains.chips) == ({64}, 1)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "no document states failure rates"),
        ("", "add a table"),
        ("chip = 1", "give mtbf_hours"),
        ("[chip]\nmttr_hours = 1", "give mtbf_hours"),
        ("[fan]\nmtbf_hours = 1", "'fan'"),
        ("[chip]\nmtbf_hours = 0\nmttr_hours = 1", "at least 1e-09"),
        ("[chip]\nmtbf_hours = nan\nmttr_hours = 1", "at least 1e-09"),
        ("[chip]\nmtbf_hours = 9e-10\nmttr_hours = 1", "at least 1e-09"),
        ("[chip]\nmtbf_hours = true\nmttr_hours = 1", "at least 1e-09"),
        ("[chip]\nmtbf_hours = 1e308\nmttr_hours = 1e308", "at most 1,000,000,000,000"),
        (f"[chip]\nmtbf_hours = {'9' * 400}\nmttr_hours = 1", "at most 1,000,000,000,000"),
        (f"[chip]\nmtbf_hours = {'9' * 5_000}", "too many digits"),
        (f"a = {'[' * 4_990}{']' * 4_990}", "nested"),
        ("[chip", "rates: "),
        ("#" * 10_001, "10,000 are allowed"),
        ("[chip]\nmtbf_hours = 1\nmttr_hours = 1\nx = 1", "give mtbf_hours"),
    ],
)
def test_rates_are_the_users_and_have_no_default(lite_fleet: Fleet, text: str, says: str) -> None:
    with pytest.raises(InvalidArgumentError, match=says):
        lite_fleet.capacity("u-trn2x64", text)


def test_any_number_of_workers_gives_the_same_figures(lite_fleet: Fleet) -> None:
    asked = {"scope": "u-trn2x64", "rates": rates(**KINDS), "samples": 1_500}
    alone = lite_fleet.capacity(**asked)  # type: ignore[arg-type] # by name
    with ProcessPoolExecutor(2) as two:
        assert lite_fleet.capacity(**asked, executor=two) == alone  # type: ignore[arg-type] # as above
    with pytest.raises(InvalidArgumentError, match="--workers"):
        lite_fleet.capacity("u-trn2x64", rates(**KINDS), samples=30_000)


def test_the_command_reads_a_file_and_repeats_the_rates(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "rates.toml"
    file.write_text(rates(chip=0.01))
    status, printed, _ = run("capacity", "u-trn2x64", "--rates", str(file), "--gang", "3")
    assert status == 0
    assert "\nchip    99        1         0.01\n" in printed
    assert run("capacity", "u-trn2x64")[0] == 2
    assert run("capacity", "u-trn2x64", "--rates", str(tmp_path / "none"))[0] == 2
    assert run("capacity", "u-trn2x64", "--rates", str(tmp_path))[0] == 2


class Killing(Executor):
    """A Dask cluster's executor; a worker is killed while it has work."""

    def __init__(self, cluster: Executor, worker: "subprocess.Popen[bytes]") -> None:
        self._cluster, self._worker, self._given = cluster, worker, 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self._given += 1
        future = self._cluster.submit(fn, *args, **kwargs)
        if self._given == 20:
            self._worker.send_signal(signal.SIGKILL)
        return future


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_dask_cluster_that_loses_a_worker_gives_the_same_figures(
    lite_fleet: Fleet, dask: tuple[str, list["subprocess.Popen[bytes]"]]
) -> None:
    address, workers = dask
    with dask_executor(address) as cluster:
        assert cluster is not None
        found, wanted = (
            lite_fleet.capacity("u-trn2x64", rates(**KINDS), executor=executor)
            for executor in (Killing(cluster, workers[0]), None)
        )
    assert found == wanted
    assert workers[0].wait() == -signal.SIGKILL


def test_no_scheduler_is_one_line(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    file = tmp_path / "rates.toml"
    file.write_text(rates(chip=0.01))
    status, _, error = run("capacity", "u-trn2x64", "--rates", str(file), "--scheduler", "nonsense://x")
    assert (status, error.count("\n")) == (1, 1)
