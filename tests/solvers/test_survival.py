"""Probabilities of survival: closed forms, and samples that agree with them."""

from collections.abc import Sequence
from itertools import accumulate
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trninv.solvers.survival import (
    CountedSets,
    FailureCause,
    binomial_cdf,
    sample,
    sample_failures,
    sampling_tasks,
    spares_needed,
    survival_probabilities,
)


def _cdf(count: int, probability: float) -> list[float]:
    masses = [comb(count, k) * probability**k * (1 - probability) ** (count - k) for k in range(count + 1)]
    return list(accumulate(masses))


@given(st.integers(1, 30), st.floats(0.01, 0.99))
def test_the_binomial_is_its_sum(count: int, probability: float) -> None:
    assert binomial_cdf(count, probability).tolist() == pytest.approx(_cdf(count, probability))


@given(st.integers(1, 12), st.floats(0.5, 0.99), st.floats(0.5, 0.99))
def test_spares_are_enough_and_one_less_is_not(count: int, probability: float, confidence: float) -> None:
    spares = spares_needed(count, probability, confidence, 60)
    if spares is None:
        assert 1 - _cdf(count + 60, probability)[count - 1] < confidence + 1e-9
        return
    assert 1 - _cdf(count + spares, probability)[count - 1] >= confidence - 1e-9
    if spares:
        assert 1 - _cdf(count + spares - 1, probability)[count - 1] < confidence + 1e-9


def _samples(batches_per_task: int, causes: Sequence[FailureCause]) -> list[int]:
    intact = np.array([[0b11]] * 3, np.uint64)
    tasks = sampling_tasks(intact, causes, [CountedSets(np.array([[0b11]], np.uint64))], 4_000, 7, batches_per_task)
    return [int(count) for task in tasks for (count,) in sample(task)]


def test_samples_agree_with_the_probability_and_do_not_depend_on_the_batches() -> None:
    cause = FailureCause(0.2, np.array([[0b01], [0b11]], np.uint64))
    counts = _samples(1, [cause])
    expected = 3 * survival_probabilities([cause], np.array([[0b01], [0b10]], np.uint64)).sum()
    assert np.mean(counts) == pytest.approx(expected, abs=4 * np.std(counts) / np.sqrt(len(counts)))
    assert counts == _samples(9, [cause])


@pytest.mark.parametrize(("probability", "failed"), [(0.0, 0), (1.0, 500)])
def test_none_fails_at_probability_zero_and_all_at_one(probability: float, failed: int) -> None:
    assert len(sample_failures(np.random.default_rng(3), 500, probability)) == failed
