"""Shared by the benchmarks: a measured row, timing, a seeded cluster."""

import random
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database import migration
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.seeding import cluster_seeding

NAME = "bench"
RAINIER = 6_250
"""Its UltraServers."""
DAMAGED = 40
"""Randomly damaged domains of each kind."""


@dataclass(frozen=True)
class Row:
    """A measurement of ours and of the baseline, and the mark that their ratio must meet, if any.

    Attributes
    ----------
    baseline
        None where there was nothing to measure against; then ``note`` says why.
    note
        What differs from run to run: name and baseline tell a row from the others of its section.
    recorded
        The row is that of an earlier run.

    """

    name: str
    ours: float
    baseline: float | None
    against: str
    mark: float | None = None
    unit: str = "s"
    note: str = ""
    recorded: bool = False

    @property
    def ratio(self) -> float | None:
        return None if self.baseline is None else self.ours / self.baseline

    @property
    def verdict(self) -> str:
        if self.ratio is None:
            return "not measured"
        if self.mark is None:
            return "no mark"
        return "held" if self.ratio <= self.mark else "MISSED"


def seconds(run: Callable[[], object], times: int = 5) -> float:
    def once() -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    return statistics.median(once() for _ in range(times))


def seeded(url: str, domains: int) -> float:
    """Seconds it takes to seed a cluster into an empty, migrated database."""
    system = default_systems().get("u-trn2x64").resized(domains)
    with temporary_engine(url) as engine:
        migration.migrate(engine)

        def seed() -> None:
            with write_transaction(engine) as connection:
                cluster_seeding.seed(connection, default_catalog(), system, NAME)

        return seconds(seed, 1)


def asked_about(domains: int) -> list[int]:
    """The domains that questions are about."""
    return random.Random(7).sample(range(domains), min(40, domains))


def pairs(domains: int, number: int, place: str = "across", seed: int = 7) -> Iterator[tuple[str, str]]:
    """Random pairs of chips in one server, in one domain or in two, out of forty domains, whatever the seed."""
    known = asked_about(domains)
    chance = random.Random(seed)
    for _ in range(number):
        one, other = chance.sample(known, 2)
        server, far = chance.sample(range(4), 2)
        chip, next_to = chance.sample(range(16), 2)
        end = {
            "server": f"{one}/s{server}/c{next_to}",
            "domain": f"{one}/s{far}/c{next_to}",
            "across": f"{other}/s{far}/c{next_to}",
        }
        yield f"{NAME}/d{one}/s{server}/c{chip}", f"{NAME}/d{end[place]}"
