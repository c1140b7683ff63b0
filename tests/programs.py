"""Programs that tests start: a test without its program is skipped, or fails where all must be there, as in CI."""

import os
import shutil

import pytest


def require(*names: str, packages: str, path: str | None = None) -> None:
    """Skip a test unless the programs are there; fail it if TRNINV_TEST_PROGRAMS is set."""
    if missing := [name for name in names if not shutil.which(name, path=path)]:
        give_up = pytest.fail if "TRNINV_TEST_PROGRAMS" in os.environ else pytest.skip
        give_up(f"no {', '.join(missing)}: apt-get install --no-install-recommends {packages}")
