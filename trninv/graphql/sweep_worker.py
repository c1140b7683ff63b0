"""Work on one sweep as a process; `sweep_runner` starts it with the sweep's id, attempt and arguments (JSON)."""

import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Final

import trninv
from trninv.errors import TrninvError
from trninv.graphql.sweep_runner import SweepLease
from trninv.placement.placement_fleet import Fleet
from trninv.remote.json_codec import decode
from trninv.routing.questions import find
from trninv.routing.scenario import Scenario
from trninv.settings import Settings

RENEWAL_SECONDS: Final = 20.0
"""Seconds between two renewals of the lease; each changes the database's revision, which empties caches."""
_NICE: Final = 10
"""Low priority, so that requests come first."""


def main(sweep_id: int, attempt: int, arguments: str) -> None:
    """Run a sweep and write its answer or error, unless it is cancelled or started again meanwhile."""
    os.nice(_NICE)
    with trninv.open(Settings.load().database_url) as fleet:
        lease = SweepLease(fleet.engine, sweep_id, attempt)
        threading.Thread(target=_renew_periodically, args=(lease, os.getppid()), daemon=True).start()

        def report(_label: str, done: int, total: int) -> None:
            lease.done, lease.total = done, total

        try:
            values = json.loads(arguments)
            with _derive(fleet, values).snapshot() as snapshot, ThreadPoolExecutor(1) as executor:
                answer = snapshot.ask(find("sweep"), **values, executor=executor, progress=report)
        except TrninvError as error:
            _finish(lease, state="failed", error=str(error))
        else:
            _finish(lease, state="done", answer=json.dumps(asdict(answer)))


def _derive(fleet: Fleet, values: dict[str, Any]) -> Fleet:
    """Return the fleet at the time and in the scenario among the values, if any, and remove them."""
    as_of, scenario = values.pop("as_of", None), values.pop("scenario", None)
    earlier_fleet = fleet if as_of is None else fleet.at(as_of)
    if scenario is None:
        return earlier_fleet
    parsed: Scenario = decode(scenario, Scenario)
    return earlier_fleet.what_if(**parsed.as_arguments())


def _finish(lease: SweepLease, **changes: str) -> None:
    """Write the end of the sweep; retry while the database does not answer, or another writer locks it for long."""
    while True:
        with suppress(TrninvError):
            lease.renew(**changes)
            return
        time.sleep(RENEWAL_SECONDS)


def _renew_periodically(lease: SweepLease, service_pid: int) -> None:
    """Renew the lease until this process ends; end it if the lease cannot be renewed or the service has ended."""
    while True:
        time.sleep(RENEWAL_SECONDS)
        with suppress(TrninvError):  # the database does not answer, or is locked for long: retry
            if os.getppid() != service_pid or not lease.renew():
                os._exit(1)  # a solver can't be interrupted


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
