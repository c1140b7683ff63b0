"""Say when a machine collects and reports, so that the machines of a fleet do not all do it at once."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from math import ceil
from typing import Final

from trninv.errors import UsageError

_DURATION: Final = re.compile(r"([0-9]{1,6})([smhd])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
MAX_SECONDS: Final = 86_400
"""The longest interval; the service accepts no older observations."""


def parse_duration(text: str, option: str, maximum: int = MAX_SECONDS) -> int:
    """Return the seconds of a duration such as 30s, 5m or 2h.

    Raises
    ------
    UsageError
        The text has another form, or is longer than the maximum number of seconds.

    """
    match = _DURATION.fullmatch(text)
    seconds = int(match[1]) * _SECONDS[match[2]] if match else 0
    if not match or seconds > maximum:
        longest = "a day" if maximum == MAX_SECONDS else f"{maximum // _SECONDS['d']:,} days"
        raise UsageError(
            f"{option} {text[:40]!r}: write seconds, minutes or hours up to {longest}, such as 30s, 5m or 2h"
        )
    return seconds


@dataclass(frozen=True, slots=True)
class CollectionSchedule:
    """The times at which a machine reports.

    Attributes
    ----------
    every
        The interval, in seconds.
    host
        The machine's name, from which its time within the interval is computed; None begins at once.
    sleep, clock, wall_clock
        The functions of `time`. Only the first pause depends on the time of day, so that the clock may be set.

    """

    every: int
    host: str | None = None
    sleep: Callable[[float], object] = time.sleep
    clock: Callable[[], float] = time.monotonic
    wall_clock: Callable[[], float] = time.time

    def first_pause(self) -> float:
        """Return the seconds until the machine first reports.

        Each host has its own time in the interval, counted from 1970, so that a fleet stays spread when all of its
        machines start at once.
        """
        if self.host is None:
            return 0.0
        share = int.from_bytes(sha256(self.host.encode(errors="replace")).digest()[:8], "big") / 2**64
        return (share * self.every - self.wall_clock()) % self.every

    def wait(self) -> Iterator[float]:
        """Sleep until it is time to report, and yield the seconds left until the next time; never end.

        Times that pass while the machine reports are skipped.
        """
        due = self.clock() + self.first_pause()
        while True:
            self.sleep(max(0.0, due - self.clock()))
            yield due + self.every - self.clock()
            due += self.every * max(1, ceil((self.clock() - due) / self.every))
