"""Run `trninv check --watch` beside the service, whose processes read the results from a file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from trninv.cli.background_process import background_process
from trninv.settings import Settings


@contextmanager
def run_checks(settings: Settings) -> Iterator[None]:
    """Keep a process evaluating the settings' checks while the code in this context runs; nothing without checks.

    Processes that are started in this context find the results by TRNINV_CHECK_RESULTS.
    """
    if settings.checks is None:
        yield
        return
    with TemporaryDirectory(prefix="trninv-checks-") as directory:
        results = settings.check_results or Path(directory) / "results.json"
        os.environ["TRNINV_CHECK_RESULTS"] = str(results)
        with background_process("check", [str(settings.checks), "--watch", str(results)]):
            yield
