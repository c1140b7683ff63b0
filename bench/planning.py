"""Plans in a fleet that is two thirds full: room by moving jobs, and what is left when parts fail."""

import time
from collections.abc import Iterator

from bench.measure import NAME, RAINIER, Row, seconds
from trninv.placement.placement_fleet import Fleet

_PLANNED, _WANTED, _LIMIT = 40, 16, 1.0
"""Domains, the chips that there is to be room for, and the seconds that a proof may take."""
_SAMPLES, _MARK = 10_000, 15.0
_DOWN = {"chip": 0.0005, "server": 0.004, "rack": 0.0005}
"""How likely parts of a kind are down, invented for this."""


def plans(fleet: Fleet, name: str, domains: int) -> Iterator[Row]:
    """Domains with enough free chips, of which no sixteen are a set that schedulers grant."""
    took, unproven = list[float](), 0
    fleet.make_room(scope=f"{NAME}/d0", chips=1)  # so that jobs are in hand
    for domain in (f"{NAME}/d{number}" for number in range(domains)):
        if len(took) == _PLANNED:
            break
        if fleet.free(domain).free < _WANTED or fleet.placements(domain, chips=_WANTED).placements:
            continue
        start = time.perf_counter()
        plan = fleet.make_room(scope=domain, chips=_WANTED)
        took.append(time.perf_counter() - start)
        unproven += not plan.exact or took[-1] > _LIMIT
    if took:
        note = f"{len(took)} domains; the slowest took {max(took):.2g} s"
        yield Row(
            f"domains, {_PLANNED} at most, where room for {_WANTED} chips is not proven within a second, {name}",
            unproven,
            1.0,
            "one",
            1.0,
            "domains",
            note,
        )


def failures(fleet: Fleet, name: str, domains: int) -> Iterator[Row]:
    """Ten thousand draws: how long they take, and how far they are from what is known in closed form."""
    rates = "".join(f"[{kind}]\nmtbf_hours = {(1 - u) / u!r}\nmttr_hours = 1\n" for kind, u in _DOWN.items())
    answer = fleet.capacity(NAME, rates, start="new", samples=_SAMPLES)
    server = (1 - _DOWN["server"]) * (1 - _DOWN["rack"])
    off = [
        abs(each.mean - 64 * domains * (1 - _DOWN["chip"]) ** (each.job_chips or 0) * server) / each.standard_error
        for each in answer.sizes
        if each.standard_error
    ]
    what = f"{_SAMPLES:,} draws of what is left when parts fail, {name}"
    yield Row(f"{what}: the farthest mean", max(off), 4.0, "four standard errors of the closed form", 1.0, "errors")
    if domains >= RAINIER:
        took = seconds(lambda: fleet.capacity(NAME, rates, start="new", samples=_SAMPLES, seed=1), 1)
        yield Row(what, took, _MARK, "the mark", 1.0)
