"""Evaluate checks on a fleet, and print the results for people, CI systems and programs."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Final
from xml.etree import ElementTree as ET

from trninv.characters import escape_controls
from trninv.checks.check_file import Check
from trninv.checks.measure import AT_LEAST, AT_MOST, Reading
from trninv.deadline import Progress, silent
from trninv.enumeration import DescribedEnum
from trninv.errors import DatabaseError, TrninvError
from trninv.placement.placement_fleet import Fleet
from trninv.rendered_text import Rendered, RenderedTable
from trninv.routing.answer import ExactInt

_INVALID_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ANNOTATION_ESCAPES: Final = {"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"}


class Verdict(DescribedEnum):
    """Result of a check."""

    PASSED = "PASSED", "The value is within the bounds."
    FAILED = "FAILED", "The value is outside the bounds, or there is none."
    UNPROVEN = "UNPROVEN", "The value's proven bounds are on both sides of a bound."
    ERROR = "ERROR", "The question could not be answered."


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A check's verdict, with the value that was measured."""

    name: Annotated[str, "Name of the check."]
    line: Annotated[int, "Line of the file where it begins."]
    measure: Annotated[str, "What it measures."]
    verdict: Annotated[Verdict, "Its verdict."]
    value: Annotated[str | None, "The value, or its proven bounds; null if there is none."]
    bounds: Annotated[str, "The bounds."]
    explanation: Annotated[str, "Why the value is what it is; for an error, its message."]
    unit: Annotated[str, "Unit of the following numbers, such as bytes per second or hops."] = ""
    lower: Annotated[ExactInt | None, "Proven lower bound of the value; null if there is none."] = None
    upper: Annotated[ExactInt | None, "Proven upper bound of the value; the lower one if the value is exact."] = None
    at_least: Annotated[ExactInt | None, "The lowest value that passes."] = None
    at_most: Annotated[ExactInt | None, "The highest value that passes."] = None

    @property
    def passed(self) -> bool:
        """Whether the check passed."""
        return self.verdict is Verdict.PASSED

    def __str__(self) -> str:
        return f"{self.name}: {self.value or 'no value'}, not {self.bounds}" + (
            f" ({self.explanation})" if self.explanation else ""
        )


def evaluate(fleet: Fleet, checks: Sequence[Check], progress: Progress = silent) -> list[CheckResult]:
    """Evaluate checks one after another; an error of one does not end the others.

    Parameters
    ----------
    fleet
        A snapshot, so that all checks read the same state.
    progress
        Called with the number of finished and of all checks.

    Raises
    ------
    DatabaseError
        The database can't be read.

    """
    results = list[CheckResult]()
    for check in checks:
        progress("checks", len(results), len(checks))
        results.append(_evaluate_one(fleet, check))
    return results


def _evaluate_one(fleet: Fleet, check: Check) -> CheckResult:
    value, verdict, reading = None, Verdict.ERROR, Reading(None, None)
    try:
        scenario = fleet.what_if(check.down, check.derate) if check.down or check.derate else fleet
        reading = check.measure.function(scenario, **check.values)
    except DatabaseError:
        raise
    except TrninvError as error:
        explanation = str(error)
    else:
        verdict, explanation = _judge(check, reading), reading.explanation
        if reading.lower is not None and reading.upper is not None:
            lower, upper = map(check.measure.format, (reading.lower, reading.upper))
            value = lower if reading.lower == reading.upper else f"{lower} to {upper}"
    bounds = " and ".join(
        f"{name.replace('_', ' ')} {check.measure.format(bound)}" for name, bound in check.bounds.items()
    )
    return CheckResult(
        check.name,
        check.line,
        check.measure.name,
        verdict,
        value,
        bounds,
        explanation,
        check.measure.base_unit,
        reading.lower,
        reading.upper,
        check.bounds.get(AT_LEAST),
        check.bounds.get(AT_MOST),
    )


def _judge(check: Check, reading: Reading) -> Verdict:
    if reading.lower is None or reading.upper is None:
        return Verdict.FAILED
    minimum, maximum = check.bounds.get(AT_LEAST, reading.lower), check.bounds.get(AT_MOST, reading.upper)
    if reading.upper < minimum or reading.lower > maximum:
        return Verdict.FAILED
    return Verdict.PASSED if reading.lower >= minimum and reading.upper <= maximum else Verdict.UNPROVEN


def render_table(results: Sequence[CheckResult]) -> Rendered:
    """Yield the results as a table, and how many passed."""
    yield RenderedTable(
        ["check", "verdict", "value", "bounds", "explanation"],
        (
            [
                result.name,
                result.verdict.lower(),
                result.value or "none",
                result.bounds,
                "" if result.passed else result.explanation,
            ]
            for result in results
        ),
        ("explanation", "bounds"),
    )
    yield f"{sum(result.passed for result in results)} of {len(results)} passed"


def junit_xml(results: Sequence[CheckResult], file: str) -> str:
    """Return the results as JUnit XML, which CI systems read."""
    failures = [result for result in results if not result.passed]
    errors = sum(result.verdict is Verdict.ERROR for result in failures)
    counts = {"tests": str(len(results)), "failures": str(len(failures) - errors), "errors": str(errors)}
    suite = ET.Element("testsuite", {"name": _xml_text(f"trninv check {file}"), **counts})
    for result in results:
        case = ET.SubElement(
            suite, "testcase", {"classname": result.measure, "name": _xml_text(result.name), "file": _xml_text(file)}
        )
        case.set("line", str(result.line))
        if not result.passed:
            tag = "error" if result.verdict is Verdict.ERROR else "failure"
            ET.SubElement(case, tag, {"message": _xml_text(str(result)), "type": result.verdict.lower()})
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True)


def _xml_text(text: str) -> str:
    """Return text without control characters and others that XML can't represent."""
    return _INVALID_XML.sub("\ufffd", escape_controls(text))


def github_annotations(results: Iterable[CheckResult], file: str) -> Iterator[str]:
    """Yield a workflow command for each check that did not pass; GitHub shows it at the check's line."""
    for result in results:
        if not result.passed:
            place = f"file={_escape(file)},line={result.line},title={_escape(result.name)}"
            yield f"::error {place}::{_escape(str(result), keep=':,')}"


def _escape(text: str, keep: str = "") -> str:
    return "".join(
        character if character in keep else _ANNOTATION_ESCAPES.get(character, character) for character in text
    )
