"""A report with values for its parameters: those that name something must name what is there."""

from collections.abc import Callable, Mapping

from sqlglot import exp

from trninv.errors import UnknownValueError, nearest
from trninv.reports.guard import checked
from trninv.reports.library import Parameter, Report
from trninv.reports.reader import Found

Find = Callable[[str], Found]
"""Runs a checked query."""


def asked(report: Report, given: Mapping[str, str], dialect: str, find: Find) -> Found:
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
    sql = report.sql(dialect, given)
    for parameter in report.parameters:
        word = given.get(parameter.name, parameter.default)
        if parameter.names and word != parameter.default:
            _check(parameter, parameter.names, str(word), dialect, find)
    return find(sql)


def _check(parameter: Parameter, names: str, word: str, dialect: str, find: Find) -> None:
    table, _, column = names.partition(".")
    values = exp.select(column).from_(table).distinct()
    one = values.where(exp.column(column).eq(word))
    if find(checked(one.sql("postgres"), dialect)).rows:
        return
    known = find(checked(values.sql("postgres"), dialect)).rows
    offer = nearest(word.lower(), (str(value) for (value,) in known))
    raise UnknownValueError(f"there is no {parameter.name} {word[:60]!r}: {offer}")
