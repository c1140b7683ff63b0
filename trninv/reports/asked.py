"""Run a report, checking that parameter values which name something name something that exists."""

from collections.abc import Callable, Mapping

from sqlglot import exp

from trninv.errors import UnknownValueError, suggestion
from trninv.reports.guard import compile_query
from trninv.reports.library import Report, ReportParameter
from trninv.reports.reader import QueryResult

QueryRunner = Callable[[str], QueryResult]
"""A function that runs a compiled query."""


def run_report(report: Report, values: Mapping[str, str], dialect: str, run_query: QueryRunner) -> QueryResult:
    """Run a report and return its rows.

    Raises
    ------
    InvalidArgumentError
        There is no such parameter, or a value has the wrong type.
    UnknownValueError
        A value is not in the column that its parameter refers to.
    SqlError
        The report's query is not allowed, or the database refuses it.

    """
    sql = report.sql(dialect, values)
    for parameter in report.parameters:
        value = values.get(parameter.name, parameter.default)
        if parameter.source_column and value != parameter.default:
            _check_value(parameter, parameter.source_column, str(value), dialect, run_query)
    return run_query(sql)


def _check_value(
    parameter: ReportParameter, source_column: str, text: str, dialect: str, run_query: QueryRunner
) -> None:
    table, _, column = source_column.partition(".")
    values = exp.select(column).from_(table).distinct()
    lookup = values.where(exp.column(column).eq(text))
    if run_query(compile_query(lookup.sql("postgres"), dialect)).rows:
        return
    rows = run_query(compile_query(values.sql("postgres"), dialect)).rows
    hint = suggestion(text.lower(), (str(value) for (value,) in rows))
    raise UnknownValueError(f"there is no {parameter.name} {text[:60]!r}: {hint}")
