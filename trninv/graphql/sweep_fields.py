"""Define the GraphQL type of a sweep job, with its progress and its answer.

The module `sweep_runner` explains and runs sweeps.
"""

import json
from typing import Annotated, Any, Final

import strawberry
from sqlalchemy import Row

from trninv.errors import UsageError
from trninv.graphql.answer_types import answer_type
from trninv.graphql.enums import stored_enum
from trninv.graphql.request_context import AppInfo
from trninv.graphql.sweep_runner import SweepRunner
from trninv.inventory.schema.enumerations import SWEEP_STATE
from trninv.routing.answer import CitedFact
from trninv.routing.link_selection import LinkSelection
from trninv.routing.questions.sweep import FailureClass, SweepAnswer
from trninv.solvers.graph_measures import SweepMeasure

SweepIdArgument = Annotated[strawberry.ID, strawberry.argument(description="The sweep's id.")]
_SweepState: Final = stored_enum(SWEEP_STATE)


@strawberry.type(name="SweepJob", description="A sweep that the service runs or has run.")
class SweepJobType:
    id: strawberry.ID = strawberry.field(description="Id to query it by.")
    state: Any = strawberry.field(description="State of the sweep.", graphql_type=_SweepState)
    done: int = strawberry.field(description="Number of failure classes that are solved, as last reported.")
    total: int | None = strawberry.field(description="Number of failure classes; null until the first report.")
    error: str | None = strawberry.field(description="Why it failed.")
    result: Any = strawberry.field(
        description="Its answer, as of its start; null until it is done.",
        graphql_type=answer_type(SweepAnswer) | None,
    )

    @classmethod
    def from_row(cls, row: Row[Any]) -> "SweepJobType":
        """Convert a row of ``sweep``."""
        return cls(
            id=strawberry.ID(str(row.id)),
            state=_SweepState(row.state),
            done=row.done,
            total=row.total,
            error=row.error,
            result=row.answer and parse_answer(json.loads(row.answer)),
        )


def parse_answer(answer_json: dict[str, Any]) -> SweepAnswer:
    """Return a stored answer."""
    classes = tuple(FailureClass(**item | {"failure": tuple(item["failure"])}) for item in answer_json["classes"])
    facts = tuple(CitedFact(**item) for item in answer_json["facts"])
    enum_members = {"measure": SweepMeasure[answer_json["measure"]], "via": LinkSelection[answer_json["via"]]}
    return SweepAnswer(**answer_json | enum_members | {"classes": classes, "facts": facts})


def sweep_runner(info: AppInfo) -> SweepRunner:
    """Return the runner of the service's sweeps.

    Raises
    ------
    UsageError
        The request does not run in a service.

    """
    if info.context.sweeps is None:
        raise UsageError("sweep jobs run in the service only; start it with trninv serve, or run trninv sweep")
    return info.context.sweeps
