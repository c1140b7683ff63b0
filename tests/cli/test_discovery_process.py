"""The process that pulls beside the service: its settings are checked, and it is started again until it is stopped."""

import gc
import sys
import time

import pytest

from conftest import Run
from trninv.cli import background_process, discover_command
from trninv.cli.background_process import background_processes
from trninv.cli.discover_command import check_targets
from trninv.discovery.pull import PullResult
from trninv.errors import UsageError
from trninv.garbage_collection import NEVER
from trninv.settings import Settings


@pytest.mark.parametrize(("target", "every"), [("ibm", "5m"), ("aws us", "5m"), ("slurm", "0s"), ("slurm", "often")])
def test_settings_that_discover_would_refuse_are_refused(target: str, every: str) -> None:
    with pytest.raises(UsageError):
        check_targets([target], every)


def test_a_process_that_ends_is_started_again(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(background_process, "_RESTART_SECONDS", 0.01)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with background_processes(Settings("sqlite:///none.db", discover=("slurm",))):
        until, text = time.monotonic() + 30, ""
        while text.count("starting it again") < 2 and time.monotonic() < until:
            time.sleep(0.05)
            text += capfd.readouterr().err
    assert text.count("ended with status 1; starting it again") >= 2


def test_full_garbage_collections_take_a_limited_share_of_a_pull(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def pull(*_: object, **__: object) -> PullResult:
        gc.collect()
        assert gc.get_threshold()[2] == NEVER
        return PullResult("slurm", 0, 0, 0, 0, 0, 0, ())

    monkeypatch.setattr(discover_command, "pull_target", pull)
    assert run("discover", "slurm")[0] == 0
