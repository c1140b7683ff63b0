"""Reports: .sql files whose header says what they answer, trninv's own and those in a directory of the user's.

    -- title: Capacity by generation and cluster
    -- answers: How much is there of what?
    -- parameter: cluster = '' of v_cluster.address — only this one
    -- chart: hbm_gib by cluster
    SELECT …

The default of a parameter determines its type: 'text', 5 or 0.5. The query refers to it as :cluster. A column after
``of`` holds what the parameter may name: any value but the default must stand in it (`trninv.reports.asked`). A chart
has a bar of a column's value for each row, named ``by`` another, or with ``x, y by name`` a point.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from trninv.errors import LimitError, UnknownReportError, nearest
from trninv.reports.guard import checked

OWN = Path(__file__).parent / "sql"

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_HEADER = re.compile(r"--\s*(title|answers|parameter|chart):\s*(.+?)\s*$", re.MULTILINE)
_PARAMETER = re.compile(r"(\w+)\s*=\s*('[^']*'|-?\d+(?:\.\d+)?)\s*(?:of\s+(\w+\.\w+)\s*)?(?:—\s*(.*))?")
_CHART = re.compile(r"(\w+)(?:\s*,\s*(\w+))?\s+by\s+(\w+)")

Value = str | int | float


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a report, with its default.

    Attributes
    ----------
    names
        TABLE.COLUMN in which other values than the default must stand; None: any value will do.

    """

    name: str
    default: Value
    says: str
    names: str | None = None

    def read(self, text: str) -> Value:
        """Convert text to the parameter's type.

        Raises
        ------
        LimitError
            The text is not of that type.

        """
        if isinstance(self.default, str):
            return text
        try:
            return type(self.default)(text)
        except ValueError:
            kind = "a whole number" if isinstance(self.default, int) else "a number"
            raise LimitError(f"{self.name}={text[:40]!r} is not {kind}") from None


@dataclass(frozen=True, slots=True)
class Chart:
    """What may be drawn of a report's rows, by names of columns: a bar for each, or a point.

    Attributes
    ----------
    x
        How long a bar is, or how far right a point.
    y
        How high a point is; None: bars.
    by
        What names them.

    """

    x: str
    y: str | None
    by: str


@dataclass(frozen=True, slots=True)
class Report:
    """A report: its file's name, its header, its query."""

    name: str
    title: str
    answers: str
    parameters: tuple[Parameter, ...]
    text: str
    chart: Chart | None = None

    def sql(self, dialect: str, given: Mapping[str, str]) -> str:
        """The query, with its parameters filled in.

        Raises
        ------
        LimitError
            There is no such parameter, or the value is of another type.
        SqlError
            It is not a query that may be run.

        """
        known = {parameter.name: parameter for parameter in self.parameters}
        if wrong := next((name for name in given if name not in known), None):
            raise LimitError(f"{self.name} has no parameter {wrong!r}: {nearest(wrong, known)}")
        values = {name: each.read(given[name]) if name in given else each.default for name, each in known.items()}
        return checked(self.text, dialect, values)

    @classmethod
    def of(cls, file: Path) -> "Report":
        """The report in a file.

        Raises
        ------
        LimitError
            A parameter or a chart is not written as one.

        """
        text = file.read_text(encoding="utf-8")
        lines: dict[str, list[str]] = {"title": [], "answers": [], "parameter": [], "chart": []}
        for name, value in _HEADER.findall(text):
            lines[name].append(value)
        parameters = [_parameter(file, line) for line in lines["parameter"]]
        title = next(iter(lines["title"]), file.stem)
        return cls(file.stem, title, " ".join(lines["answers"]), tuple(parameters), text, _chart(file, lines["chart"]))


def _parameter(file: Path, line: str) -> Parameter:
    found = _PARAMETER.fullmatch(line)
    if found is None:
        form = "NAME = 'default' — what it is, or NAME = 'default' of TABLE.COLUMN — what it is"
        raise LimitError(f"{file.name}: write a parameter as {form}, not {line[:60]!r}")
    name, default, names, says = found.groups()
    value = default[1:-1] if default.startswith("'") else float(default) if "." in default else int(default)
    return Parameter(name, value, says or "", names)


def _chart(file: Path, lines: Sequence[str]) -> Chart | None:
    if len(lines) > 1:
        raise LimitError(f"{file.name}: a report has one chart, not {len(lines)}")
    found = [_CHART.fullmatch(line) for line in lines]
    if None in found:
        form = "COLUMN by NAMES for bars, or COLUMN, COLUMN by NAMES for points"
        raise LimitError(f"{file.name}: write a chart as {form}, not {lines[0][:60]!r}")
    return next((Chart(*match.groups()) for match in found if match), None)


def reports(directory: Path | None = None) -> dict[str, Report]:
    """Every report by its name; a user's report replaces trninv's own of the same name."""
    own = _own()
    users = {file.stem: Report.of(file) for file in sorted(directory.glob("*.sql"))} if directory else {}
    return {name: report for name, report in {**own, **users}.items() if _NAME.fullmatch(name)}


@lru_cache(maxsize=1)
def _own() -> dict[str, Report]:
    return {file.stem: Report.of(file) for file in sorted(OWN.glob("*.sql"))}


def report(name: str, directory: Path | None = None) -> Report:
    """The report with that name.

    Raises
    ------
    UnknownReportError
        There is none.

    """
    known = reports(directory)
    if name not in known:
        raise UnknownReportError(f"no report {name[:60]!r}: {nearest(name, known)}")
    return known[name]
