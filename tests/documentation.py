"""The documentation site as a release contains it; built if it is not up to date."""

import runpy
from pathlib import Path
from typing import Any

from examples import ROOT


def builder() -> dict[str, Any]:
    """What docs/site/build.py defines."""
    return runpy.run_path(str(ROOT / "docs/site/build.py"))


def built_site() -> Path:
    """The folder with html and man."""
    folder: Path = builder()["ensure_built"]()
    return folder
