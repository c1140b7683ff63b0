"""Show a sweep, its progress and its answer in GraphQL."""

from typing import Annotated, Any

import strawberry

from trninv.errors import UsageError
from trninv.graphql.answer_types import answer_type, enum_type
from trninv.graphql.request_context import AppInfo
from trninv.graphql.sweep_store import SweepRecord, SweepState, SweepStore
from trninv.routing.questions.sweep import SweepAnswer

SweepIdArgument = Annotated[strawberry.ID, strawberry.argument(description="The sweep's id.")]


@strawberry.type(name="SweepJob", description="A sweep that the service runs or has run.")
class SweepJobType:
    id: strawberry.ID = strawberry.field(description="Id to query it by; anyone who knows it can.")
    state: Any = strawberry.field(description="State of the sweep.", graphql_type=enum_type(SweepState))
    done: int = strawberry.field(description="Number of failure classes that are solved.")
    total: int | None = strawberry.field(description="Number of failure classes; null until the first is solved.")
    error: str | None = strawberry.field(description="Why it failed.")
    result: Any = strawberry.field(
        description="Its answer, as of its start; null until it is done.",
        graphql_type=answer_type(SweepAnswer) | None,
    )

    @classmethod
    def from_record(cls, record: SweepRecord) -> "SweepJobType":
        """Convert a sweep's record."""
        return cls(
            id=strawberry.ID(record.id),
            state=record.state,
            done=record.done,
            total=record.total,
            error=record.error,
            result=record.answer,
        )


def sweep_store(info: AppInfo) -> SweepStore:
    """Return the service's sweeps.

    Raises
    ------
    UsageError
        The request does not run in a service.

    """
    if info.context.sweeps is None:
        raise UsageError("sweep jobs run in the service only; start it with trninv serve, or run trninv sweep")
    return info.context.sweeps
