"""Files of checks: what is read, and what is refused with its line."""

import subprocess
import sys

import jsonschema
import pytest
import yaml

from examples import ROOT
from trninv.checks.__main__ import render_page
from trninv.checks.check_file import MAX_CHECKS, Check, file_schema, parse_checks
from trninv.checks.measures import MEASURES
from trninv.errors import InvalidFileError
from trninv.importers.yaml_list import MAX_BYTES

VALID = """
checks:
  - name: half of it
    bisection: {scope: a/d0, at_least: 2 TB/s, at_most: 3 TB/s}
    down: [a/d0/s0]
    derate: {a/d0/s1: 0.5}
  - hops: {from: a/d0/s0/c0, to: a/d0/s1/c0}
  - findings: {}
"""


def parse(text: str) -> list[Check]:
    return parse_checks(text.encode(), "checks.yaml")


def test_checks_are_read_with_their_lines() -> None:
    half, hops, findings = parse(VALID)
    assert (half.name, half.line, half.bounds) == ("half of it", 3, {"at_least": 2 * 10**12, "at_most": 3 * 10**12})
    assert (half.down, half.derate) == (["a/d0/s0"], {"a/d0/s1": 0.5})
    assert (hops.name, hops.line) == ("hops a/d0/s0/c0 a/d0/s1/c0", 7)
    assert hops.values == {"source": "a/d0/s0/c0", "target": "a/d0/s1/c0"}
    assert (findings.name, findings.bounds) == ("findings", {"at_most": 0})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "whose only key is checks"),
        ("- 1", "whose only key is checks"),
        ("checks: []", "not a list of 1 to 1,000 items"),
        ("checks: [1]\nmore: 1", "whose only key is checks"),
        ("checks: [", "is not YAML"),
        ("checks: &a [*a]", "alias"),
        ("checks: [1]", ":1: a check is an object"),
        ("checks:\n\n- {}", ":3: a check has one measure; bisection,"),
        (
            "checks:\n- bisecton: {}",
            ":2: a check has one measure; there is no measure 'bisecton'; did you mean bisection?",
        ),
        ("checks:\n- {bisection: {}, hops: {}}", "a check has one measure"),
        ("checks:\n- {bisection: {}, at_least: 5 GB/s}", "at_least belongs with the measure's arguments: {…, at_least"),
        ("checks:\n- bisection: a/d0", "is not an object with arguments, such as {scope:"),
        ("checks:\n- bisection: {scope: a/d0}", "needs a bound: at_least or at_most"),
        ("checks:\n- bisection: {at_least: 1 GB/s}", "bisection needs scope"),
        ("checks:\n- bisection: {scope: a, at_least: 5}", "at_least: 5 is not a bandwidth with its unit"),
        ("checks:\n- bisection: {scope: a, at_least: 5 GiB}", "'5 GiB' is not a bandwidth"),
        ("checks:\n- bisection: {scope: 7, at_least: 5 GB/s}", "scope is text"),
        ("checks:\n- bisection: {scope: a, chips: [7], at_least: 5 GB/s}", "chips is text"),
        ("checks:\n- bisection: {of: a, at_least: 5 GB/s}", "takes no 'of'; use scope, chips, at_least, at_most"),
        ("checks:\n- hops: {from: a, to: b, at_most: six}", "at_most: 'six' is not a whole number of hops"),
        ("checks:\n- hops: {from: a, to: b, at_most: true}", "at_most: True is not a whole number of hops"),
        ("checks:\n- free_jobs: {scope: a, chips: 0, at_least: 1}", "chips 0 is out of range"),
        ("checks:\n- free_jobs: {scope: a, chips: true, at_least: 1}", "chips is a whole number"),
        ("checks:\n- findings: {severity: hihg}", "severity: there is no 'hihg'; did you mean high?"),
        ("checks:\n- incidents: {severity: lowest}", "is not a choice"),
        (
            "checks:\n\n- incidents: {older_than: 2w}",
            ":3: older_than '2w': write seconds, minutes or hours up to",
        ),
        ("checks:\n- incidents: {older_than: 3651d}", ":2: older_than '3651d': write"),
        ("checks:\n- incidents: {older_than: 3}", "older_than is text"),
        ("checks:\n- findings: {}\n  down: [a/d0]", "findings takes no scenario"),
        ("checks:\n- hops: {from: a, to: b}\n  down: a", "down is not a list"),
        ("checks:\n- hops: {from: a, to: b}\n  derate: {a: half}", "derate is not an object"),
        ("checks:\n- hops: {from: a, to: b}\n  name: ''", "name is not text"),
        ("checks:\n- findings: {}\n- findings: {}", ":3: line 2 has the same name, 'findings'"),
        ("checks:\n" + "- findings: {}\n" * (MAX_CHECKS + 1), "not a list of 1 to 1,000 items"),
        ("checks: [{findings: {}}, {findings: {}}]", ":1: line 1 has the same name, 'findings'"),
        ('checks:\n- findings: {scope: "a\\0"}', ":2: the item has character 0"),
        ("#" * (MAX_BYTES + 1), "has more than 1 MiB"),
        ("checks: " + "[" * 200, "nested too deeply"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InvalidFileError) as refused:
        parse(text)
    assert message in "\n".join(refused.value.errors)


def test_everything_that_is_wrong_is_named_at_once() -> None:
    with pytest.raises(InvalidFileError, match="2 errors; nothing was checked") as refused:
        parse("checks:\n- bisection: {}\n- findings: {}\n- hops: {}")
    assert [line.split(":")[1] for line in refused.value.errors] == ["2", "4"]


def test_the_schema_takes_what_is_valid_and_refuses_what_is_not() -> None:
    schema = file_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(yaml.safe_load(VALID))
    for name, measure in MEASURES.items():
        for example in measure.examples:
            document = f"checks:\n  - {name}: {example}"
            assert validator.is_valid(yaml.safe_load(document)), document
            assert parse(document)
    for text in ("{findings: {}, hops: {from: a, to: b}}", "{bisection: {scope: a}}", "{findings: {at_most: x}}"):
        assert not validator.is_valid({"checks": [yaml.safe_load(text)]}), text


def test_the_reference_page_is_what_the_declarations_say() -> None:
    page = (ROOT / "docs/reference/checks.md").read_text()
    assert page == "\n".join(render_page()) + "\n", "run ./run generate"
    command = [sys.executable, "-P", "-m", "trninv.checks"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == page
