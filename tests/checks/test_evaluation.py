"""`trninv check`: verdicts at and beside the bounds, on both databases, and the formats of other programs."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

import pytest
from populating import populate

import trninv
from conftest import BACKENDS, Databases, Run
from trninv.checks.check_file import Check, parse_checks
from trninv.checks.evaluation import CheckResult, Verdict, evaluate, github_annotations, junit_xml
from trninv.checks.measure import Reading
from trninv.checks.measures import MEASURES
from trninv.placement import questions as placement_questions
from trninv.placement.placement_fleet import Fleet
from trninv.routing import questions
from trninv.units import pluralize

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

U = "u-trn2x64/d0"


@pytest.fixture(scope="module", params=BACKENDS)
def populated(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Fleet]:
    with trninv.open(databases.copied(request.param, populate)) as fleet:
        yield fleet


def results(fleet: Fleet, *checks: str) -> list[CheckResult]:
    """The results of checks, each written as an object of YAML."""
    text = "".join(f"- {check}\n" for check in checks)
    return evaluate(fleet, parse_checks(f"checks:\n{text}".encode(), "checks.yaml"))


def verdicts(fleet: Fleet, *checks: str) -> list[str]:
    return [each.verdict for each in results(fleet, *checks)]


def test_a_bound_that_is_met_exactly_passes(populated: Fleet) -> None:
    value = populated.ask(questions.find("bisection"), U).lower
    pool = populated.ask(questions.find("memory_pool"), f"{U}/s0/c0").memory
    hops = populated.ask(questions.find("path"), f"{U}/s0/c0", f"{U}/s1/c10").paths[0].hops
    ends = f"from: {U}/s0/c0, to: {U}/s1/c10"
    assert verdicts(
        populated,
        f"{{name: a, bisection: {{scope: {U}, at_least: {value:d} B/s, at_most: {value:d} B/s}}}}",
        f"{{name: b, bisection: {{scope: {U}, at_least: {value + 1} B/s}}}}",
        f"{{name: c, bisection: {{scope: {U}, at_most: {value - 1} B/s}}}}",
        f"{{name: d, pool: {{scope: {U}/s0/c0, at_least: {pool:d} B}}}}",
        f"{{name: e, pool: {{scope: {U}/s0/c0, at_least: {pool + 1} B}}}}",
        f"{{name: f, hops: {{{ends}, at_most: {hops}}}}}",
        f"{{name: g, hops: {{{ends}, at_most: {hops - 1}}}}}",
    ) == ["PASSED", "FAILED", "FAILED", "PASSED", "FAILED", "PASSED", "FAILED"]


def test_counts_are_those_of_the_lists(populated: Fleet) -> None:
    free = populated.ask(placement_questions.find("free"), "u-trn2x64")
    jobs = next(entry.jobs for entry in free.concurrent_jobs if entry.chips == 4)
    everything = results(
        populated,
        f"{{free_chips: {{scope: u-trn2x64, at_least: {free.free}}}}}",
        f"{{free_jobs: {{scope: u-trn2x64, chips: 4, at_least: {jobs}}}}}",
        "{free_jobs: {scope: u-trn2x64, chips: 7, at_least: 0}}",
        "{name: some, findings: {severity: medium, at_most: 3}}",
        "{name: few, findings: {severity: medium, at_most: 2}}",
        "{name: none there, findings: {scope: trn1.32xlarge}}",
        "{name: high, incidents: {severity: medium}}",
    )
    assert [each.verdict for each in everything] == [
        "PASSED", "PASSED", "FAILED", "PASSED", "FAILED", "PASSED", "FAILED",
    ]  # fmt: skip
    assert everything[2].explanation.startswith("no scheduler grants 7 chips; sizes are 1, ")
    assert (
        everything[4].explanation
        == "chip-missing u-trn2x64/d0/s1/c3, server-unbound u-trn2x64/d0/s2, instance-unplaced i-0d"
    )


@pytest.mark.parametrize("microseconds", [0, 1])
def test_incidents_count_once_they_are_older(
    populated: Fleet, monkeypatch: pytest.MonkeyPatch, microseconds: int
) -> None:
    starts = [datetime.fromisoformat(str(each.started_at)) for each in populated.incidents()]
    now = max(starts) + timedelta(hours=2, microseconds=microseconds)
    monkeypatch.setattr("trninv.checks.measures.current_time", lambda _: now)
    (result,) = results(populated, "{incidents: {older_than: 2h}}")
    count = len(starts) if microseconds else sum(start < max(starts) for start in starts)
    assert result.value == pluralize(count, "incident")


def test_a_scenario_is_of_its_check_alone(populated: Fleet) -> None:
    reach = f"hops: {{from: {U}/s0/c1, to: {U}/s1/c1}}"
    cut, same, nowhere = results(
        populated,
        f"{{name: cut, {reach}, down: [{U}/s1]}}",
        f"{{{reach}}}",
        "{name: nowhere, hops: {from: nowhere/d0/s0/c0, to: nowhere/d0/s0/c1}}",
    )
    assert (cut.verdict, cut.value) == (Verdict.FAILED, None)
    assert cut.explanation.startswith("no path: ")
    assert same.passed
    assert (nowhere.verdict, nowhere.value) == (Verdict.ERROR, None)
    assert "no cluster nowhere" in nowhere.explanation


def test_a_value_of_which_only_bounds_are_proven_passes_if_both_do(lite_fleet: Fleet) -> None:
    measure = replace(MEASURES["bisection"], function=lambda _: Reading(10, 20))

    def judge(bound: str, *numbers: int) -> list[str]:
        checks = [Check(str(number), 1, measure, {}, {bound: number}) for number in numbers]
        return [each.verdict for each in evaluate(lite_fleet, checks)]

    expected = ["PASSED", "UNPROVEN", "UNPROVEN", "FAILED"]
    assert judge("at_least", 10, 11, 20, 21) == judge("at_most", 20, 19, 10, 9) == expected


def _parse_xml(text: str) -> Element:
    return fromstring(text)  # noqa: S314 # our own


HOSTILE = 'a<b>&"\x1b[31m\x9b\ufffe%0A::error::,x'


def test_formats_for_other_programs_escape_names() -> None:
    failed = CheckResult(HOSTILE, 3, "hops", Verdict.FAILED, None, "at most 1 hop", "why\nnot")
    passed = CheckResult("good", 4, "hops", Verdict.PASSED, "1 hop", "at most 1 hop", "")
    error = CheckResult("wrong", 5, "hops", Verdict.ERROR, None, "at most 1 hop", "no x")
    suite = _parse_xml(junit_xml([failed, passed, error], "a&b.yaml"))
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    assert [case.get("line") for case in suite] == ["3", "4", "5"]
    assert suite[0].get("name") == HOSTILE.replace("\x1b", "\\u001b").replace("\x9b", "\\u009b").replace(
        "\ufffe", "\ufffd"
    )
    assert [[child.tag for child in case] for case in suite] == [["failure"], [], ["error"]]
    first, second = github_annotations([failed, passed, error], "a,b.yaml")
    assert first.startswith("::error file=a%2Cb.yaml,line=3,title=a<b>&")
    assert "\n" not in first
    assert first.split("::")[1].count(",") == 2
    assert second.endswith("::wrong: no value, not at most 1 hop (no x)")


def test_the_command_prints_each_format_and_its_status_is_that_of_the_checks(run: Run, tmp_path: Path) -> None:
    good, bad, wrong = (tmp_path / f"{name}.yaml" for name in ("good", "bad", "wrong"))
    good.write_text(f"checks:\n- hops: {{from: {U}/s0/c0, to: {U}/s0/c1, at_most: 1}}\n")
    bad.write_text(f"checks:\n- hops: {{from: {U}/s0/c0, to: {U}/s2/c10, at_most: 1}}\n")
    wrong.write_text("checks:\n- hops: {}\n")
    assert run("check", str(good))[0] == 0
    status, table, _ = run("check", str(bad))
    assert (status, "failed" in table, "0 of 1 passed" in table) == (1, True, True)
    status, out, _ = run("check", str(bad), "--format", "json")
    (result,) = json.loads(out)
    assert (status, result["verdict"], result["value"], result["passed"]) == (1, "FAILED", "6 hops", False)
    status, out, _ = run("check", str(bad), "--format", "junit")
    assert (status, _parse_xml(out).get("failures")) == (1, "1")
    status, out, _ = run("check", str(bad), "--format", "github")
    assert status == 1
    assert out.startswith(f"::error file={bad},line=2,title=hops")
    status, out, err = run("check", str(wrong))
    assert (out, ":2: hops needs from" in " ".join(err.split())) == ("", True)
    assert status == 2
    assert run("check")[0] == 2
    status, _, err = run("check", str(tmp_path / "none.yaml"))
    assert (status, "No such file" in " ".join(err.split())) == (2, True)
    assert json.loads(run("check", "--schema")[1])["required"] == ["checks"]


def test_an_earlier_time_is_checked(run: Run, databases: Databases) -> None:
    url = databases.copied("sqlite", populate)
    file = Path(url.removeprefix("sqlite:///")).with_suffix(".yaml")
    file.write_text("checks:\n- incidents: {}\n")
    assert run("check", str(file), database=url)[0] == 1
    with trninv.open(url) as fleet:
        first = min(int(each.id) for each in fleet.incidents() if each.id.isdecimal())
    assert run("check", str(file), "--at", str(first - 1), database=url)[0] == 0
