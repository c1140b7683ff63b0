"""Measure the bounds and the processor time of answers about damaged clusters, as rows of the benchmarks."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf
from pathlib import Path
from statistics import median

import trninv
from bench.damage import states
from bench.damage.checks import CheckedAnswer
from bench.damage.run import answers
from bench.measure import RAINIER, Row

_ANSWERS, _FEW_ANSWERS = 5_000, 300
"""Answers at the size of Project Rainier, and at smaller sizes."""
_FAILURES = (0, 4, 8, inf)
"""Numbers of failures at which a new row begins."""
_TORUS = "u-trn2x64"
_MARKS = {"16-chip or switched domains": 2.0, "64-chip tori": 10.0}


def damage_rows(directory: Path, domains: int) -> Iterator[Row]:
    """Measure answers about randomly damaged clusters, thousands at full size."""
    url = f"sqlite:///{directory}/damaged.db"
    states.seed(url)
    with trninv.open(url) as fleet:
        yield from summary_rows(list(answers(fleet, _ANSWERS if domains == RAINIER else _FEW_ANSWERS, seed=11)))


def summary_rows(checked_answers: Sequence[CheckedAnswer]) -> Iterator[Row]:
    """Summarize answers as rows."""
    outside = sum(bool(answer.fault) for answer in checked_answers)
    yield Row("answers outside the oracle's bounds", outside, len(checked_answers), "all answers", 0.0, "")
    bisections = [answer for answer in checked_answers if answer.question.startswith("bisection")]
    loose = sum(not answer.exact for answer in bisections)
    yield Row("bisections that are not exact", loose, len(bisections), "all bisections", 0.01, "")
    for low, high in pairwise(_FAILURES):
        group = [answer for answer in bisections if low <= answer.failures < high]
        for kind, mark in _MARKS.items():
            members = [answer for answer in group if (answer.system == _TORUS) == (mark == _MARKS["64-chip tori"])]
            if members:
                failures = f"{low} to {high - 1} failures" if high < inf else f"{low} failures or more"
                yield _row(f"{kind}, {failures}", members, mark)


def _row(name: str, members: Sequence[CheckedAnswer], mark: float) -> Row:
    durations = sorted(answer.seconds for answer in members)
    tightness = min(answer.tightness for answer in members)
    note = f"{len(members)} bisections; least lower / upper {tightness:.3g}; median {median(durations) * 1_000:.0f} ms"
    return Row(
        f"processor time, p99: {name}", durations[(len(durations) - 1) * 99 // 100], mark, "the mark", 1.0, note=note
    )
