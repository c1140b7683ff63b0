"""A report with values for its parameters: those that name something must name what is there."""

from collections.abc import Callable, Mapping

from sqlglot import exp

from trninv.errors import UnknownValueError, suggestion
from trninv.reports.guard import compile_query
from trninv.reports.library import Report, ReportParameter
from trninv.reports.reader import QueryResult

QueryRunner = Callable[[str], QueryResult]
"""Runs a checked query."""


def run_report(report: Report, values: Mapping[str, str], dialect: str, run_query: QueryRunner) -> QueryResult:
    """What a report finds.

    Raises
    ------
    LimitError
        There is no such parameter, or the value is of another type.
    UnknownValueError
        A value names nothing that there is.
    SqlError
        It is not a query that may be run.

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
