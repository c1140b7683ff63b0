"""Resolve the reports and report fields: named SQL queries, and the rows that they return."""

from typing import Annotated, Any

import strawberry
from strawberry.scalars import JSON

from trninv.errors import InvalidArgumentError
from trninv.graphql.request_context import RequestContext
from trninv.reports import report_library
from trninv.reports.report_library import run_report


@strawberry.type(name="ReportParameter", description="A parameter of a report.")
class ReportParameterType:
    name: str = strawberry.field(description="Its name.")
    default: str = strawberry.field(description="Its default value.")
    description: str = strawberry.field(description="Its description.")


@strawberry.type(name="ReportChart", description="A chart of a report's rows, by column names.")
class ReportChartType:
    x: str = strawberry.field(
        description="Column with the length of a row's bar, or the horizontal position of its point."
    )
    y: str | None = strawberry.field(description="Column with the vertical position of a row's point; null for bars.")
    by: str = strawberry.field(description="Column with the label of a row's bar or point.")


@strawberry.type(name="Report", description="A report: a named SQL query.")
class ReportType:
    name: str = strawberry.field(description="Name to run it by.")
    title: str = strawberry.field(description="Its title.")
    summary: str = strawberry.field(description="The question that it answers.")
    parameters: list[ReportParameterType] = strawberry.field(description="Its parameters.")
    chart: ReportChartType | None = strawberry.field(description="Chart of its rows, if it has one.")


@strawberry.input(description="A value of a report's parameter.")
class ReportValue:
    name: str = strawberry.field(description="The parameter's name.")
    value: str = strawberry.field(description="Its value, a number in digits.")


@strawberry.type(name="ReportRows", description="Rows of a report.")
class ReportRowsType:
    columns: list[str] = strawberry.field(description="Names of the columns, with their units.")
    rows: list[JSON] = strawberry.field(description="Rows of texts, numbers and nulls, in the order of the columns.")
    truncated: bool = strawberry.field(description="Whether rows were omitted.")

    @classmethod
    def run_report(
        cls, context: RequestContext, report: report_library.Report, values: dict[str, str]
    ) -> "ReportRowsType":
        """Run a report on the request's snapshot."""
        limits = {"seconds": context.settings.request_seconds, "max_bytes": context.settings.answer_bytes}
        result = run_report(context.fleet.shared_snapshot(), report, values, login=context.login, **limits)
        rows: Any = [list(row) for row in result.rows]
        return cls(columns=list(result.columns), rows=rows, truncated=result.truncated)


ReportNameArgument = Annotated[str, strawberry.argument(description="Name of a report.")]
ValuesArgument = Annotated[
    list[ReportValue] | None,
    strawberry.argument(description="Values of its parameters; the others use their defaults."),
]


def parse_values(values: ValuesArgument) -> dict[str, str]:
    """Return values by name.

    Raises
    ------
    InvalidArgumentError
        A name appears twice.

    """
    values_by_name = {item.name: item.value for item in values or ()}
    if len(values_by_name) < len(values or ()):
        raise InvalidArgumentError("a parameter is set twice; pass each name once")
    return values_by_name
