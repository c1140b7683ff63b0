"""The page on drift has every rule in the words of the register."""

import re

from examples import ROOT
from trninv.database.finding_rules import FINDING_RULES, SEVERITY_MEANINGS


def test_every_rule_is_on_the_page_as_it_is_declared() -> None:
    page = (ROOT / "docs/reference/drift.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \| (\w+) \| (.*?) \| .+? \| .+? \|$", page, re.MULTILINE)
    assert rows == [(name, rule.severity, rule.description) for name, rule in FINDING_RULES.items()]
    for severity, meaning in SEVERITY_MEANINGS.items():
        assert f"- **{severity}**: {meaning}\n" in page
