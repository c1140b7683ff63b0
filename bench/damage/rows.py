"""Measure the bounds and the processor time of answers about damaged clusters, as rows of the benchmarks."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf
from pathlib import Path
from statistics import median

import trninv
from bench.damage import states
from bench.damage.checks import Checked
from bench.damage.run import answers
from bench.measure import RAINIER, Row

_ANSWERS, _FEW = 5_000, 300
_LOST = (0, 4, 8, inf)
"""Numbers of failures at which a new row begins."""
_TORUS = "u-trn2x64"
_MARKS = {"16-chip or switched domains": 2.0, "64-chip tori": 10.0}


def damage_rows(directory: Path, domains: int) -> Iterator[Row]:
    """Measure answers about randomly damaged clusters, thousands at full size."""
    url = f"sqlite:///{directory}/damaged.db"
    states.seed(url)
    with trninv.open(url) as fleet:
        yield from rows_of(list(answers(fleet, _ANSWERS if domains == RAINIER else _FEW, seed=11)))


def rows_of(found: Sequence[Checked]) -> Iterator[Row]:
    """Summarize answers as rows."""
    outside = sum(bool(each.fault) for each in found)
    yield Row("answers outside the oracle's bounds", outside, len(found), "all answers", 0.0, "")
    halves = [each for each in found if each.question.startswith("bisection")]
    loose = sum(not each.exact for each in halves)
    yield Row("bisections that are not exact", loose, len(halves), "all bisections", 0.01, "")
    for low, high in pairwise(_LOST):
        some = [each for each in halves if low <= each.lost < high]
        for kind, mark in _MARKS.items():
            alike = [each for each in some if (each.system == _TORUS) == (mark == _MARKS["64-chip tori"])]
            if alike:
                failures = f"{low} to {high - 1} failures" if high < inf else f"{low} failures or more"
                yield _row(f"{kind}, {failures}", alike, mark)


def _row(name: str, alike: Sequence[Checked], mark: float) -> Row:
    took = sorted(each.took for each in alike)
    tightness = min(each.tightness for each in alike)
    note = f"{len(alike)} bisections; least lower / upper {tightness:.3g}; median {median(took) * 1_000:.0f} ms"
    return Row(
        f"processor time, p99: {name}", took[(len(took) - 1) * 99 // 100], mark, "the mark", 1.0, note=note
    )
