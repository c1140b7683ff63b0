"""Evaluate checks again after each change of the fleet, in a process of its own that `trninv serve` starts."""

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from trninv.checks.check_file import Check
from trninv.checks.check_report import CheckReport, CheckStatus, read_report, write_report
from trninv.checks.evaluation import CheckResult, evaluate
from trninv.placement.placement_fleet import Fleet
from trninv.units import current_timestamp

POLL_SECONDS: Final = 0.5
"""Seconds between two looks at the fleet's revision."""
MAX_AGE: Final = 60.0
"""Seconds after which results are evaluated again without a change: incidents age, and reservations begin and end."""


class CheckWatch:
    """Evaluates checks and writes the results to a file whenever the fleet has changed.

    One evaluation runs at a time. It reads the newest state, so changes during an evaluation are evaluated together.

    Parameters
    ----------
    clock
        Returns the seconds since some moment.

    """

    def __init__(
        self, fleet: Fleet, checks: Sequence[Check], file: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._fleet, self._checks, self._file, self._clock = fleet, checks, file, clock
        self._revision: Hashable | None = None
        self._evaluated_at: float | None = None

    def poll(self) -> bool:
        """Evaluate the checks if the fleet changed or the results are old; return whether that was done.

        Raises
        ------
        DatabaseError
            The database can't be read; the file keeps the earlier results.

        """
        revision, start = self._fleet.revision(), self._clock()
        is_recent = self._evaluated_at is not None and start - self._evaluated_at < MAX_AGE
        if is_recent and (revision is None or revision == self._revision):  # None: the database is busy
            return False
        with self._fleet.snapshot() as snapshot:
            results = evaluate(snapshot, self._checks)
        self._write(results, self._clock() - start)
        self._revision, self._evaluated_at = revision, start
        return True

    def _write(self, results: Sequence[CheckResult], seconds: float) -> None:
        last = read_report(self._file)
        earlier = {status.name: status for status in last.statuses} if last else {}
        now = current_timestamp()
        statuses = [
            CheckStatus(
                **asdict(result),
                changed_at=before.changed_at
                if (before := earlier.get(result.name)) and before.verdict is result.verdict
                else now,
            )
            for result in results
        ]
        write_report(self._file, CheckReport(time.time(), seconds, statuses))
