"""The share of useful time with checkpoints: against a simulation, the papers' numbers and the exact optimum."""

import random
from math import e, exp, isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import lambertw

from conftest import examples
from trninv.solvers.checkpointing import (
    approximate_training_time_ratio,
    daly_interval,
    training_time_ratio,
    young_interval,
)

MINUTE, HOUR = 60.0, 3600.0


def simulated(tau: float, delta: float, restart: float, mtbf: float, segments: int, seed: int) -> float:
    """Live through so many segments: each is repeated until no failure falls into it, and so is each restart."""
    dice, time = random.Random(seed), 0.0
    for _ in range(segments):
        while (failure := dice.expovariate(1 / mtbf)) < tau + delta:
            time += failure
            while (failure := dice.expovariate(1 / mtbf)) < restart:
                time += failure
            time += restart
        time += tau + delta
    return segments * tau / time


@pytest.mark.parametrize(
    ("tau", "delta", "restart", "mtbf"),
    [(60, 5, 10, 1_440), (60, 5, 10, 60), (10, 1, 30, 20), (100, 0, 0, 100), (5, 5, 0, 1_000)],
)
def test_it_is_what_a_simulation_lives_through(tau: float, delta: float, restart: float, mtbf: float) -> None:
    assert training_time_ratio(tau, delta, restart, mtbf) == pytest.approx(
        simulated(tau, delta, restart, mtbf, 40_000, 1), rel=0.02
    )


def test_closed_forms() -> None:
    assert training_time_ratio(1, 0, 0, 1) == pytest.approx(1 / (e - 1))
    assert training_time_ratio(1, 0, 1, 1) == pytest.approx(1 / (e * (e - 1)))
    assert training_time_ratio(9, 1, 0, 1e12) == pytest.approx(0.9)
    assert training_time_ratio(1e9, 1, 1, 1) == 0
    assert young_interval(5, 1_440) == pytest.approx(120)


@pytest.mark.parametrize(("mtbf_hours", "minutes"), [(24, 117), (6, 57), (0.25, 9.1)])
def test_dalys_own_examples(mtbf_hours: float, minutes: float) -> None:
    """Figures 3 to 5 of the paper, with checkpoints of 5 minutes."""
    assert daly_interval(5 * MINUTE, mtbf_hours * HOUR) / MINUTE == pytest.approx(minutes, rel=0.006)
    assert daly_interval(2, 1) == daly_interval(3, 1) == 1  # from δ = 2M on


@given(st.floats(0.001, 1), st.floats(0, 2), st.floats(0.01, 3))
@examples(60)
def test_dalys_interval_is_nearly_the_best(delta: float, restart: float, factor: float) -> None:
    """The best τ is M·(1 + W(-e^(-1-δ/M))), where W is Lambert's function; M is 1 here."""
    best = 1 + lambertw(-exp(-1 - delta)).real
    ratios = [training_time_ratio(tau, delta, restart, 1) for tau in (best, daly_interval(delta, 1), best * factor)]
    assert ratios[1] >= 0.99 * ratios[0]
    assert ratios[2] <= ratios[0] or isclose(ratios[2], ratios[0])


@given(st.floats(1, 100), st.floats(0, 10), st.floats(0, 100), st.floats(1, 10_000), st.floats(1.01, 10))
@examples(60)
def test_more_failures_or_longer_restarts_are_never_better(
    tau: float, delta: float, restart: float, mtbf: float, factor: float
) -> None:
    ratio = training_time_ratio(tau, delta, restart, mtbf)
    assert 0 <= ratio <= tau / (tau + delta)
    assert training_time_ratio(tau, delta, restart, mtbf * factor) >= ratio
    assert training_time_ratio(tau, delta, restart * factor, mtbf) <= ratio
    assert 0 <= approximate_training_time_ratio(tau, delta, restart, mtbf) <= 1


def test_the_approximation_holds_for_rare_failures_and_has_no_negative_values() -> None:
    for mtbf in (1_000, 10_000):
        exact, approximation = (
            ratio(60, 1, 10, mtbf) for ratio in (training_time_ratio, approximate_training_time_ratio)
        )
        assert approximation == pytest.approx(exact, rel=0.005)
    assert approximate_training_time_ratio(60, 1, 10, 40) == 0
    assert approximate_training_time_ratio(60, 1, 10, 40.1) > 0
