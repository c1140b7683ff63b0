"""Put the documentation into the wheel: the site, its pages as Markdown, and the manual pages.

hatchling runs this. A wheel without a current site is refused.
"""

import runpy
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SiteHook(BuildHookInterface[Any]):
    """Include the folder ``site``, and build it first if it is missing or out of date."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files to those of the archive."""
        if version == "editable":
            return
        root = Path(self.root)
        try:
            site: Path = runpy.run_path(str(root / "docs/site/build.py"))["ensure_built"]()
        except CalledProcessError as error:
            raise RuntimeError(
                "the documentation site is missing or out of date and cannot be built here; run ./run docs"
            ) from error
        if self.target_name == "wheel":
            bundle = "trninv/_bundle"
            pages = [*root.glob("docs/**/*.md"), *root.glob("*.md")]
            build_data["force_include"] |= {
                str(site / "html"): f"{bundle}/site/html",
                **{str(page): f"{bundle}/{page.relative_to(root)}" for page in pages},
            }
            build_data["shared_data"][str(site / "man")] = "share/man/man1"
