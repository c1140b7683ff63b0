"""Damage fleets at random, compare answers with an oracle, and compare the interfaces with one another."""

import random
import sys
from collections.abc import Iterator, Sequence

from bench.damage import states
from bench.damage.checks import CheckedAnswer, Checks
from bench.damage.interfaces import Interfaces
from serving import serving
from trninv.routing.fleet import BaseFleet

PROVEN_EVERY = 12
"""The integer program, which takes long, runs for one damaged cluster in this many."""
_SECONDS = 20.0
"""Time limit of the integer program."""
_AT_A_TIME = 10
"""Questions to all interfaces about one damaged cluster."""


def answers(
    fleet: BaseFleet,
    number: int,
    seed: int,
    systems: Sequence[str] = tuple(states.SYSTEMS),
    sizes: Sequence[int] = states.SIZES,
) -> Iterator[CheckedAnswer]:
    """Yield checked answers about damaged clusters, one state after another, until there are enough."""
    clusters, count, round_number = states.read_clusters(fleet), 0, 0
    while count < number:
        rng = random.Random(f"{seed} {round_number}")
        state = states.draw_damage(clusters, systems[round_number % len(systems)], rng.choice(sizes), rng)
        with state.apply_damage(fleet) as damaged:
            for answer in Checks(damaged, state, rng, 0 if round_number % PROVEN_EVERY else _SECONDS).all():
                count += 1
                if answer.fault:
                    print(f"{answer.fault} ({state.damage})", file=sys.stderr, flush=True)
                yield answer
        round_number += 1


def differences(fleet: BaseFleet, url: str, number: int, seed: int) -> Iterator[str]:
    """Yield a line for each question that an interface answers differently."""
    clusters = states.read_clusters(fleet)
    with serving(url) as service:
        interfaces = Interfaces(fleet, url, service)
        for start in range(0, number, _AT_A_TIME):
            rng = random.Random(f"interfaces {seed} {start}")
            system, size = rng.choice(list(states.SYSTEMS)), rng.choice(states.SIZES[:3])
            state = states.draw_damage(clusters, system, size, rng)
            with state.apply_damage(fleet):
                yield from filter(None, interfaces.differences(state, rng, min(_AT_A_TIME, number - start)))
