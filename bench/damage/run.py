"""Damage fleets at random, compare answers with an oracle, and compare the interfaces with one another."""

import random
import sys
from collections.abc import Iterator, Sequence

from bench.damage import states
from bench.damage.checks import Checked, Checks
from bench.damage.interfaces import Interfaces
from serving import serving
from trninv.routing.fleet import BaseFleet

PROVEN_EVERY = 12
"""The integer program, which takes long, runs for one state in this many."""
_SECONDS = 20.0
_AT_A_TIME = 10


def answers(
    fleet: BaseFleet,
    number: int,
    seed: int,
    systems: Sequence[str] = tuple(states.SYSTEMS),
    sizes: Sequence[int] = states.SIZES,
) -> Iterator[Checked]:
    """Yield checked answers about damaged clusters, one state after another, until there are enough."""
    clusters, done, at = states.intact(fleet), 0, 0
    while done < number:
        chance = random.Random(f"{seed} {at}")
        state = states.damaged(clusters, systems[at % len(systems)], chance.choice(sizes), chance)
        with state.held(fleet) as worn:
            for found in Checks(worn, state, chance, 0 if at % PROVEN_EVERY else _SECONDS).all():
                done += 1
                if found.fault:
                    print(f"{found.fault} ({state.damage})", file=sys.stderr, flush=True)
                yield found
        at += 1


def differences(fleet: BaseFleet, url: str, number: int, seed: int) -> Iterator[str]:
    """Yield a line for each question that an interface answers differently."""
    clusters = states.intact(fleet)
    with serving(url) as service:
        every = Interfaces(fleet, url, service)
        for at in range(0, number, _AT_A_TIME):
            chance = random.Random(f"interfaces {seed} {at}")
            system, size = chance.choice(list(states.SYSTEMS)), chance.choice(states.SIZES[:3])
            state = states.damaged(clusters, system, size, chance)
            with state.held(fleet):
                yield from filter(None, every.unlike(state, chance, min(_AT_A_TIME, number - at)))
