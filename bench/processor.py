"""Measure processor time that this process and PostgreSQL use together."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from bench.server import child_processes, scheduled_seconds

_CHIPS = 64
"""Chips of a domain."""


@dataclass(frozen=True)
class Database:
    """A database of a server, with some clusters, which are called c0, c1, …"""

    name: str
    url: str
    clusters: int
    domains: int
    postmaster: int

    @property
    def chips(self) -> int:
        """The number of chips of all clusters."""
        return self.clusters * self.domains * _CHIPS

    def processor_seconds(self, run: Callable[[], object]) -> float:
        """Return the processor seconds of this process and of PostgreSQL."""
        before, start = self._backend_seconds(), time.process_time()
        run()
        end, after = time.process_time(), self._backend_seconds()
        return end - start + sum(seconds - before.get(process, 0.0) for process, seconds in after.items())

    def _backend_seconds(self) -> dict[int, float]:
        backends = child_processes(self.postmaster, f" {self.name} [local]")
        return {process: scheduled_seconds(process) for process in backends}
