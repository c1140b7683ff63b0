"""Read report files, check the values of their parameters, and run reports.

A report is a query with a header of comments:

    -- title: Capacity
    -- answers: How much is there of what?
    -- parameter: cluster = '' of v_cluster.address — only this one
    -- chart: hbm_gib by cluster
    SELECT …

A parameter's default determines its type: 'text', 5 or 0.5. The query refers to it as :cluster. After ``of`` comes the
column of its valid values: any value but the default must be in it. A chart has a bar for each row: the first column is
its length, and the column after ``by`` its label. With ``x, y by name``, it has a point for each row instead.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from trninv.database.query_result import QueryResult
from trninv.database.snapshot import SharedSnapshot
from trninv.errors import InvalidArgumentError, UnknownReportError, UnknownValueError, suggestion
from trninv.reports.query_runner import run_query

REPORTS_DIRECTORY = Path(__file__).parent / "sql"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_HEADER = re.compile(r"--\s*(title|answers|parameter|chart):\s*(.+?)\s*$", re.MULTILINE)
_PARAMETER = re.compile(r"(\w+)\s*=\s*('[^']*'|-?\d+(?:\.\d+)?)\s*(?:of\s+(\w+\.\w+)\s*)?(?:—\s*(.*))?")
_CHART = re.compile(r"(\w+)(?:\s*,\s*(\w+))?\s+by\s+(\w+)")
Value = str | int | float


@dataclass(frozen=True, slots=True)
class ReportParameter:
    """A parameter of a report, with its default.

    Attributes
    ----------
    source_column
        TABLE.COLUMN of the valid values besides the default; None allows any value.

    """

    name: str
    default: Value
    description: str
    source_column: str | None = None

    def parse(self, text: str) -> Value:
        """Convert text to the parameter's type.

        Raises
        ------
        InvalidArgumentError
            The text is not of that type.

        """
        if isinstance(self.default, str):
            return text
        try:
            return type(self.default)(text)
        except ValueError:
            kind = "a whole number" if isinstance(self.default, int) else "a number"
            raise InvalidArgumentError(f"{self.name}={text[:40]!r} is not {kind}") from None


@dataclass(frozen=True, slots=True)
class ReportChart:
    """A chart of a report's rows, as names of columns: a bar or a point for each row.

    Attributes
    ----------
    x
        The length of a bar, or the horizontal position of a point.
    y
        The vertical position of a point; None for bars.
    by
        The label.

    """

    x: str
    y: str | None
    by: str


@dataclass(frozen=True, slots=True)
class Report:
    """A report: its file's name without suffix, its header (``summary`` is its answers lines), and the whole text."""

    name: str
    title: str
    summary: str
    parameters: tuple[ReportParameter, ...]
    text: str
    chart: ReportChart | None = None

    def sql(self, dialect: str, texts: Mapping[str, str]) -> str:
        """Compile the query with its parameters filled in.

        Raises
        ------
        InvalidArgumentError
            There is no such parameter, or a value has the wrong type.
        SqlError
            The query is not allowed.

        """
        by_name = {parameter.name: parameter for parameter in self.parameters}
        if unknown := next((name for name in texts if name not in by_name), None):
            raise InvalidArgumentError(f"{self.name} has no parameter {unknown!r}: {suggestion(unknown, by_name)}")
        values = {
            name: declared.parse(texts[name]) if name in texts else declared.default
            for name, declared in by_name.items()
        }
        return _compile_query(self.text, dialect, values)

    @classmethod
    def from_file(cls, file: Path) -> "Report":
        """Parse the report in a file.

        Raises
        ------
        InvalidArgumentError
            A parameter or chart in the header is malformed.

        """
        text = file.read_text(encoding="utf-8")
        lines: dict[str, list[str]] = {"title": [], "answers": [], "parameter": [], "chart": []}
        for name, value in _HEADER.findall(text):
            lines[name].append(value)
        parameters = [_parse_parameter(file, line) for line in lines["parameter"]]
        title = next(iter(lines["title"]), file.stem)
        return cls(
            file.stem, title, " ".join(lines["answers"]), tuple(parameters), text, _parse_chart(file, lines["chart"])
        )


def _parse_parameter(file: Path, line: str) -> ReportParameter:
    match = _PARAMETER.fullmatch(line)
    if match is None:
        form = "NAME = 'default' — what it is, or NAME = 'default' of TABLE.COLUMN — what it is"
        raise InvalidArgumentError(f"{file.name}: write a parameter as {form}, not {line[:60]!r}")
    name, default, source_column, description = match.groups()
    value = default[1:-1] if default.startswith("'") else float(default) if "." in default else int(default)
    return ReportParameter(name, value, description or "", source_column)


def _parse_chart(file: Path, lines: Sequence[str]) -> ReportChart | None:
    if len(lines) > 1:
        raise InvalidArgumentError(f"{file.name}: a report has one chart, not {len(lines)}; remove the others")
    matches = [_CHART.fullmatch(line) for line in lines]
    if None in matches:
        form = "COLUMN by NAMES for bars, or COLUMN, COLUMN by NAMES for points"
        raise InvalidArgumentError(f"{file.name}: write a chart as {form}, not {lines[0][:60]!r}")
    return next((ReportChart(*match.groups()) for match in matches if match), None)


def read_reports(directory: Path | None = None) -> dict[str, Report]:
    """Return all reports by name; a user's report replaces a built-in one of the same name.

    Files whose names are not valid names of reports are skipped.
    """
    built_in = _built_in_reports()
    user_reports = {file.stem: Report.from_file(file) for file in sorted(directory.glob("*.sql"))} if directory else {}
    return {name: report for name, report in {**built_in, **user_reports}.items() if _NAME.fullmatch(name)}


@lru_cache(maxsize=1)
def _built_in_reports() -> dict[str, Report]:
    return {file.stem: Report.from_file(file) for file in sorted(REPORTS_DIRECTORY.glob("*.sql"))}


def find_report(name: str, directory: Path | None = None) -> Report:
    """Return the report of this name.

    Raises
    ------
    UnknownReportError
        No report has this name.

    """
    all_reports = read_reports(directory)
    if name not in all_reports:
        raise UnknownReportError(f"no report {name[:60]!r}: {suggestion(name, all_reports)}")
    return all_reports[name]


def run_report(snapshot: SharedSnapshot, report: Report, values: Mapping[str, str], **limits: Any) -> QueryResult:
    """Run a report and return its rows; ``limits`` are those of `run_query`.

    Raises
    ------
    InvalidArgumentError
        There is no such parameter, or a value has the wrong type.
    UnknownValueError
        A value is not in the column that its parameter refers to.
    SqlError
        The report's query is not allowed, or the database refuses it.

    """

    def run(sql: str) -> QueryResult:
        return run_query(snapshot, sql, **limits)

    dialect = snapshot.engine.dialect.name
    sql = report.sql(dialect, values)
    for parameter in report.parameters:
        value = values.get(parameter.name, parameter.default)
        if parameter.source_column and value != parameter.default:
            _check_value(parameter, parameter.source_column, str(value), dialect, run)
    return run(sql)


def _compile_query(text: str, dialect: str, values: Mapping[str, Value]) -> str:
    from trninv.reports.query_compiler import compile_query  # noqa: PLC0415 # a service without reports needs no SQL parser

    return compile_query(text, dialect, values)


def _check_value(
    parameter: ReportParameter, source_column: str, text: str, dialect: str, run: Callable[[str], QueryResult]
) -> None:
    """Refuse a value that is not in its parameter's column of valid values."""
    table, _, column = source_column.partition(".")
    query = f"SELECT DISTINCT {column} FROM {table}"  # noqa: S608 # names in a report file, and a value filled in
    if run(_compile_query(f"{query} WHERE {column} = :value", dialect, {"value": text})).rows:
        return
    rows = run(_compile_query(query, dialect, {})).rows
    hint = suggestion(text.lower(), (str(value) for (value,) in rows))
    raise UnknownValueError(f"there is no {parameter.name} {text[:60]!r}: {hint}")
