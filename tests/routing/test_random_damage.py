"""A few rounds of ./run damage: randomly damaged clusters against an oracle, and the same on every interface."""

from pathlib import Path

import pytest

import trninv
from bench.damage import states
from bench.damage.__main__ import judge
from bench.damage.run import answers, differences

pytestmark = pytest.mark.slow


def test_answers_are_within_their_bounds_and_bisections_exact(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'fleet.db'}"
    states.seed(url, states.SIZES[:4])
    with trninv.open(url) as fleet:
        found = list(answers(fleet, 6 * 16, 1, sizes=states.SIZES[:4]))
        assert judge(found)
        assert {each.system for each in found} == set(states.SYSTEMS)
        assert not list(differences(fleet, url, 30, 1))


def test_what_is_wrong_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a fleet that does not know of its damage."""
    url = f"sqlite:///{tmp_path / 'fleet.db'}"
    states.seed(url, states.SIZES[:1])
    monkeypatch.setattr(states.State, "_set", lambda *_: None)
    with trninv.open(url) as fleet:
        found = list(answers(fleet, 32, 1, ("trn1", "trn2"), states.SIZES[:1]))
        assert not judge(found)
        wrong = {each.question for each in found if each.fault}
    assert {"collectives", "bisection of a cluster", "distances", "pool"} <= wrong
