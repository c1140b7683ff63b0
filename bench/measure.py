"""Helpers of all benchmarks: a measured row, timing, a seeded cluster, random pairs of chips."""

import random
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from zlib import crc32

from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database import migration
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.seeding import cluster_seeding

NAME = "bench"
"""Name of the seeded cluster."""
RAINIER = 6_250
"""UltraServers of Project Rainier."""
_SEEDS = 16
"""Seeds in a row whose pairs of chips differ."""
DAMAGED = 40
"""Random damages of a domain that are measured, per system."""


@dataclass(frozen=True)
class Row:
    """A measured value of trninv, its baseline, and the highest ratio of the two that is accepted, if any.

    Attributes
    ----------
    baseline
        None if the baseline could not be measured; ``note`` says why.
    baseline_name
        Identifies the row within its section, together with ``name``.
    note
        Details that differ from run to run.
    recorded
        Whether the row comes from an earlier run.

    """

    name: str
    value: float
    baseline: float | None
    baseline_name: str
    mark: float | None = None
    unit: str = "s"
    note: str = ""
    recorded: bool = False

    @property
    def ratio(self) -> float | None:
        """The value divided by the baseline."""
        return None if self.baseline is None else self.value / self.baseline

    @property
    def verdict(self) -> str:
        """Whether the ratio is within the mark, as the tables show it."""
        if self.ratio is None:
            return "not measured"
        if self.mark is None:
            return "no mark"
        return "met" if self.ratio <= self.mark else "MISSED"


def median_seconds(run: Callable[[], object], times: int = 5) -> float:
    """Run a function a number of times and return the median seconds."""

    def once() -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    return statistics.median(once() for _ in range(times))


def seed_cluster(url: str, domains: int) -> float:
    """Seed a cluster into an empty database, which is migrated first, and return the seconds of seeding."""
    system = default_systems().get("u-trn2x64").resized(domains)
    with temporary_engine(url) as engine:
        migration.migrate(engine)

        def seed() -> None:
            with write_transaction(engine) as connection:
                cluster_seeding.seed(connection, default_catalog(), system, NAME)

        return median_seconds(seed, 1)


def sample_domains(domains: int) -> list[int]:
    """Return the ordinals of the domains that questions are about."""
    return random.Random(7).sample(range(domains), min(40, domains))


def chip_pairs(domains: int, number: int, place: str = "across", seed: int = 7) -> Iterator[tuple[str, str]]:
    """Yield random pairs of chips, none of them twice, and none that another seed of `_SEEDS` in a row yields.

    So a question about pairs of one seed is new after a warm-up with pairs of another.

    Parameters
    ----------
    place
        Whether a pair is in one "server", in one "domain" or "across" two domains. The domains are those of
        `sample_domains`, for every seed.

    """
    domain_sample, yielded = sample_domains(domains), set[tuple[str, str]]()
    rng = random.Random(seed)
    while len(yielded) < number:
        first, second = rng.sample(domain_sample, 2)
        server, far = rng.sample(range(4), 2)
        chip, next_to = rng.sample(range(16), 2)
        end = {
            "server": f"{first}/s{server}/c{next_to}",
            "domain": f"{first}/s{far}/c{next_to}",
            "across": f"{second}/s{far}/c{next_to}",
        }
        pair = f"{NAME}/d{first}/s{server}/c{chip}", f"{NAME}/d{end[place]}"
        if crc32("".join(pair).encode()) % _SEEDS == seed % _SEEDS and pair not in yielded:
            yielded.add(pair)
            yield pair
