"""Read and close sections of CHANGELOG.md."""

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Self

ROOT = Path(__file__).parents[1]
_FILE = ROOT / "CHANGELOG.md"
_HEADING = re.compile(r"^## \[(?P<name>[^\]]+)\].*\n", re.MULTILINE)


@dataclass
class Changelog:
    """The changelog.

    Attributes
    ----------
    introduction
        The text before the first section.
    sections
        The text of each section without its heading, by version, newest first; "Unreleased" is one of them.
    headings
        The headings of the sections.

    """

    introduction: str
    sections: dict[str, str]
    headings: dict[str, str]

    @classmethod
    def read(cls, text: str | None = None) -> Self:
        """Parse the file, or a text."""
        text = _FILE.read_text("utf-8") if text is None else text
        matches = list(_HEADING.finditer(text))
        ends = [*(heading.start() for heading in matches[1:]), len(text)]
        sections = {heading["name"]: text[heading.end() : end] for heading, end in zip(matches, ends, strict=True)}
        headings = {heading["name"]: heading[0] for heading in matches}
        return cls(text[: matches[0].start()] if matches else text, sections, headings)

    @property
    def versions(self) -> list[str]:
        """Released versions, newest first."""
        return [name for name in self.sections if name != "Unreleased"]

    @property
    def unreleased(self) -> str:
        """The section of what is not released."""
        return self.sections.get("Unreleased", "")

    def release(self, version: str, day: date) -> None:
        """Make a version of what is not released, and write the file with an empty section above it."""
        entries = self.sections.pop("Unreleased")
        released = {name: self.headings[name] + text for name, text in self.sections.items()}
        _FILE.write_text(
            f"{self.introduction}## [Unreleased]\n\n## [{version}] - {day.isoformat()}\n{entries}"
            + "".join(released.values()),
            "utf-8",
        )
