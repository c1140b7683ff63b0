"""Measure plans in a fleet that is two thirds full: make-room plans, and capacity estimates when parts fail."""

import time
from collections.abc import Iterator

from bench.measure import NAME, RAINIER, Row, median_seconds
from trninv.placement.placement_fleet import Fleet

_PLANS, _CHIPS, _LIMIT = 40, 16, 1.0
"""Number of plans, chips to make room for, and the seconds that a proof may take."""
_SAMPLES, _MARK = 10_000, 15.0
"""Samples of a capacity estimate, and the mark in seconds at Project Rainier."""
_DOWN = {"chip": 0.0005, "server": 0.004, "rack": 0.0005}
"""Invented probabilities that a part of a kind is down."""


def plan_rows(fleet: Fleet, name: str, domains: int) -> Iterator[Row]:
    """Measure make-room plans for domains with enough free chips but no free set of 16 that schedulers allocate."""
    durations, unproven = list[float](), 0
    fleet.make_room(scope=f"{NAME}/d0", chips=1)  # fills the cache of jobs
    for domain in (f"{NAME}/d{number}" for number in range(domains)):
        if len(durations) == _PLANS:
            break
        if fleet.free(domain).free < _CHIPS or fleet.placements(domain, chips=_CHIPS).placements:
            continue
        start = time.perf_counter()
        plan = fleet.make_room(scope=domain, chips=_CHIPS)
        durations.append(time.perf_counter() - start)
        unproven += not plan.exact or durations[-1] > _LIMIT
    if durations:
        note = f"{len(durations)} domains; the slowest took {max(durations):.2g} s"
        yield Row(
            f"make-room plans for {_CHIPS} chips not proven optimal within a second, {name}",
            unproven,
            1.0,
            "one",
            1.0,
            "plans",
            note,
        )


def capacity_rows(fleet: Fleet, name: str, domains: int) -> Iterator[Row]:
    """Measure capacity with 10,000 samples: the seconds, and the error against the closed form."""
    rates = "".join(f"[{kind}]\nmtbf_hours = {(1 - u) / u!r}\nmttr_hours = 1\n" for kind, u in _DOWN.items())
    answer = fleet.capacity(NAME, rates, start="new", samples=_SAMPLES)
    server = (1 - _DOWN["server"]) * (1 - _DOWN["rack"])
    deviations = [
        abs(size.mean - 64 * domains * (1 - _DOWN["chip"]) ** (size.job_chips or 0) * server) / size.standard_error
        for size in answer.sizes
        if size.standard_error
    ]
    row_name = f"capacity with {_SAMPLES:,} samples, {name}"
    yield Row(
        f"{row_name}: largest error of a mean",
        max(deviations),
        4.0,
        "four standard errors of the closed form",
        1.0,
        "errors",
    )
    if domains >= RAINIER:
        value = median_seconds(lambda: fleet.capacity(NAME, rates, start="new", samples=_SAMPLES, seed=1), 1)
        yield Row(row_name, value, _MARK, "the mark", 1.0)
